// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace rest_fcgi::store {

struct Options {
  std::string path;  ///< absolute path of the database; if empty, the database is in this process's memory
  /// Whether the database may be in memory, if the file does not exist and cannot be created. The log has a
  /// line about this.
  bool may_be_in_memory = false;
};

}  // namespace rest_fcgi::store
