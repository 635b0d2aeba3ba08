// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/http/application.h"

/// Parts of a request's URL.
namespace rest_fcgi::http {

/// The decoded path of a request in two parts, as in WSGI: SCRIPT_NAME and PATH_INFO.
struct Path {
  std::string above;  ///< path at which the application is mounted, such as `/salt`
  std::string below;  ///< path inside the application, such as `/minions`
};

/// Returns the path of a request. If PATH_INFO is not empty, this is SCRIPT_NAME and PATH_INFO, which the
/// front end has decoded (PEP 3333). Otherwise this is the decoded path of REQUEST_URI, or `/` if that path
/// is empty.
[[nodiscard]] Path path_of(const Environ& environ);

/// Returns the byte that a `%XX` at the start of the text stands for; absent if the text does not begin with
/// `%XX`.
[[nodiscard]] std::optional<char> percent_byte(std::string_view text) noexcept;

/// How `percent_decoded` treats a plus sign. In forms and queries `+` means a space.
enum class Plus { itself, blank };

/// Replaces each `%XX` by its byte, and keeps other percent signs. With `Plus::blank`, also replaces `+` by a
/// space.
[[nodiscard]] std::string percent_decoded(std::string_view text, Plus plus = Plus::itself);

}  // namespace rest_fcgi::http
