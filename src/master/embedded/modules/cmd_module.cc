// SPDX-License-Identifier: MIT

#include <algorithm>
#include <array>
#include <initializer_list>

#include "master/embedded/modules/cmd_run.h"
#include "master/embedded/modules/replies.h"
#include "master/embedded/modules/which.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

using std::string_view;

/// Those of cmd.run's parameters that are not named.
template <std::size_t Count>
constexpr std::array<Parameter, Count> all_but(std::initializer_list<string_view> names) {
  std::array<Parameter, Count> parameters;
  std::size_t used = 0;
  for (const Parameter& parameter : kCmdRunParameters) {
    if (std::find(names.begin(), names.end(), parameter.name) == names.end()) {
      parameters[used++] = parameter;
    }
  }
  return parameters;
}

constexpr std::size_t kAll = kCmdRunParameters.size();
constexpr auto kOutputParameters = all_but<kAll - 4>({"redirect_stderr", "bg", "encoded_cmd", "raise_err"});
constexpr auto kShellParameters =
    all_but<kAll - 4>({"python_shell", "redirect_stderr", "encoded_cmd", "raise_err"});
constexpr auto kRetcodeParameters = all_but<kAll - 7>(
    {"rstrip", "hide_output", "redirect_stderr", "bg", "encoded_cmd", "raise_err", "prepend_path"});
constexpr auto kRunAllParameters = [] {
  auto parameters = all_but<kAll - 2>({"bg", "raise_err"});
  for (Parameter& parameter : parameters) {
    if (parameter.name == "redirect_stderr") parameter.default_json = "false";
  }
  return parameters;
}();

Reply output_of(const Call& call, const CmdOptions& options, std::string CmdResult::*output) {
  CmdReply reply = cmd_run(call, options);
  if (auto* raised = std::get_if<Raised>(&reply)) return std::move(*raised);
  const auto& result = std::get<CmdResult>(reply);
  return Returned{Json::string(result.*output), result.minion_retcode};
}

Reply all_of(const Call& call, const CmdOptions& options) {
  CmdReply reply = cmd_run(call, options);
  if (auto* raised = std::get_if<Raised>(&reply)) return std::move(*raised);
  const auto& result = std::get<CmdResult>(reply);
  return Returned{result.json(), result.minion_retcode};
}

Reply run(const Call& call) {
  return output_of(call, {call, kCmdRunParameters}, &CmdResult::output);
}

Reply shell(const Call& call) {
  CmdOptions options(call, kShellParameters);
  for (const string_view name : {"python_shell", "redirect_stderr"}) {
    if (options[name].is(JsonValue::Kind::null)) options.set(name, json_true());
  }
  return output_of(call, options, &CmdResult::output);
}

Reply run_stdout(const Call& call) {
  return output_of(call, {call, kOutputParameters}, &CmdResult::output);
}

Reply run_stderr(const Call& call) {
  return output_of(call, {call, kOutputParameters}, &CmdResult::errors);
}

Reply run_all(const Call& call) {
  return all_of(call, {call, kRunAllParameters});
}

Reply retcode(const Call& call) {
  CmdOptions options(call, kRetcodeParameters);
  options.set("redirect_stderr", json_true());
  CmdReply reply = cmd_run(call, options);
  if (auto* raised = std::get_if<Raised>(&reply)) return std::move(*raised);
  const auto& result = std::get<CmdResult>(reply);
  return Returned{Json::integer(result.retcode), result.minion_retcode};
}

Reply exec_code_all(const Call& call) {
  return with_code_file(call, [&call](const CmdOptions& options) { return all_of(call, options); });
}

Reply exec_code(const Call& call) {
  return with_code_file(
      call, [&call](const CmdOptions& options) { return output_of(call, options, &CmdResult::output); });
}

std::optional<std::string> found(const JsonValue& name) {
  return which(name.is(JsonValue::Kind::string) ? std::string(name.text()) : name.python_str());
}

Json path_or_null(const std::optional<std::string>& path) {
  return path ? Json::string(*path) : Json();
}

Reply which_function(const Call& call) {
  return Returned{path_or_null(found(call.arguments[0]))};
}

Reply which_bin(const Call& call) {
  const JsonValue& names = call.arguments[0];
  if (!names.is(JsonValue::Kind::array)) return which_function(call);
  for (const JsonValue name : names.elements()) {
    if (const auto path = found(name)) return Returned{Json::string(*path)};
  }
  return Returned{Json()};
}

Reply has_exec(const Call& call) {
  return Returned{Json::boolean(found(call.arguments[0]).has_value())};
}

constexpr string_view kRules =
    "``cmd`` is split into words as Python's shlex does; a shell runs it only with ``python_shell=True``.\n"
    "``timeout`` is in seconds; ``runas`` and ``group`` need a process that runs as root.";

constexpr string_view kCodeRules =
    "``args`` is an argument of the program, or a list of them. All that ``cmd.run_all`` takes may follow.";

constexpr std::array kFunctions = {
    Function{.name = "cmd.exec_code",
             .python_name = "exec_code",
             .parameters = {{{"lang"}, {"code"}, {"cwd", "null"}, {"args", "null"}}},
             .takes_keywords = true,
             .summary = kCodeRules,
             .example = "cmd.exec_code python3 'print(1)'",
             .quick = false,
             .run = exec_code},
    Function{.name = "cmd.exec_code_all",
             .python_name = "exec_code_all",
             .parameters = {{{"lang"}, {"code"}, {"cwd", "null"}, {"args", "null"}}},
             .takes_keywords = true,
             .summary = kCodeRules,
             .example = "cmd.exec_code_all python3 'print(1)'",
             .quick = false,
             .run = exec_code_all},
    Function{.name = "cmd.has_exec",
             .python_name = "has_exec",
             .parameters = {{{"cmd"}}},
             .summary = "Return whether there is a program of this name.",
             .example = "cmd.has_exec cat",
             .run = has_exec},
    Function{.name = "cmd.retcode",
             .python_name = "retcode",
             .long_parameters = kRetcodeParameters,
             .takes_keywords = true,
             .summary = kRules,
             .example = "cmd.retcode 'grep -q root /etc/passwd'",
             .quick = false,
             .run = retcode},
    Function{.name = "cmd.run",
             .python_name = "run",
             .long_parameters = kCmdRunParameters,
             .takes_keywords = true,
             .summary = kRules,
             .example = "cmd.run 'ls -l /tmp'\ncmd.run 'ls /tmp | wc -l' python_shell=True",
             .quick = false,
             .run = run},
    Function{.name = "cmd.run_all",
             .python_name = "run_all",
             .long_parameters = kRunAllParameters,
             .takes_keywords = true,
             .summary = kRules,
             .example = "cmd.run_all 'ls -l /tmp'",
             .quick = false,
             .run = run_all},
    Function{.name = "cmd.run_stderr",
             .python_name = "run_stderr",
             .long_parameters = kOutputParameters,
             .takes_keywords = true,
             .summary = kRules,
             .example = "cmd.run_stderr 'ls /nosuch'",
             .quick = false,
             .run = run_stderr},
    Function{.name = "cmd.run_stdout",
             .python_name = "run_stdout",
             .long_parameters = kOutputParameters,
             .takes_keywords = true,
             .summary = kRules,
             .example = "cmd.run_stdout 'ls -l /tmp'",
             .quick = false,
             .run = run_stdout},
    Function{.name = "cmd.shell",
             .python_name = "shell",
             .long_parameters = kShellParameters,
             .takes_keywords = true,
             .summary = "As ``cmd.run`` with ``python_shell=True``: a shell runs ``cmd``.",
             .example = "cmd.shell 'ls /tmp | wc -l'",
             .quick = false,
             .run = shell},
    Function{.name = "cmd.which",
             .python_name = "which",
             .parameters = {{{"cmd"}}},
             .summary = "Return the path of a program, or ``None``.",
             .example = "cmd.which cat",
             .run = which_function},
    Function{.name = "cmd.which_bin",
             .python_name = "which_bin",
             .parameters = {{{"cmds"}}},
             .summary = "Return the path of the first program that is there, or ``None``.",
             .example = "cmd.which_bin '[pip3, pip]'",
             .run = which_bin},
};

}  // namespace

std::span<const Function> cmd_functions() {
  return kFunctions;
}

}  // namespace rest_fcgi::embedded
