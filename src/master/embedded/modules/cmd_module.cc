// SPDX-License-Identifier: MIT

#include "master/embedded/modules/cmd_program.h"
#include "master/embedded/modules/native.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace cmd_module {
namespace {

struct CmdResult {
  pid_t pid = 0;
  /// `retcode` is 0 if the command succeeded, and 1 after a timeout. Otherwise `retcode` is the exit status,
  /// or the negative number of the signal that ended the command.
  int retcode = 0;
  bool timed_out = false;
  std::string output;
  std::string errors;
};

std::string text_of(std::string text, bool is_cut, const CmdProgram& cmd) {
  // Strips the same ASCII characters as Python's rstrip().
  if (cmd.strip_end) text.resize(text.find_last_not_of(" \t\n\v\f\r\x1c\x1d\x1e\x1f") + 1);
  if (is_cut) text += format("\n[Output truncated: it has more than {} bytes.]", cmd.program.output_limit);
  return text;
}

bool has_any_of(const std::string& text, const std::vector<std::string>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&text](const std::string& part) { return text.find(part) != std::string::npos; });
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
  result.output = text_of(std::move(ended.output), ended.output_cut, cmd);
  result.errors = text_of(std::move(ended.errors), ended.errors_cut, cmd);
  const auto& codes = cmd.success_retcodes;
  const bool is_success = std::find(codes.begin(), codes.end(), ended.code) != codes.end() ||
                          has_any_of(result.output, cmd.success_stdout) ||
                          has_any_of(result.errors, cmd.success_stderr);
  result.retcode = is_success ? 0 : ended.code;
  return result;
}

using Show = Json (*)(const CmdResult& result);

Json show_output(const CmdResult& result) {
  return Json::string(result.output);
}

Json show_errors(const CmdResult& result) {
  return Json::string(result.errors);
}

Json show_retcode(const CmdResult& result) {
  return Json::integer(result.retcode);
}

/// Writes the keys in Salt's order. After a timeout, Salt uses another order.
Json show_all(const CmdResult& result) {
  return written_object([&result](JsonWriter& writer) {
    if (!result.timed_out) writer.key("pid").integer(result.pid).key("retcode").integer(result.retcode);
    writer.key("stdout").string(result.output).key("stderr").string(result.errors);
    if (result.timed_out) writer.key("retcode").integer(result.retcode).key("pid").integer(result.pid);
  });
}

Reply run_cmd(const Call& call, const CmdOptions& options, Show show) {
  const ProgramRunner& programs = call.context.engine.modules.programs();
  auto parsed = parse_cmd_program(options, programs.is_here());
  if (auto* raised = std::get_if<Raised>(&parsed)) return std::move(*raised);
  auto& cmd = std::get<CmdProgram>(parsed);
  cmd.program.time_limit = time_left(call.context, cmd.program.time_limit);
  Result<Ended> ended = programs.run(cmd.program, call.context.stop);
  if (!ended) {
    const Error& error = ended.error();
    if (error.kind == ErrorKind::invocation) return Raised::value_error(error.message);
    return Raised::command_error(format("Unable to run command '{}', reason: {}", cmd.shown, error.message));
  }
  if (ended->how == Ended::How::stopped) return terminated();
  CmdResult result = result_of(cmd, *std::move(ended));
  const bool failed = result.retcode != 0 && !cmd.ignore_retcode;
  if (python_bool(option(options, "hide_output"))) {
    result.output.clear();
    result.errors.clear();
  }
  if (failed && python_bool(option(options, "raise_err"))) return Raised::command_error(result.output);
  return Returned{show(result), failed ? result.retcode : 0};
}

template <Show show>
Reply run(const Call& call) {
  return run_cmd(call, cmd_options(call), show);
}

JsonValue json_true() {
  static const JsonDocument document = own_document(Json::boolean(true));
  return document.root();
}

Reply shell(const Call& call) {
  CmdOptions options = cmd_options(call);
  for (const std::string_view name : {"python_shell", "redirect_stderr"}) {
    if (option(options, name).is(JsonValue::Kind::null)) options[name] = json_true();
  }
  return run_cmd(call, options, show_output);
}

Reply retcode(const Call& call) {
  CmdOptions options = cmd_options(call);
  options["redirect_stderr"] = json_true();
  return run_cmd(call, options, show_retcode);
}

/// A shell script with the arguments CODE and PROGRAM and further arguments. The script writes CODE to a
/// temporary file of the command's user. The script then runs PROGRAM with this file and the further
/// arguments.
constexpr std::string_view kRunCode =
    "umask 077; file=$(mktemp) || exit; trap 'rm -f \"$file\"' 0; trap 'exit 143' 15; "
    "printf %s \"$1\" > \"$file\" || exit; program=$2; shift 2; \"$program\" \"$file\" \"$@\"";

template <Show show>
Reply exec_code(const Call& call) {
  CmdOptions options = cmd_options(call);
  const std::string program = option(options, "lang").python_str();
  if (!which(program))
    return Raised::command_error(format("[Errno 2] No such file or directory: '{}'", program));
  const JsonDocument command = own_document(written_array([&](JsonWriter& writer) {
    writer.string("/bin/sh").string("-c").string(kRunCode).string("exec_code");
    writer.string(option(options, "code").python_str()).string(program);
    const JsonValue args = option(options, "args");
    if (args.is(JsonValue::Kind::string)) writer.string(args.text());
    for (const JsonValue arg : args.elements()) writer.string(arg.python_str());
  }));
  for (const std::string_view name : {"lang", "code", "args", "python_shell"}) options.erase(name);
  options["cmd"] = command.root();
  return run_cmd(call, options, show);
}

Reply which_function(const Call& call) {
  const auto path = which(call.values[0].python_str());
  return Returned{path ? Json::string(*path) : Json()};
}

Reply which_bin(const Call& call) {
  const JsonValue& names = call["cmds"];
  if (!names.is(JsonValue::Kind::array)) return which_function(call);
  for (const JsonValue name : names.elements()) {
    if (const auto path = which(name.python_str())) return Returned{Json::string(*path)};
  }
  return Returned{};
}

Reply has_exec(const Call& call) {
  return Returned{Json::boolean(which(call["cmd"].python_str()).has_value())};
}

constexpr std::string_view kRules =
    "``cmd`` is split into words as Python's shlex does; a shell runs it only with ``python_shell=True``.\n"
    "``timeout`` is in seconds; ``runas`` and ``group`` need a process that runs as root.";

constexpr std::string_view kCodeRules =
    "``args`` is an argument of the program, or a list of them. All arguments of ``cmd.run_all`` are "
    "accepted too.";

constexpr Function kFunctions[] = {
    {"cmd.exec_code(lang, code, cwd=None, args=None, **kwargs)", kCodeRules, exec_code<show_output>,
     "python3 'print(1)'", false},
    {"cmd.exec_code_all(lang, code, cwd=None, args=None, **kwargs)", kCodeRules, exec_code<show_all>,
     "python3 'print(1)'", false},
    {"cmd.has_exec(cmd)", "Return whether there is a program of this name.", has_exec, "cat"},
    {"cmd.retcode(cmd, cwd=None, stdin=None, runas=None, group=None, shell='/bin/sh', "
     "python_shell=None, env=None, clean_env=False, template=None, umask=None, output_encoding=None, "
     "output_loglevel='debug', log_callback=None, timeout=None, reset_system_locale=True, "
     "ignore_retcode=False, saltenv=None, use_vt=False, password=None, success_retcodes=None, "
     "success_stdout=None, success_stderr=None, **kwargs)",
     kRules, retcode, "'grep -q root /etc/passwd'", false},
    {kCmdRunUsage, kRules, run<show_output>, "'ls -l /tmp'\n'ls /tmp | wc -l' python_shell=True", false},
    {"cmd.run_all(cmd, cwd=None, stdin=None, runas=None, group=None, shell='/bin/sh', "
     "python_shell=None, env=None, clean_env=False, template=None, rstrip=True, umask=None, "
     "output_encoding=None, output_loglevel='debug', log_callback=None, hide_output=False, "
     "timeout=None, reset_system_locale=True, ignore_retcode=False, saltenv=None, use_vt=False, "
     "redirect_stderr=False, password=None, encoded_cmd=False, prepend_path=None, "
     "success_retcodes=None, success_stdout=None, success_stderr=None, **kwargs)",
     kRules, run<show_all>, "'ls -l /tmp'", false},
    {"cmd.run_stderr(cmd, cwd=None, stdin=None, runas=None, group=None, shell='/bin/sh', "
     "python_shell=None, env=None, clean_env=False, template=None, rstrip=True, umask=None, "
     "output_encoding=None, output_loglevel='debug', log_callback=None, hide_output=False, "
     "timeout=None, reset_system_locale=True, ignore_retcode=False, saltenv=None, use_vt=False, "
     "password=None, prepend_path=None, success_retcodes=None, success_stdout=None, "
     "success_stderr=None, **kwargs)",
     kRules, run<show_errors>, "'ls /nosuch'", false},
    {"cmd.run_stdout(cmd, cwd=None, stdin=None, runas=None, group=None, shell='/bin/sh', "
     "python_shell=None, env=None, clean_env=False, template=None, rstrip=True, umask=None, "
     "output_encoding=None, output_loglevel='debug', log_callback=None, hide_output=False, "
     "timeout=None, reset_system_locale=True, ignore_retcode=False, saltenv=None, use_vt=False, "
     "password=None, prepend_path=None, success_retcodes=None, success_stdout=None, "
     "success_stderr=None, **kwargs)",
     kRules, run<show_output>, "'ls -l /tmp'", false},
    {"cmd.shell(cmd, cwd=None, stdin=None, runas=None, group=None, shell='/bin/sh', env=None, "
     "clean_env=False, template=None, rstrip=True, umask=None, output_encoding=None, "
     "output_loglevel='debug', log_callback=None, hide_output=False, timeout=None, "
     "reset_system_locale=True, ignore_retcode=False, saltenv=None, use_vt=False, bg=False, "
     "password=None, prepend_path=None, success_retcodes=None, success_stdout=None, "
     "success_stderr=None, **kwargs)",
     "As ``cmd.run`` with ``python_shell=True``: a shell runs ``cmd``.", shell, "'ls /tmp | wc -l'", false},
    {"cmd.which(cmd)", "Return the path of a program, or ``None``.", which_function, "cat"},
    {"cmd.which_bin(cmds)", "Return the path of the first program that exists, or ``None``.", which_bin,
     "'[pip3, pip]'"},
};

}  // namespace
}  // namespace cmd_module

std::span<const Function> cmd_functions() {
  return cmd_module::kFunctions;
}

}  // namespace rest_fcgi::embedded
