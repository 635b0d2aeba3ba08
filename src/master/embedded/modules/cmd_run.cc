// SPDX-License-Identifier: MIT
#include "master/embedded/modules/cmd_run.h"

#include <algorithm>
#include <utility>

#include "master/embedded/modules/cmd_program.h"
#include "master/embedded/modules/loader.h"
#include "master/embedded/modules/replies.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

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

}  // namespace

Json CmdResult::json() const {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  // Salt's own order, which differs.
  if (!timed_out) writer.key("pid").integer(pid).key("retcode").integer(retcode);
  writer.key("stdout").string(output).key("stderr").string(errors);
  if (timed_out) writer.key("retcode").integer(retcode).key("pid").integer(pid);
  writer.end_object();
  return Json::trusted(std::move(text));
}

CmdReply cmd_run(const Call& call, const CmdOptions& options) {
  auto read = read_cmd_program(options);
  if (auto* raised = std::get_if<Raised>(&read)) return std::move(*raised);
  const auto& cmd = std::get<CmdProgram>(read);
  Result<Ended> ended = call.context.engine.modules.programs().run(cmd.program, call.context.stop);
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

JsonValue json_true() {
  static const JsonDocument document = [] {
    JsonDocument made;
    static_cast<void>(made.parse("true").ok());
    return made;
  }();
  return document.root();
}

}  // namespace rest_fcgi::embedded
