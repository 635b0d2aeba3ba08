// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Finds secrets in events, which are hidden from all listeners.
namespace rest_fcgi::master {

/// Replaces a secret in an event.
inline constexpr std::string_view kHidden = "[hidden]";

/// Whether the value under a name is a secret.
enum class Secrecy : std::uint8_t {
  shown,
  hidden_but_count,  ///< the name is a plural, such as `tokens`: a number is a count, and is shown
  hidden,
};

/// Classifies a name by its last word, such as `password`, `token` or `api_key`. Words are separated by
/// characters other than letters, and by a capital after a small letter. Hidden are `db_password`,
/// `X-Auth-Token`, `apiKey`, `password1`, `password_confirmation`; shown are `bypass`, `secretary`,
/// `password_file`, `key`.
[[nodiscard]] Secrecy secrecy_of(std::string_view name);

/// Returns whether the name is that of a secret, or of several.
[[nodiscard]] inline bool names_a_secret(std::string_view name) {
  return secrecy_of(name) != Secrecy::shown;
}

/// Returns whether the text is a count: at most nine digits.
[[nodiscard]] bool is_count(std::string_view text);

/// The format of a text that may contain secrets. It determines where the value of a secret ends.
enum class TextKind : std::uint8_t {
  plain,     ///< the value in `password=x` ends at a blank, `,`, `;`, `&`, a quotation mark or the end of the
             ///< line
  form,      ///< the value ends at `&` or the end of the line
  argument,  ///< plain; but in a text that begins with `password=` the value is the whole rest, as for Salt
};

/// Returns the kind of a body with that media type.
[[nodiscard]] TextKind kind_of_body(std::string_view content_type);

/// Replaces each secret value by `kHidden`: in `password=x`, `"token": "x"`, `password: x`, `--password x`,
/// `<password>x</password>`, in a part of a multipart body, and the password of a URL. Returns absent if the
/// text has no secret. If the end of a value is uncertain, more text is hidden.
[[nodiscard]] std::optional<std::string> without_secrets(std::string_view text,
                                                         TextKind kind = TextKind::plain);

}  // namespace rest_fcgi::master
