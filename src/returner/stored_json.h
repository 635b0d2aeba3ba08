// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/returner/returner.h"

/// The JSON that columns of the store's tables hold.
namespace rest_fcgi::returner {

[[nodiscard]] std::string strings_json(const std::vector<std::string>& strings);
[[nodiscard]] std::vector<std::string> strings_in(std::string_view json);

/// Writes a list of returns. What is usual of a return is left out.
[[nodiscard]] std::string returns_json(std::span<const ReturnView> returns);
[[nodiscard]] std::vector<JobReturn> returns_in(std::string_view json);

}  // namespace rest_fcgi::returner
