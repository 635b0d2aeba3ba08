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

/// A user as after a login: with their own group and all others that they are in.
[[nodiscard]] inline Identity identity_of(const Account& account) {
  return {account.uid, account.gid, groups_of(account)};
}

/// A program to run, and how. Plain value.
struct Program : StartOrder {
  std::string input;                   ///< standard input; empty: there is none
  std::size_t output_limit = 8 << 20;  ///< bytes that are kept of each output; what follows is read and lost
  bool merge_errors = false;           ///< standard error goes where standard output goes
  /// Called by the waiting thread with each whole line of standard output, without its newline; what it
  /// returns is written to standard input, which stays open until the program ends. Lines that it got are no
  /// part of `Ended::output`, which has what follows the last newline; from a line on that is longer than
  /// `output_limit` it gets no more, and `output` begins with that line. Empty: all output is collected, and
  /// standard input ends behind `input`.
  std::function<std::string(std::string_view line)> on_line = {};
};

/// How a program ended. Plain value.
struct Ended {
  enum class How {
    exited,
    killed,     ///< by a signal that did not come from here
    timed_out,  ///< took longer than its time limit, and was ended
    stopped,    ///< was ended as `stop` was requested
  };
  How how = How::exited;
  int code = 0;  ///< exit status, or the signal's number negated, as Python has it
  pid_t pid = 0;
  std::string output;
  std::string errors;
  bool output_cut = false;  ///< there was more than `output_limit`
  bool errors_cut = false;
};

/// Starts programs by way of rest_fcgi_run, one for each. Immutable, thread-safe.
class ProgramRunner {
 public:
  /// `helper` is the absolute path of rest_fcgi_run, which this process starts, or `unix:PATH`, a socket
  /// where an init system starts it for each connection. `patience` is how long it may take beyond the times
  /// that it is told, before it is given up.
  explicit ProgramRunner(std::string helper, std::chrono::milliseconds patience = std::chrono::seconds(15))
      : helper_(std::move(helper)), patience_(patience) {}

  /// Are programs started by this process's own user, in what it sees as the host? Else users, folders and
  /// variables are those of wherever rest_fcgi_run runs.
  [[nodiscard]] bool is_here() const noexcept { return !helper_.starts_with("unix:"); }

  /// Runs a program, and waits until it ended and nobody has its output open any more. It leads a session and
  /// a process group of its own. Where its time is over or `stop` is requested, the whole group gets SIGTERM,
  /// and after the grace, or once the program is gone, all that it started gets SIGKILL, wherever that went;
  /// so does what it leaves behind when it ends by itself. No zombie is left; no shell is involved.
  ///
  /// REQUIRES: this process ignores SIGPIPE, and does not ignore SIGCHLD.
  /// Errors: not_found, where there is no such program; invocation, where a text holds a NUL byte; internal,
  /// where it cannot be started, or not be ended; unavailable, where rest_fcgi_run is not there. The sentence
  /// is Python's where Python has one.
  [[nodiscard]] Result<Ended> run(const Program& program, const std::stop_token& stop) const;

 private:
  std::string helper_;
  std::chrono::milliseconds patience_;
};

/// The path of a file or folder that is installed with the program: beside the running executable where it is
/// there, as in a build tree, else PREFIX/lib/rest_fcgi/`name`.
[[nodiscard]] std::string shipped(const std::string& name);

}  // namespace rest_fcgi::process
