// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "master/embedded/modules/native.h"
#include "rest_fcgi/process/program.h"

namespace rest_fcgi::embedded {

using process::Program;

/// How Salt's cmd.run is called. Its relatives take most of its parameters, in the same order.
inline constexpr std::string_view kCmdRunUsage =
    "cmd.run(cmd, cwd=None, stdin=None, runas=None, group=None, shell='/bin/sh', python_shell=None, "
    "env=None, clean_env=False, template=None, rstrip=True, umask=None, output_encoding=None, "
    "output_loglevel='debug', log_callback=None, hide_output=False, timeout=None, "
    "reset_system_locale=True, ignore_retcode=False, saltenv=None, use_vt=False, redirect_stderr=True, "
    "bg=False, password=None, encoded_cmd=False, raise_err=False, prepend_path=None, "
    "success_retcodes=None, success_stdout=None, success_stderr=None, **kwargs)";

/// The arguments of a function of `cmd` by their names, wherever they stood in the call. Borrows the call.
class CmdOptions {
 public:
  explicit CmdOptions(const Call& call);

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
  /// Where one of these applies, all went well.
  struct Successes {
    std::vector<std::int64_t> retcodes = {0};
    std::vector<std::string> in_output;  ///< what it has to hold
    std::vector<std::string> in_errors;
  };
  Program program;
  std::string shown;    ///< the command as Python shows it in messages
  std::string timeout;  ///< seconds, as they were given
  bool strip_end = true;
  bool ignore_retcode = false;
  Successes successes;
};

/// Reads the options as Salt reads them; `is_here` as of ProgramRunner. Errors: Salt's own, and a sentence
/// where this process has not the rights of root that an option needs.
[[nodiscard]] std::variant<CmdProgram, Raised> read_cmd_program(const CmdOptions& options, bool is_here);

/// Is it a file that this process may execute?
[[nodiscard]] bool is_executable(const std::string& path);

/// The path of a program: what it names itself, else where it lies in this process's PATH or in the folders
/// that systems keep programs in. Absent where there is none.
[[nodiscard]] std::optional<std::string> which(const std::string& name);

}  // namespace rest_fcgi::embedded
