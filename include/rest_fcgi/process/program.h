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

/// Returns the ids of a user and of all groups of the user, as a login sets them.
[[nodiscard]] inline Identity identity_of(const Account& account) {
  return {account.uid, account.gid, groups_of(account)};
}

struct Program : StartOrder {
  std::string input;  ///< `input` is the text for the program's standard input. May be empty.
  /// `output_limit` is the largest size of each output in bytes. Further bytes are discarded.
  std::size_t output_limit = 8 << 20;
  bool merge_errors = false;  ///< `merge_errors` puts the program's standard error into its standard output.
  /// `on_line` is a function that gets each line of the program's standard output, without the newline. The
  /// program gets the result of the function on standard input, which stays open. `Ended::output` does not
  /// contain these lines. After a line longer than `output_limit`, the function is not called again, and
  /// further output goes into `Ended::output`.
  std::function<std::string(std::string_view line)> on_line = {};
};

struct Ended {
  enum class How {
    exited,
    killed,     ///< `killed` means that a signal ended the program, but not a signal of rest_fcgi.
    timed_out,  ///< `timed_out` means that rest_fcgi ended the program at its time limit.
    stopped,    ///< `stopped` means that rest_fcgi ended the program because of a `stop` request.
  };
  How how = How::exited;
  /// The exit status, or the negative number of the signal that ended the program, as in Python.
  int code = 0;
  pid_t pid = 0;
  std::string output;
  std::string errors;
  bool output_cut = false;  ///< Whether `output` was longer than `output_limit` and was cut.
  bool errors_cut = false;
};

/// Runs programs. Each program runs below its own process of rest_fcgi_run. A ProgramRunner is immutable and
/// thread-safe.
class ProgramRunner {
 public:
  /// Makes a runner. `helper` is the absolute path of rest_fcgi_run, or `unix:PATH` of a socket unit. After
  /// the time limit of a program, `run` waits up to `patience` for an answer of rest_fcgi_run, and then
  /// returns an error.
  explicit ProgramRunner(std::string helper, std::chrono::milliseconds patience = std::chrono::seconds(15))
      : helper_(std::move(helper)), patience_(patience) {}

  /// Returns whether this process itself starts rest_fcgi_run. If false, systemd starts rest_fcgi_run with
  /// the user, folders and variables of a unit.
  [[nodiscard]] bool is_here() const noexcept { return !helper_.starts_with("unix:"); }

  /// Runs a program without a shell. Waits until the program has ended and its outputs are closed. The
  /// program leads a new session and process group. At the time limit, or after a `stop` request, the process
  /// group gets SIGTERM. When `grace` has passed after SIGTERM, or when the program has ended, all processes
  /// that the program started get SIGKILL. Errors: not_found, if the program does not exist; invocation, for
  /// a text with a NUL byte; internal, if the program cannot be started or ended; unavailable, if
  /// rest_fcgi_run cannot be started or does not answer. REQUIRES: this process ignores SIGPIPE and does not
  /// ignore SIGCHLD.
  Result<Ended> run(const Program& program, const std::stop_token& stop) const;

 private:
  std::string helper_;
  std::chrono::milliseconds patience_;
};

}  // namespace rest_fcgi::process
