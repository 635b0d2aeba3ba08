// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "master/embedded/modules/cmd_options.h"
#include "master/embedded/process/program.h"

namespace rest_fcgi::embedded {

/// A call of one of the functions of `cmd`, read. Plain value.
struct CmdProgram {
  Program program;
  std::string shown;    ///< the command as Python shows it in messages
  std::string context;  ///< how it is started, as Salt's message about a failure shows it
  std::string timeout;  ///< seconds, as they were given
  bool strip_end = true;
  bool ignore_retcode = false;
  std::vector<std::int64_t> success_retcodes = {0};
  std::vector<std::string> success_stdout;  ///< where the output has one of them, all went well
  std::vector<std::string> success_stderr;
};

/// Reads the options as Salt reads them. Errors: Salt's own, and a sentence where this process has not the
/// rights of root that an option needs.
[[nodiscard]] std::variant<CmdProgram, Raised> read_cmd_program(const CmdOptions& options);

}  // namespace rest_fcgi::embedded
