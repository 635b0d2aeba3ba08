// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Finds the secrets that listeners of events must not see.
namespace rest_fcgi::master {

inline constexpr std::string_view kHidden = "[hidden]";

enum class Secrecy : std::uint8_t {
  shown,
  hidden_but_count,  ///< The value of a plural name such as `tokens` is hidden, unless the value is a number.
  hidden,
};

/// Returns whether a name is the name of a secret. The last word of the name decides, such as `password` or
/// `token`. For `api_key`, the last two words decide. A last word such as `confirmation` is skipped, so
/// `password_confirmation` names a secret. `bypass` and `password_file` do not name secrets. Words are
/// separated by capitals, as in `apiKey`, and by characters other than letters.
[[nodiscard]] Secrecy secrecy_of(std::string_view name);

/// Returns whether the name belongs to a secret or to a list of secrets.
[[nodiscard]] inline bool names_a_secret(std::string_view name) {
  return secrecy_of(name) != Secrecy::shown;
}

/// Returns whether the text is a count: a number of one to nine digits.
[[nodiscard]] bool is_count(std::string_view text);

/// The format of a text, which determines where the value of a secret ends.
enum class TextKind : std::uint8_t {
  /// In a plain text, a value in `password=x` ends at a blank, `,`, `;`, `&`, a quotation mark or a line end.
  plain,
  form,  ///< In the body of an HTML form, a value ends at `&` or a line end.
  /// In an argument of a Salt function, a value ends as in a plain text. But if the argument begins with a
  /// secret's name and `=`, the value is the whole rest of the argument.
  argument,
};

[[nodiscard]] TextKind kind_of_body(std::string_view content_type);

/// Returns the text with `kHidden` in place of each secret value. Returns std::nullopt if the text has no
/// secrets. Recognizes `password=x`, `"token": "x"`, `password: x`, `--password x`, `<password>x</password>`,
/// multipart bodies and passwords in URLs. If a value may end at several places, hides the text up to the
/// last of them.
[[nodiscard]] std::optional<std::string> without_secrets(std::string_view text,
                                                         TextKind kind = TextKind::plain);

}  // namespace rest_fcgi::master
