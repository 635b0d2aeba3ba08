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

/// Returns the ids of a user and of all groups of the user, as after a login.
[[nodiscard]] inline Identity identity_of(const Account& account) {
  return {account.uid, account.gid, groups_of(account)};
}

struct Program : StartOrder {
  std::string input;  ///< The text for standard input. May be empty.
  /// The number of bytes that are kept of each output. Further bytes are discarded.
  std::size_t output_limit = 8 << 20;
  bool merge_errors = false;  ///< Whether standard error goes to standard output.
  /// A function that gets each line of standard output, without the newline. Its result goes to standard
  /// input, which stays open. Such lines are not in `Ended::output`. After a line longer than `output_limit`,
  /// the function is not called again, and `Ended::output` gets all output.
  std::function<std::string(std::string_view line)> on_line = {};
};

struct Ended {
  enum class How {
    exited,
    killed,     ///< A signal that this process did not send ended the program.
    timed_out,  ///< The program exceeded its time limit and was ended.
    stopped,    ///< The program was ended because of a `stop` request.
  };
  How how = How::exited;
  int code = 0;  ///< The exit status, or as in Python the negative number of the signal.
  pid_t pid = 0;
  std::string output;
  std::string errors;
  bool output_cut = false;  ///< Whether `output` was longer than `output_limit` and was cut.
  bool errors_cut = false;
};

/// Starts each program through its own process of rest_fcgi_run. A ProgramRunner is immutable and
/// thread-safe.
class ProgramRunner {
 public:
  /// Makes a runner. `helper` is the absolute path of rest_fcgi_run, or `unix:PATH` of a socket unit. `run`
  /// gives up if rest_fcgi_run does not answer within `patience` after the time limits of a program.
  explicit ProgramRunner(std::string helper, std::chrono::milliseconds patience = std::chrono::seconds(15))
      : helper_(std::move(helper)), patience_(patience) {}

  /// Returns whether this process starts rest_fcgi_run. If not, an init system starts rest_fcgi_run with the
  /// user, folders and variables of a unit.
  [[nodiscard]] bool is_here() const noexcept { return !helper_.starts_with("unix:"); }

  /// Runs a program without a shell. Waits until the program has ended and its outputs are closed. The
  /// program leads a new session and process group. The group gets SIGTERM at the time limit or after a
  /// `stop` request. After `grace`, or when the program has ended, all processes that the program started get
  /// SIGKILL.
  /// Fails with `not_found` for a missing program, and with `invocation` for a text with a NUL byte. Fails
  /// with `internal` if the program cannot be started or ended, and with `unavailable` without rest_fcgi_run.
  /// REQUIRES: this process ignores SIGPIPE, and does not ignore SIGCHLD.
  [[nodiscard]] Result<Ended> run(const Program& program, const std::stop_token& stop) const;

 private:
  std::string helper_;
  std::chrono::milliseconds patience_;
};

}  // namespace rest_fcgi::process
