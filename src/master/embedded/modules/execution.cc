// SPDX-License-Identifier: MIT
#include "master/embedded/execution.h"

#include <utility>
#include <variant>

#include "master/embedded/modules/loader.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

/// Salt counts an object whose `result` or `success` is false as a failure, whatever function returned it.
bool reports_failure(const Json& value) {
  const std::string& text = value.text();
  if (!text.starts_with('{')) return false;
  if (text.find("\"result\"") == std::string::npos && text.find("\"success\"") == std::string::npos)
    return false;
  JsonDocument document;
  if (!document.parse(text, JsonLimits::none())) return false;
  for (const std::string_view key : {"result", "success"}) {
    const std::optional<JsonValue> verdict = document.root().find(key);
    if (verdict && !python_bool(*verdict)) return true;
  }
  return false;
}

/// A minion's words for what was raised.
std::string failure_text(const LoadedFunction& function, const Raised& raised) {
  switch (raised.kind) {
    case Raised::Kind::type_error:
      return format("Passed invalid arguments to {}: {}\n{}", function.name(), raised.message,
                    function.doc());
    case Raised::Kind::invocation:
      return format("ERROR executing '{}': {}", function.name(), raised.message);
    case Raised::Kind::command:
      return "ERROR: " + raised.message;
    case Raised::Kind::command_not_found:
      return format("Command required for '{}' not found: {}", function.name(), raised.message);
    case Raised::Kind::exception:
      return "The minion function caused an exception: " + raised.line();
    case Raised::Kind::worded:
    case Raised::Kind::unavailable:
    case Raised::Kind::interrupted:
      return raised.message;
  }
  return raised.message;
}

Outcome failure(Json text) {
  return {std::move(text), 1, false, "nested"};
}

/// Salt answers the beginning of a name with what it could have meant.
Outcome not_available(const Modules& modules, std::string_view fun, const std::string& why) {
  const Json sentence = Json::string(why.empty() ? modules.missing(fun) : why);
  const auto similar = modules.matching(std::string(fun) + "*");
  if (similar.empty()) return failure(sentence);
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const LoadedFunction* function : similar) writer.key(function->name()).string(function->doc());
  writer.key(fun).json(sentence).end_object();
  return failure(Json::trusted(std::move(text)));
}

}  // namespace

Outcome execute(const Engine& engine, const Minion& minion, std::string_view fun,
                std::span<const JsonValue> args, std::span<const JsonMember> kwargs, const JobContext& job,
                const std::stop_token& stop) {
  const LoadedFunction* function = engine.modules.find(fun);
  if (function == nullptr) return not_available(engine.modules, fun, "");
  Reply reply = function->run({engine, minion, job, stop}, args, kwargs);
  if (const auto* raised = std::get_if<Raised>(&reply)) {
    if (raised->kind == Raised::Kind::unavailable) return not_available(engine.modules, fun, raised->message);
    Outcome outcome = failure(Json::string(failure_text(*function, *raised)));
    // The function said nothing: its job was stopped, which looks the same however far it had come.
    if (raised->kind == Raised::Kind::interrupted) outcome.out.clear();
    return outcome;
  }
  auto& returned = std::get<Returned>(reply);
  if (returned.retcode == 0 && reports_failure(returned.value)) returned.retcode = 1;
  return {std::move(returned.value), returned.retcode, returned.retcode == 0, std::move(returned.out)};
}

}  // namespace rest_fcgi::embedded
