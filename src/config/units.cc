// SPDX-License-Identifier: MIT
#include "rest_fcgi/config/units.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::config {
namespace {

/// Runs a program with these files as its standard output and standard error. Returns its exit status, or -1.
int run(const std::vector<std::string>& argv, int output, int errors) {
  std::vector<char*> words;
  words.reserve(argv.size() + 1);
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, words[0], &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return -1;
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

UniqueFd open_null() {
  return UniqueFd(::open("/dev/null", O_WRONLY | O_CLOEXEC));
}

std::vector<std::string> systemctl(std::vector<std::string> words, const std::vector<std::string>& units) {
  words.insert(words.begin(), "systemctl");
  words.insert(words.end(), units.begin(), units.end());
  return words;
}

}  // namespace

bool run_program(const std::vector<std::string>& argv) {
  return run(argv, STDERR_FILENO, STDERR_FILENO) == 0;
}

bool run_quietly(const std::vector<std::string>& argv) {
  return run(argv, open_null().get(), STDERR_FILENO) == 0;
}

std::string output_of(const std::vector<std::string>& argv) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "";
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  const int status = run(argv, to.get(), open_null().get());
  to.reset();
  constexpr std::size_t kMost = 65536;  // The size of a pipe.
  const auto bytes = read_to_end(from.get(), kMost);
  if (status != 0 || !bytes) return "";
  return std::string(stripped(*bytes));
}

bool has_systemd() {
  return ::access("/run/systemd/system", F_OK) == 0;
}

UnitState state_of(const std::string& unit) {
  return {run_program({"systemctl", "is-enabled", "--quiet", unit}),
          run_program({"systemctl", "is-active", "--quiet", unit})};
}

Result<void> start_units(const std::vector<std::string>& units) {
  if (run_program(systemctl({"enable", "--now"}, units))) return {};
  static_cast<void>(run_program(systemctl({"status", "--no-pager", "--full", "--lines=20"}, units)));
  static_cast<void>(stop_units(units));
  return Error{ErrorKind::internal,
               format("{} did not start; the lines above have the reason", joined(units, " or "))};
}

Result<void> stop_units(const std::vector<std::string>& units) {
  if (run_program(systemctl({"disable", "--now"}, units))) return {};
  return Error{ErrorKind::internal,
               format("{} did not stop; the lines above have the reason", joined(units, " or "))};
}

}  // namespace rest_fcgi::config
