// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>

namespace rest_fcgi::embedded {

/// A process of this host, also when its pid is given to another one later. Plain value.
struct ProcessId {
  pid_t pid = 0;
  std::string started;  ///< when: the boot's id and the tick in it; empty where `/proc` does not tell

  [[nodiscard]] static ProcessId self();

  /// Does it still run? True where that cannot be told.
  [[nodiscard]] bool runs() const;

  bool operator==(const ProcessId&) const = default;
};

}  // namespace rest_fcgi::embedded
