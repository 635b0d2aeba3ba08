// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "master/embedded/modules/cmd_program.h"
#include "master/embedded/modules/native.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace cmd_module {
namespace {

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

/// As Python's `rstrip()`, for ASCII.
void strip_end(std::string& text) {
  const std::size_t last = text.find_last_not_of(" \t\n\v\f\r\x1c\x1d\x1e\x1f");
  text.resize(last == std::string::npos ? 0 : last + 1);
}

std::string finished(std::string text, bool cut, const CmdProgram& cmd) {
  if (cmd.strip_end) strip_end(text);
  if (cut) text += format("\n[Cut here: there is more than {} bytes.]", cmd.program.output_limit);
  return text;
}

bool has_one_of(const std::string& text, const std::vector<std::string>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&text](const std::string& part) { return text.find(part) != std::string::npos; });
}

bool counts_as_success(const CmdProgram& cmd, const CmdResult& result) {
  const auto& codes = cmd.success_retcodes;
  return std::find(codes.begin(), codes.end(), result.retcode) != codes.end() ||
         has_one_of(result.output, cmd.success_stdout) || has_one_of(result.errors, cmd.success_stderr);
}

CmdResult result_of(const CmdProgram& cmd, Ended ended) {
  CmdResult result;
  result.pid = ended.pid;
  if (ended.how == Ended::How::timed_out) {
    result.timed_out = true;
    result.retcode = 1;
    result.output = format("{} : Timed out after {} seconds", cmd.shown, cmd.timeout);
    return result;
  }
  result.output = finished(std::move(ended.output), ended.output_cut, cmd);
  result.errors = finished(std::move(ended.errors), ended.errors_cut, cmd);
  result.retcode = ended.code;
  if (counts_as_success(cmd, result)) result.retcode = 0;
  return result;
}

Raised cannot_run(const CmdProgram& cmd, const Error& error) {
  if (error.kind == ErrorKind::invocation) return Raised::value_error(error.message);
  return command_error(format("Unable to run command '{}' with the context '{}', reason: {}", cmd.shown,
                              cmd.context, error.message));
}

Json CmdResult::json() const {
  return written_json([this](JsonWriter& writer) {
    writer.begin_object();
    // Salt's own order, which differs.
    if (!timed_out) writer.key("pid").integer(pid).key("retcode").integer(retcode);
    writer.key("stdout").string(output).key("stderr").string(errors);
    if (timed_out) writer.key("retcode").integer(retcode).key("pid").integer(pid);
    writer.end_object();
  });
}

/// Runs what the options say, and waits for it. Errors: Salt's own; interrupted.
CmdReply cmd_run(const Call& call, const CmdOptions& options) {
  const ProgramRunner& programs = call.context.engine.modules.programs();
  auto read = read_cmd_program(options, programs.is_here());
  if (auto* raised = std::get_if<Raised>(&read)) return std::move(*raised);
  const auto& cmd = std::get<CmdProgram>(read);
  Program program = cmd.program;
  program.time_limit = time_left(call.context, program.time_limit);
  Result<Ended> ended = programs.run(program, call.context.stop);
  if (!ended) return cannot_run(cmd, ended.error());
  if (ended->how == Ended::How::stopped) return terminated();
  CmdResult result = result_of(cmd, *std::move(ended));
  const bool failed = result.retcode != 0 && !cmd.ignore_retcode;
  if (failed) result.minion_retcode = result.retcode;
  if (python_bool(options["hide_output"])) {
    result.output.clear();
    result.errors.clear();
  }
  if (failed && python_bool(options["raise_err"])) return command_error(result.output);
  return result;
}

/// `true`, for options.
JsonValue json_true() {
  static const JsonDocument document = own_document(Json::boolean(true));
  return document.root();
}

using std::string_view;

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
  return output_of(call, CmdOptions(call), &CmdResult::output);
}

Reply shell(const Call& call) {
  CmdOptions options(call);
  for (const string_view name : {"python_shell", "redirect_stderr"}) {
    if (options[name].is(JsonValue::Kind::null)) options.set(name, json_true());
  }
  return output_of(call, options, &CmdResult::output);
}

Reply run_stdout(const Call& call) {
  return output_of(call, CmdOptions(call), &CmdResult::output);
}

Reply run_stderr(const Call& call) {
  return output_of(call, CmdOptions(call), &CmdResult::errors);
}

Reply run_all(const Call& call) {
  return all_of(call, CmdOptions(call));
}

Reply retcode(const Call& call) {
  CmdOptions options(call);
  options.set("redirect_stderr", json_true());
  CmdReply reply = cmd_run(call, options);
  if (auto* raised = std::get_if<Raised>(&reply)) return std::move(*raised);
  const auto& result = std::get<CmdResult>(reply);
  return Returned{Json::integer(result.retcode), result.minion_retcode};
}

/// What the shell does with the code, the program and its arguments: as the command's own user, so that the
/// file is theirs, and where the command sees it.
constexpr string_view kRunCode =
    "umask 077; file=$(mktemp) || exit; trap 'rm -f \"$file\"' 0; trap 'exit 143' 15; "
    "printf %s \"$1\" > \"$file\" || exit; program=$2; shift 2; \"$program\" \"$file\" \"$@\"";

/// Gives `run` the options of the function that was called, with that as the command.
Reply with_code(const Call& call, const std::function<Reply(const CmdOptions&)>& run) {
  CmdOptions options(call);
  const std::string program = options["lang"].python_str();
  if (!which(program)) return command_error(format("[Errno 2] No such file or directory: '{}'", program));
  const JsonDocument command = own_document(written_json([&](JsonWriter& writer) {
    writer.begin_array().string("/bin/sh").string("-c").string(kRunCode).string("exec_code");
    writer.string(options["code"].python_str()).string(program);
    const JsonValue args = options["args"];
    if (args.is(JsonValue::Kind::string)) writer.string(args.text());
    for (const JsonValue arg : args.elements()) writer.string(arg.python_str());
    writer.end_array();
  }));
  for (const string_view name : {"lang", "code", "args", "python_shell"}) options.remove(name);
  options.set("cmd", command.root());
  return run(options);
}

Reply exec_code_all(const Call& call) {
  return with_code(call, [&call](const CmdOptions& options) { return all_of(call, options); });
}

Reply exec_code(const Call& call) {
  return with_code(
      call, [&call](const CmdOptions& options) { return output_of(call, options, &CmdResult::output); });
}

std::optional<std::string> found(const JsonValue& name) {
  return which(name.python_str());
}

Reply which_function(const Call& call) {
  const auto path = found(call.values[0]);
  return Returned{path ? Json::string(*path) : Json()};
}

Reply which_bin(const Call& call) {
  const JsonValue& names = call["cmds"];
  if (!names.is(JsonValue::Kind::array)) return which_function(call);
  for (const JsonValue name : names.elements()) {
    if (const auto path = found(name)) return Returned{Json::string(*path)};
  }
  return Returned{};
}

Reply has_exec(const Call& call) {
  return Returned{Json::boolean(found(call["cmd"]).has_value())};
}

constexpr string_view kRules =
    "``cmd`` is split into words as Python's shlex does; a shell runs it only with ``python_shell=True``.\n"
    "``timeout`` is in seconds; ``runas`` and ``group`` need a process that runs as root.";

constexpr string_view kCodeRules =
    "``args`` is an argument of the program, or a list of them. All that ``cmd.run_all`` takes may follow.";

constexpr Function kFunctions[] = {
    {"cmd.exec_code(lang, code, cwd=None, args=None, **kwargs)", kCodeRules,
     "cmd.exec_code python3 'print(1)'", exec_code, false},
    {"cmd.exec_code_all(lang, code, cwd=None, args=None, **kwargs)", kCodeRules,
     "cmd.exec_code_all python3 'print(1)'", exec_code_all, false},
    {"cmd.has_exec(cmd)", "Return whether there is a program of this name.", "cmd.has_exec cat", has_exec},
    {"cmd.retcode(cmd, cwd=None, stdin=None, runas=None, group=None, shell='/bin/sh', "
     "python_shell=None, env=None, clean_env=False, template=None, umask=None, output_encoding=None, "
     "output_loglevel='debug', log_callback=None, timeout=None, reset_system_locale=True, "
     "ignore_retcode=False, saltenv=None, use_vt=False, password=None, success_retcodes=None, "
     "success_stdout=None, success_stderr=None, **kwargs)",
     kRules, "cmd.retcode 'grep -q root /etc/passwd'", retcode, false},
    {kCmdRunUsage, kRules, "cmd.run 'ls -l /tmp'\ncmd.run 'ls /tmp | wc -l' python_shell=True", run, false},
    {"cmd.run_all(cmd, cwd=None, stdin=None, runas=None, group=None, shell='/bin/sh', "
     "python_shell=None, env=None, clean_env=False, template=None, rstrip=True, umask=None, "
     "output_encoding=None, output_loglevel='debug', log_callback=None, hide_output=False, "
     "timeout=None, reset_system_locale=True, ignore_retcode=False, saltenv=None, use_vt=False, "
     "redirect_stderr=False, password=None, encoded_cmd=False, prepend_path=None, "
     "success_retcodes=None, success_stdout=None, success_stderr=None, **kwargs)",
     kRules, "cmd.run_all 'ls -l /tmp'", run_all, false},
    {"cmd.run_stderr(cmd, cwd=None, stdin=None, runas=None, group=None, shell='/bin/sh', "
     "python_shell=None, env=None, clean_env=False, template=None, rstrip=True, umask=None, "
     "output_encoding=None, output_loglevel='debug', log_callback=None, hide_output=False, "
     "timeout=None, reset_system_locale=True, ignore_retcode=False, saltenv=None, use_vt=False, "
     "password=None, prepend_path=None, success_retcodes=None, success_stdout=None, "
     "success_stderr=None, **kwargs)",
     kRules, "cmd.run_stderr 'ls /nosuch'", run_stderr, false},
    {"cmd.run_stdout(cmd, cwd=None, stdin=None, runas=None, group=None, shell='/bin/sh', "
     "python_shell=None, env=None, clean_env=False, template=None, rstrip=True, umask=None, "
     "output_encoding=None, output_loglevel='debug', log_callback=None, hide_output=False, "
     "timeout=None, reset_system_locale=True, ignore_retcode=False, saltenv=None, use_vt=False, "
     "password=None, prepend_path=None, success_retcodes=None, success_stdout=None, "
     "success_stderr=None, **kwargs)",
     kRules, "cmd.run_stdout 'ls -l /tmp'", run_stdout, false},
    {"cmd.shell(cmd, cwd=None, stdin=None, runas=None, group=None, shell='/bin/sh', env=None, "
     "clean_env=False, template=None, rstrip=True, umask=None, output_encoding=None, "
     "output_loglevel='debug', log_callback=None, hide_output=False, timeout=None, "
     "reset_system_locale=True, ignore_retcode=False, saltenv=None, use_vt=False, bg=False, "
     "password=None, prepend_path=None, success_retcodes=None, success_stdout=None, "
     "success_stderr=None, **kwargs)",
     "As ``cmd.run`` with ``python_shell=True``: a shell runs ``cmd``.", "cmd.shell 'ls /tmp | wc -l'", shell,
     false},
    {"cmd.which(cmd)", "Return the path of a program, or ``None``.", "cmd.which cat", which_function},
    {"cmd.which_bin(cmds)", "Return the path of the first program that is there, or ``None``.",
     "cmd.which_bin '[pip3, pip]'", which_bin},
};

}  // namespace
}  // namespace cmd_module

std::span<const Function> cmd_functions() {
  return cmd_module::kFunctions;
}

}  // namespace rest_fcgi::embedded
