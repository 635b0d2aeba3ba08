// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace rest_fcgi::embedded {

/// A process, as `ps` shows it. Plain value.
struct Process {
  pid_t pid = 0;
  std::string user;     ///< by name, or by number where there is none
  std::string command;  ///< with its arguments; in brackets where it has none
};

/// All processes that can be seen, by pid. One that ends meanwhile is left out.
[[nodiscard]] std::vector<Process> host_processes();

/// What ps makes of the texts of `/proc/PID/cmdline` and `/proc/PID/comm`.
[[nodiscard]] std::string command_of(std::string_view cmdline, std::string_view comm);

}  // namespace rest_fcgi::embedded
