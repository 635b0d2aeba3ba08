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

/// Returns whether the text is a count: a number of one to nine digits.
[[nodiscard]] bool is_count(std::string_view text);

enum class TextKind : std::uint8_t {
  plain,
  argument,  ///< An argument of a Salt function. In `NAME=VALUE`, VALUE is the whole rest of the argument.
};

/// Returns the text with `kHidden` in place of each secret. Returns std::nullopt if the text has no secrets.
/// Takes linear time. NAME is the name of a secret. Blanks and quotation marks may surround NAME.
/// - `NAME=VALUE` and `--NAME VALUE`. VALUE ends before a blank, `,`, `;`, `&` or a quotation mark.
/// - `NAME: VALUE`. VALUE is the rest of the line up to a quotation mark, because headers may contain blanks.
/// - `scheme://user:PASSWORD@host`.
/// A VALUE in quotation marks ends at the closing quotation mark. A VALUE that begins with `[` or `{`
/// is the rest of the line. Any other VALUE ends with its line at the latest.
[[nodiscard]] std::optional<std::string> without_secrets(std::string_view text,
                                                         TextKind kind = TextKind::plain);

}  // namespace rest_fcgi::master
