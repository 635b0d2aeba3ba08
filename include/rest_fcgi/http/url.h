// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/http/application.h"

/// What stands in a request's URL.
namespace rest_fcgi::http {

/// The path of a request, decoded.
struct Path {
  std::string above;  ///< what stands above the application, as WSGI's SCRIPT_NAME: `/salt`
  std::string below;  ///< what is left for it, as PATH_INFO: `/minions`
};

/// Where a request goes: PATH_INFO, and SCRIPT_NAME above it, where PATH_INFO is sent and not empty (PEP
/// 3333; front ends have decoded both); else the path of REQUEST_URI, which is decoded here, and nothing is
/// above it; `/` where that is empty, too.
[[nodiscard]] Path path_of(const Environ& environ);

/// The byte that `%XX` stands for, with which the text begins. Absent: it begins with something else.
[[nodiscard]] std::optional<char> percent_byte(std::string_view text) noexcept;

/// `%XX` is a byte; a percent sign with anything else behind it stays. In forms and queries `+` is a blank.
enum class Plus { itself, blank };
[[nodiscard]] std::string percent_decoded(std::string_view text, Plus plus = Plus::itself);

}  // namespace rest_fcgi::http
