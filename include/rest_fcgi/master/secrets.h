// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Which parts of an event no listener gets to see, whatever the engine.
namespace rest_fcgi::master {

/// What stands in an event in place of a secret.
inline constexpr std::string_view kHidden = "[hidden]";

/// Whether the value that a name stands for is a secret.
enum class Secrecy : std::uint8_t {
  shown,
  hidden_but_count,  ///< the name is a plural, such as `tokens`: a number there says how many there are
  hidden,
};

/// Judges a name by its last word, such as `password`, `token` or `api_key`. Words are separated by all that
/// is no letter and by a capital behind a small letter. Hidden are `db_password`, `X-Auth-Token`, `apiKey`,
/// `password1`, `password_confirmation`; shown are `bypass`, `secretary`, `password_file`, `key`.
[[nodiscard]] Secrecy secrecy_of(std::string_view name);

/// Returns whether the name is that of a secret, or of several.
[[nodiscard]] inline bool names_a_secret(std::string_view name) {
  return secrecy_of(name) != Secrecy::shown;
}

/// Returns whether the text is a number of things: a few digits.
[[nodiscard]] bool is_count(std::string_view text);

/// What a text is, which says where a value in it ends.
enum class TextKind : std::uint8_t {
  plain,     ///< `password=x` ends at a blank, `,`, `;`, `&`, a quotation mark or the end of the line
  form,      ///< the same ends at `&` or the end of the line: a value may hold the others
  argument,  ///< plain, but a text that begins with `password=` is the value up to its end, as Salt takes it
};

/// Returns what a body of that media type is.
[[nodiscard]] TextKind kind_of_body(std::string_view content_type);

/// Returns the text with `kHidden` in place of each value that follows a name for a secret, as in
/// `password=x`, `"token": "x"`, `password: x`, `--password x`, `<password>x</password>` or a part of a
/// multipart body, and in place of the password of a URL; absent where there is none. Where a value ends is
/// not always certain: then more is hidden, at most to the end of the text.
[[nodiscard]] std::optional<std::string> without_secrets(std::string_view text,
                                                         TextKind kind = TextKind::plain);

}  // namespace rest_fcgi::master
