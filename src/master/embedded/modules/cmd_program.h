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

/// The Python signature of Salt's cmd.run. Other functions of `cmd` have most parameters in the same order.
inline constexpr std::string_view kCmdRunUsage =
    "cmd.run(cmd, cwd=None, stdin=None, runas=None, group=None, shell='/bin/sh', python_shell=None, "
    "env=None, clean_env=False, template=None, rstrip=True, umask=None, output_encoding=None, "
    "output_loglevel='debug', log_callback=None, hide_output=False, timeout=None, "
    "reset_system_locale=True, ignore_retcode=False, saltenv=None, use_vt=False, redirect_stderr=True, "
    "bg=False, password=None, encoded_cmd=False, raise_err=False, prepend_path=None, "
    "success_retcodes=None, success_stdout=None, success_stderr=None, **kwargs)";

/// Maps the parameter names of a function of `cmd` to arguments. Borrows the call's arguments.
using CmdOptions = std::map<std::string_view, JsonValue>;
[[nodiscard]] CmdOptions cmd_options(const Call& call);

[[nodiscard]] inline JsonValue option(const CmdOptions& options, std::string_view name) {
  const auto found = options.find(name);
  return found == options.end() ? JsonValue() : found->second;
}

struct CmdProgram {
  Program program;
  std::string shown;    ///< `shown` is the command as Python shows it in messages.
  std::string timeout;  ///< `timeout` is the timeout in seconds, as the caller wrote it.
  bool strip_end = true;
  bool ignore_retcode = false;
  // A command succeeds in three cases: its exit status is in `success_retcodes`, its standard output contains
  // a text of `success_stdout`, or its standard error contains a text of `success_stderr`.
  std::vector<std::int64_t> success_retcodes = {0};
  std::vector<std::string> success_stdout;
  std::vector<std::string> success_stderr;
};

/// Parses the options as Salt does. Fails with Salt's errors, and with a CommandExecutionError for options
/// that need root.
[[nodiscard]] std::variant<CmdProgram, Raised> parse_cmd_program(const CmdOptions& options, bool is_here);

[[nodiscard]] bool is_executable(const std::string& path);

/// Returns the path of a program. `name` is a path, or a file in PATH or in the usual folders. Returns
/// std::nullopt if no such file is executable.
[[nodiscard]] std::optional<std::string> which(const std::string& name);

}  // namespace rest_fcgi::embedded
