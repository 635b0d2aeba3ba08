// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "config/reader.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::config {

/// Salt's master file with all that it includes, as one map.
struct MasterFile {
  Node root;                          ///< a map
  std::vector<std::string> warnings;  ///< one line each
};

/// Reads `path`, then what its `default_include` and its `include` name, merged as Salt merges them.
/// Errors: configuration, for a file that cannot be read, that others may write to, or that is no map in
/// YAML.
[[nodiscard]] Result<MasterFile> read_master_file(const std::string& path);

}  // namespace rest_fcgi::config
