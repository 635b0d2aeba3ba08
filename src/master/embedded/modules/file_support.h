// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "master/embedded/modules/module.h"

/// What the functions of `file` have in common.
namespace rest_fcgi::embedded {

/// Permissions as Salt writes them: four digits. Quotes and zeroes in front do not count.
[[nodiscard]] std::string normalized_mode(std::string mode);

/// A path, with `~` and `~user` in front replaced by a home folder as Python's `os.path.expanduser` does, or
/// what Python raises where it is no text.
[[nodiscard]] std::variant<std::string, Raised> path_of(const JsonValue& value);

/// Python's os.path.normpath, dirname and basename: of texts, no file is looked at.
[[nodiscard]] std::string normalized_path(std::string_view path);
[[nodiscard]] std::string folder_of(std::string_view path);
[[nodiscard]] std::string_view name_in_folder(std::string_view path);

}  // namespace rest_fcgi::embedded
