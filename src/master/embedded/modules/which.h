// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

namespace rest_fcgi::embedded {

/// Is it a file that this process may execute?
[[nodiscard]] bool is_executable(const std::string& path);

/// The path of a program: what it names itself, else where it lies in this process's PATH or in the folders
/// that systems keep programs in. Absent where there is none.
[[nodiscard]] std::optional<std::string> which(const std::string& name);

}  // namespace rest_fcgi::embedded
