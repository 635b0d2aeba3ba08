// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/http/application.h"

namespace rest_fcgi::http {

/// The decoded path of a request: SCRIPT_NAME and PATH_INFO of WSGI.
struct Path {
  std::string above;  ///< `above` is the path at which the application is mounted, such as `/salt`.
  std::string below;  ///< `below` is the path inside the application, such as `/minions`.
};

/// Returns the path of a request from SCRIPT_NAME and PATH_INFO, which the front end has decoded (PEP 3333).
/// If PATH_INFO is empty, decodes the path of REQUEST_URI.
[[nodiscard]] Path path_of(const Environ& environ);

/// Returns the byte of a `%XX` at the start of the text. Returns std::nullopt for any other start.
[[nodiscard]] std::optional<char> percent_byte(std::string_view text) noexcept;

/// The meaning of a plus sign. In forms and queries `+` means a space.
enum class Plus { itself, blank };

/// Replaces each `%XX` by its byte. `Plus::blank` turns `+` into a space.
[[nodiscard]] std::string percent_decoded(std::string_view text, Plus plus = Plus::itself);

}  // namespace rest_fcgi::http
