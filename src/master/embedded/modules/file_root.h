// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <variant>

#include "master/embedded/modules/module.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::embedded {

/// A name in a folder below the configured root. The folder stays the same however names above it change.
struct Place {
  UniqueFd folder;
  std::string name;
  std::string path;  ///< as the caller gave it, for messages
};

/// The place that `path` means to a function that changes files. No symbolic link on the way is followed, and
/// no `..`, so that nothing outside can be meant. `make_folders`: those on the way that are missing are made.
/// Raises: command, where no root is configured or where the path is not below it; what Python raises where a
/// folder cannot be opened.
[[nodiscard]] std::variant<Place, Raised> place_below_root(const Call& call, const JsonValue& path,
                                                           bool make_folders = false);

}  // namespace rest_fcgi::embedded
