// SPDX-License-Identifier: MIT
#include "master/embedded/jobs/process_id.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {

namespace {

constexpr int kFieldsToStart = 20;  // in /proc/PID/stat, from the state on

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// When a process began, in ticks since the boot; empty where that cannot be read. A zombie has ended.
std::string start_tick(pid_t pid) {
  const std::string line = first_line(format("/proc/{}/stat", pid));
  // A program's name stands in brackets, and may itself have brackets and blanks.
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  if (!(fields >> field) || field == "Z" || field == "X") return {};
  for (int i = 1; i < kFieldsToStart; ++i) fields >> field;
  return field;
}

std::string start_of(pid_t pid) {
  const std::string tick = start_tick(pid);
  if (tick.empty()) return {};
  return format("{}/{}", first_line("/proc/sys/kernel/random/boot_id"), tick);
}

}  // namespace

ProcessId ProcessId::self() {
  return {::getpid(), start_of(::getpid())};
}

bool ProcessId::runs() const {
  if (pid <= 0) return false;
  if (::kill(pid, 0) != 0 && errno == ESRCH) return false;
  return started.empty() || start_of(pid) == started;
}

}  // namespace rest_fcgi::embedded
