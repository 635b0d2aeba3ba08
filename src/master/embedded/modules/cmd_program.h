// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "master/embedded/modules/native.h"

namespace rest_fcgi::embedded {

/// The usage of Salt's cmd.run. Its relatives take most of its parameters, in the same order.
inline constexpr std::string_view kCmdRunUsage =
    "cmd.run(cmd, cwd=None, stdin=None, runas=None, group=None, shell='/bin/sh', python_shell=None, "
    "env=None, clean_env=False, template=None, rstrip=True, umask=None, output_encoding=None, "
    "output_loglevel='debug', log_callback=None, hide_output=False, timeout=None, "
    "reset_system_locale=True, ignore_retcode=False, saltenv=None, use_vt=False, redirect_stderr=True, "
    "bg=False, password=None, encoded_cmd=False, raise_err=False, prepend_path=None, "
    "success_retcodes=None, success_stdout=None, success_stderr=None, **kwargs)";

/// The arguments of a function of `cmd` by name. Borrows the call.
using CmdOptions = std::map<std::string_view, JsonValue>;
[[nodiscard]] CmdOptions cmd_options(const Call& call);

/// Returns null for an argument that was not given.
[[nodiscard]] inline JsonValue option(const CmdOptions& options, std::string_view name) {
  const auto found = options.find(name);
  return found == options.end() ? JsonValue() : found->second;
}

/// A call of a function of `cmd`, parsed.
struct CmdProgram {
  Program program;
  std::string shown;    ///< the command as Python shows it in messages
  std::string timeout;  ///< in seconds, as it was given
  bool strip_end = true;
  bool ignore_retcode = false;
  // A result counts as a success if one of these applies.
  std::vector<std::int64_t> success_retcodes = {0};
  std::vector<std::string> success_stdout;  ///< parts of the output
  std::vector<std::string> success_stderr;
};

/// Parses the options as Salt does. `is_here`: see ProgramRunner. Errors: Salt's own; command, for an option
/// that needs root's rights in a process without them.
[[nodiscard]] std::variant<CmdProgram, Raised> parse_cmd_program(const CmdOptions& options, bool is_here);

/// Returns whether the path is a regular file that this process may execute.
[[nodiscard]] bool is_executable(const std::string& path);

/// Returns the path of a program: the name itself, or a file in PATH or in the usual folders of programs.
[[nodiscard]] std::optional<std::string> which(const std::string& name);

}  // namespace rest_fcgi::embedded
