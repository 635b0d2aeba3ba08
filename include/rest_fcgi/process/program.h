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

/// Returns the ids of a user with all groups of the user, as after a login.
[[nodiscard]] inline Identity identity_of(const Account& account) {
  return {account.uid, account.gid, groups_of(account)};
}

/// A program to run. Plain value.
struct Program : StartOrder {
  std::string input;  ///< text for standard input; may be empty
  /// The number of bytes that are kept of each output. The rest is discarded.
  std::size_t output_limit = 8 << 20;
  bool merge_errors = false;  ///< whether standard error goes to standard output
  /// A function that handles each line of standard output, without the newline. The thread in
  /// `ProgramRunner::run` calls it and writes the result to standard input, which stays open until the
  /// program ends. Handled lines are not in `Ended::output`. After a line longer than `output_limit`,
  /// `on_line` is not called again, and `output` begins with that line. If `on_line` is empty, all output is
  /// collected, and standard input ends after `input`.
  std::function<std::string(std::string_view line)> on_line = {};
};

/// How a program ended. Plain value.
struct Ended {
  enum class How {
    exited,
    killed,     ///< a signal ended the program, but this process did not cause the signal
    timed_out,  ///< the program was ended at its time limit
    stopped,    ///< the program was ended because of a `stop` request
  };
  How how = How::exited;
  int code = 0;  ///< exit status, or the negative number of the signal, as in Python
  pid_t pid = 0;
  std::string output;
  std::string errors;
  bool output_cut = false;  ///< whether the output was longer than `output_limit` and was cut
  bool errors_cut = false;
};

/// Starts programs through rest_fcgi_run. Each program has its own process of rest_fcgi_run. Immutable;
/// thread-safe.
class ProgramRunner {
 public:
  /// Makes a runner. `helper` is the absolute path of rest_fcgi_run, or `unix:PATH` of a socket where an init
  /// system starts rest_fcgi_run for each connection. rest_fcgi_run enforces a program's time limits. If
  /// rest_fcgi_run has not answered `patience` after these limits, `run` gives up.
  explicit ProgramRunner(std::string helper, std::chrono::milliseconds patience = std::chrono::seconds(15))
      : helper_(std::move(helper)), patience_(patience) {}

  /// Returns whether this process starts rest_fcgi_run itself. Otherwise an init system starts it, and the
  /// users, folders and variables of the init system's unit apply.
  [[nodiscard]] bool is_here() const noexcept { return !helper_.starts_with("unix:"); }

  /// Runs a program without a shell. Waits until the program has ended and its outputs are closed. The
  /// program leads a new session and process group. At the time limit or after a `stop` request, this group
  /// gets SIGTERM. After the time `grace`, or when the program has ended, all remaining processes that the
  /// program started get SIGKILL, also in other sessions.
  ///
  /// REQUIRES: this process ignores SIGPIPE, and does not ignore SIGCHLD. Errors: not_found, for a missing
  /// program; invocation, for a text with a NUL byte; internal, if the program cannot be started or ended;
  /// unavailable, if rest_fcgi_run cannot be reached. If Python has a message for the error, that message is
  /// used.
  [[nodiscard]] Result<Ended> run(const Program& program, const std::stop_token& stop) const;

 private:
  std::string helper_;
  std::chrono::milliseconds patience_;
};

}  // namespace rest_fcgi::process
