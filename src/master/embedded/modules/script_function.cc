// SPDX-License-Identifier: MIT
#include "master/embedded/modules/script_function.h"

#include <algorithm>
#include <utility>

#include "master/embedded/host/host_text.h"
#include "master/embedded/modules/loader.h"
#include "master/embedded/modules/replies.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::embedded {
namespace {

constexpr std::size_t kShownErrors = 2048;  // bytes of standard error; its end says most

std::string_view end_of(std::string_view text) {
  const std::string_view whole = stripped(text);
  return whole.substr(whole.size() - std::min(whole.size(), kShownErrors));
}

std::string input_for(const Call& call) {
  const auto& [engine, minion, job, stop] = call.context;
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("id").string(minion.id).key("fun").string(job.fun);
  writer.key("arg").begin_array();
  for (const JsonValue& arg : call.varargs) arg.write(writer);
  writer.end_array().key("kwarg").begin_object();
  for (const JsonMember& keyword : call.keywords) {
    // What Salt tells functions about their job stands beside the arguments here.
    if (!keyword.key.starts_with("__pub_")) keyword.value.write(writer.key(keyword.key));
  }
  writer.end_object().key("jid").string(job.jid);
  minion.grains.root().write(writer.key("grains"));
  minion.pillar.root().write(writer.key("pillar"));
  writer.end_object();
  return text + "\n";
}

Function table_entry(std::string_view name) {
  Function entry;
  entry.name = name;
  entry.python_name = name.substr(name.find('.') + 1);
  entry.takes_varargs = true;
  entry.takes_keywords = true;
  entry.quick = false;
  return entry;
}

}  // namespace

ScriptFunction::ScriptFunction(std::string name, std::string path, std::string doc,
                               const ScriptSettings& settings)
    : name_(std::move(name)),
      path_(std::move(path)),
      doc_(std::move(doc)),
      settings_(settings),
      function_(table_entry(name_)) {}

Reply ScriptFunction::run(const Call& call) const {
  Program program;
  program.argv = {path_};
  program.environment = settings_.environment;
  program.identity = settings_.identity;
  program.time_limit = settings_.timeout;
  program.input = input_for(call);
  const Result<Ended> ended = call.context.engine.modules.programs().run(program, call.context.stop);
  if (!ended) return failed("cannot be run", ended.error().message, 1);
  return reply_to(*ended);
}

Reply ScriptFunction::reply_to(const Ended& ended) const {
  const std::string_view errors = end_of(ended.errors);
  switch (ended.how) {
    case Ended::How::stopped:
      return terminated();
    case Ended::How::timed_out: {
      const double seconds = std::chrono::duration<double>(settings_.timeout).count();
      return failed(format("took longer than {} seconds and was ended", seconds), errors, 1);
    }
    case Ended::How::killed:
      return failed(format("was ended by signal {}", -ended.code), errors, ended.code);
    case Ended::How::exited:
      break;
  }
  if (ended.code != 0) return failed(format("ended with exit status {}", ended.code), errors, ended.code);
  if (ended.output_cut) {
    return failed(format("printed more than {} bytes", ended.output.size()), errors, 1);
  }
  if (!errors.empty()) log::warning(format("{} wrote to standard error: {}", name_, errors));
  const std::string_view output = stripped(ended.output);
  if (output.empty()) return Returned{Json()};
  JsonDocument document;
  const Result<void> parsed = document.parse(output);
  if (!parsed) return failed("printed what is no JSON value", parsed.error().message, 1);
  return Returned{document.root().json()};
}

Reply ScriptFunction::failed(const std::string& what, std::string_view errors, int retcode) const {
  return Returned{
      Json::string(format("The script {} {}{}{}", name_, what, errors.empty() ? "." : ": ", errors)),
      retcode};
}

}  // namespace rest_fcgi::embedded
