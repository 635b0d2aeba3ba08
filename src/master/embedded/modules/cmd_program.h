// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "master/embedded/modules/module.h"
#include "master/embedded/process/program.h"

namespace rest_fcgi::embedded {

/// The parameters of Salt's cmd.run. Its relatives take most of them, in the same order.
inline constexpr std::array kCmdRunParameters = {
    Parameter{"cmd"},
    Parameter{"cwd", "null"},
    Parameter{"stdin", "null"},
    Parameter{"runas", "null"},
    Parameter{"group", "null"},
    Parameter{"shell", R"("/bin/sh")"},
    Parameter{"python_shell", "null"},
    Parameter{"env", "null"},
    Parameter{"clean_env", "false"},
    Parameter{"template", "null"},
    Parameter{"rstrip", "true"},
    Parameter{"umask", "null"},
    Parameter{"output_encoding", "null"},
    Parameter{"output_loglevel", R"("debug")"},
    Parameter{"log_callback", "null"},
    Parameter{"hide_output", "false"},
    Parameter{"timeout", "null"},
    Parameter{"reset_system_locale", "true"},
    Parameter{"ignore_retcode", "false"},
    Parameter{"saltenv", "null"},
    Parameter{"use_vt", "false"},
    Parameter{"redirect_stderr", "true"},
    Parameter{"bg", "false"},
    Parameter{"password", "null"},
    Parameter{"encoded_cmd", "false"},
    Parameter{"raise_err", "false"},
    Parameter{"prepend_path", "null"},
    Parameter{"success_retcodes", "null"},
    Parameter{"success_stdout", "null"},
    Parameter{"success_stderr", "null"},
};

/// The arguments of a function of `cmd` by their names, wherever they stood in the call. Borrows the call.
class CmdOptions {
 public:
  /// `own`: the parameters of the function that was called.
  CmdOptions(const Call& call, std::span<const Parameter> own);

  /// Null where it was not given.
  [[nodiscard]] JsonValue operator[](std::string_view name) const;

  /// Adds or replaces one.
  void set(std::string_view name, const JsonValue& value);
  void remove(std::string_view name);

  /// What cannot be honoured: arguments that no function here takes, and values of Salt's that mean nothing
  /// here. Absent: all is fine.
  [[nodiscard]] std::optional<Raised> complaint() const;

 private:
  std::vector<JsonMember> options_;
};

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

/// Reads the options as Salt reads them; `is_here` as of ProgramRunner. Errors: Salt's own, and a sentence
/// where this process has not the rights of root that an option needs.
[[nodiscard]] std::variant<CmdProgram, Raised> read_cmd_program(const CmdOptions& options, bool is_here);

}  // namespace rest_fcgi::embedded
