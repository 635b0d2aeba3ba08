// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/http/application.h"

/// Parts of a request's URL.
namespace rest_fcgi::http {

/// The path of a request, decoded, in WSGI's two parts.
struct Path {
  std::string above;  ///< path at which the application is mounted, such as `/salt`
  std::string below;  ///< path inside the application, such as `/minions`
};

/// Returns PATH_INFO and SCRIPT_NAME, which front ends have decoded, if PATH_INFO is not empty (PEP 3333).
/// Otherwise returns the decoded path of REQUEST_URI, or `/` if that is empty.
[[nodiscard]] Path path_of(const Environ& environ);

/// Returns the byte of a `%XX` at the start of the text; absent if there is none.
[[nodiscard]] std::optional<char> percent_byte(std::string_view text) noexcept;

/// Replaces each `%XX` by its byte, and keeps other percent signs. `Plus::blank`, for forms and queries, also
/// replaces `+` by a space.
enum class Plus { itself, blank };
[[nodiscard]] std::string percent_decoded(std::string_view text, Plus plus = Plus::itself);

}  // namespace rest_fcgi::http
