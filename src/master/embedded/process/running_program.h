// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "master/embedded/process/program.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::embedded {

/// A child process that became its program, until it is reaped: feeds it, takes its output, ends it when its
/// time is over. Used by one thread, once.
class RunningProgram {
 public:
  /// This process's ends of what the program's standard descriptors are connected with.
  struct Ends {
    UniqueFd input;  ///< closed: there is none
    UniqueFd output;
    UniqueFd errors;  ///< closed: they go with the output
    UniqueFd wake;    ///< of make_wake
  };

  /// `program` must outlive this, and `pid` is a child that nobody else waits for.
  RunningProgram(const Program& program, pid_t pid, Ends ends);

  /// What a stop request writes to; closed where the system has no descriptor left.
  [[nodiscard]] static UniqueFd make_wake();

  /// Returns when the process is reaped, however long that takes. Errors: internal, where the process cannot
  /// be watched; it is ended then.
  [[nodiscard]] Result<Ended> wait(const std::stop_token& stop);

 private:
  [[nodiscard]] bool is_over() const noexcept;
  [[nodiscard]] int milliseconds_to_wait() const;
  void poll_once();
  void feed();
  [[nodiscard]] std::string_view unfed() const;
  void take(UniqueFd& fd, std::string& text, bool& cut);
  void take_output();
  void take_lines();
  void look_at_time(bool stop_requested);
  void end(Ended::How how);
  void kill_group();
  void reap();

  const Program& program_;
  Ends ends_;
  UniqueFd process_;  // becomes readable when the process ends
  Ended ended_;
  std::string answers_;  // of on_line, which follow the input
  std::size_t fed_ = 0;  // bytes of both
  bool is_gone_ = false;
  bool is_killed_ = false;
  std::optional<SteadyTime> term_at_;
  std::optional<SteadyTime> kill_at_;
};

}  // namespace rest_fcgi::embedded
