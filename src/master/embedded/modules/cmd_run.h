// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <variant>

#include "master/embedded/modules/cmd_options.h"

namespace rest_fcgi::embedded {

/// What a command gave, in Salt's terms. Plain value.
struct CmdResult {
  pid_t pid = 0;
  int retcode = 0;         ///< 0 also for what counts as success; a signal's number negated; 1: timed out
  int minion_retcode = 0;  ///< that of the whole return
  bool timed_out = false;
  std::string output;
  std::string errors;

  /// Salt's object about it.
  [[nodiscard]] Json json() const;
};
using CmdReply = std::variant<CmdResult, Raised>;

/// Runs what the options say, and waits for it. Errors: Salt's own; interrupted.
[[nodiscard]] CmdReply cmd_run(const Call& call, const CmdOptions& options);

/// Writes the `code` of a call of `cmd.exec_code` into a file that goes afterwards, and gives `run` the
/// options that run it.
[[nodiscard]] Reply with_code_file(const Call& call, const std::function<Reply(const CmdOptions&)>& run);

/// `true`, for options.
[[nodiscard]] JsonValue json_true();

}  // namespace rest_fcgi::embedded
