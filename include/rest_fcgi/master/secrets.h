// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Finds secrets in events, so that they can be hidden from all listeners.
namespace rest_fcgi::master {

/// The text that replaces a secret in an event.
inline constexpr std::string_view kHidden = "[hidden]";

/// Says whether the value with a certain name is a secret.
enum class Secrecy : std::uint8_t {
  shown,
  hidden_but_count,  ///< hidden, unless the value is a number: the name is a plural such as `tokens`, so a
                     ///< number is a count
  hidden,
};

/// Classifies a name by its last word, such as `password`, `token` or `api_key`. A word ends before a
/// character that is not a letter, and before a capital after a small letter. Examples of hidden names are
/// `db_password`, `X-Auth-Token`, `apiKey`, `password1` and `password_confirmation`. Examples of shown names
/// are `bypass`, `secretary`, `password_file` and `key`.
[[nodiscard]] Secrecy secrecy_of(std::string_view name);

/// Returns whether values with this name are secrets, or a list of secrets.
[[nodiscard]] inline bool names_a_secret(std::string_view name) {
  return secrecy_of(name) != Secrecy::shown;
}

/// Returns whether the text is a count. A count has one to nine digits and no other characters.
[[nodiscard]] bool is_count(std::string_view text);

/// The format of a text that may contain secrets. The format determines where the value of a secret ends.
enum class TextKind : std::uint8_t {
  plain,     ///< the value in `password=x` ends at a blank, `,`, `;`, `&`, a quotation mark or the end of the
             ///< line
  form,      ///< the value ends at `&` or the end of the line
  argument,  ///< like plain, but in a text that begins with `password=` the value is the whole rest, as Salt
             ///< reads arguments
};

/// Returns the format of a body with this media type.
[[nodiscard]] TextKind kind_of_body(std::string_view content_type);

/// Returns the text with `kHidden` in place of each secret value; absent if the text has no secret.
/// Recognizes `password=x`, `"token": "x"`, `password: x`, `--password x`, `<password>x</password>`, parts of
/// a multipart body, and passwords in URLs. If the end of a value is uncertain, hides the longer text.
[[nodiscard]] std::optional<std::string> without_secrets(std::string_view text,
                                                         TextKind kind = TextKind::plain);

}  // namespace rest_fcgi::master
