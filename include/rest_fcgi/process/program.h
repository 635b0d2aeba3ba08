// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/users.h"
#include "rest_fcgi/process/run_wire.h"

namespace rest_fcgi::process {

/// Returns a user with all groups, as after a login.
[[nodiscard]] inline Identity identity_of(const Account& account) {
  return {account.uid, account.gid, groups_of(account)};
}

/// A program to run. Plain value.
struct Program : StartOrder {
  std::string input;                   ///< standard input; may be empty
  std::size_t output_limit = 8 << 20;  ///< bytes kept of each output; the rest is discarded
  bool merge_errors = false;           ///< standard error goes to standard output
  /// Called by the waiting thread with each line of standard output, without its newline. The result is
  /// written to standard input, which stays open until the program ends. These lines are not in
  /// `Ended::output`. After a line longer than `output_limit` it is not called again, and `output` begins
  /// with that line. If it is empty, all output is collected, and standard input ends after `input`.
  std::function<std::string(std::string_view line)> on_line = {};
};

/// How a program ended. Plain value.
struct Ended {
  enum class How {
    exited,
    killed,     ///< by a signal that this process did not cause
    timed_out,  ///< was ended at its time limit
    stopped,    ///< was ended because of `stop`
  };
  How how = How::exited;
  int code = 0;  ///< exit status, or the negative signal number, as in Python
  pid_t pid = 0;
  std::string output;
  std::string errors;
  bool output_cut = false;  ///< the output was longer than `output_limit`
  bool errors_cut = false;
};

/// Starts programs through rest_fcgi_run, one process for each. Immutable; thread-safe.
class ProgramRunner {
 public:
  /// `helper` is the absolute path of rest_fcgi_run, or `unix:PATH` of a socket where an init system starts
  /// it for each connection. `patience` is added to its time limits before it is given up.
  explicit ProgramRunner(std::string helper, std::chrono::milliseconds patience = std::chrono::seconds(15))
      : helper_(std::move(helper)), patience_(patience) {}

  /// Returns whether this process starts rest_fcgi_run itself. Else users, folders and variables are those of
  /// the init system's unit.
  [[nodiscard]] bool is_here() const noexcept { return !helper_.starts_with("unix:"); }

  /// Runs a program without a shell, and waits until it has ended and its outputs are closed. The program
  /// leads a new session and process group. At the time limit or after a `stop` request the group gets
  /// SIGTERM. After the grace, or when the program has ended, all processes that it started get SIGKILL, in
  /// any session.
  ///
  /// REQUIRES: this process ignores SIGPIPE, and does not ignore SIGCHLD.
  /// Errors: not_found, for a missing program; invocation, for a text with a NUL byte; internal, if it cannot
  /// be started or ended; unavailable, if rest_fcgi_run cannot be reached. Messages are Python's if it has
  /// one.
  [[nodiscard]] Result<Ended> run(const Program& program, const std::stop_token& stop) const;

 private:
  std::string helper_;
  std::chrono::milliseconds patience_;
};

}  // namespace rest_fcgi::process
