// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace rest_fcgi::store {

/// Returns the start time of a process, field 22 of /proc/PID/stat (proc(5)). Returns 0 if the file cannot be
/// read, and -1 for a zombie process. A later process may have the same pid, but not the same start time.
[[nodiscard]] std::int64_t start_of(pid_t pid);

/// Returns whether the process that started at `start` has ended. `found` is the result of `start_of(pid)`.
/// If /proc does not show the process (hidepid, ProtectProc=), asks kill(2) whether the process exists.
[[nodiscard]] bool is_gone(pid_t pid, std::int64_t start, std::int64_t found);

}  // namespace rest_fcgi::store
