// SPDX-License-Identifier: MIT
#include "master/embedded/modules/binding.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "master/embedded/python/python.h"
#include "rest_fcgi/lowstate/master_arguments.h"

namespace rest_fcgi::embedded {
namespace {

void append_lines(std::string& out, std::string_view lines, std::string_view indent) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    out.append(line.empty() ? "" : indent).append(line).append("\n");
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

std::string documentation(const Function& function) {
  std::string out = "\n";
  append_lines(out, function.summary, "    ");
  out += "\n    CLI Example:\n\n";
  append_lines(out, function.example, "        salt '*' ");
  return out + "    ";
}

std::span<const Parameter> parameters_of(const Function& function) {
  const std::span<const Parameter> all =
      function.long_parameters.empty() ? std::span(function.parameters) : function.long_parameters;
  const auto end =
      std::find_if(all.begin(), all.end(), [](const Parameter& one) { return one.name.empty(); });
  return {all.begin(), end};
}

/// The defaults of the parameters that have one, as a JSON array.
std::string defaults_json(std::span<const Parameter> parameters) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_array();
  for (const Parameter& parameter : parameters) {
    if (!parameter.default_json.empty()) writer.raw(parameter.default_json);
  }
  writer.end_array();
  return text;
}

/// What is empty or false is null, as Salt shows it.
Json argspec_of(const Function& function) {
  const auto parameters = parameters_of(function);
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("args");
  if (parameters.empty()) {
    writer.null();
  } else {
    writer.begin_array();
    for (const Parameter& parameter : parameters) writer.string(parameter.name);
    writer.end_array();
  }
  const std::string defaults = defaults_json(parameters);
  writer.key("defaults").raw(defaults == "[]" ? "null" : defaults);
  writer.key("varargs").raw(function.takes_varargs ? "true" : "null");
  writer.key("kwargs").raw(function.takes_keywords ? "true" : "null");
  writer.end_object();
  return Json::trusted(std::move(text));
}

/// Keyword arguments in the making: one that came before keeps its place and gets the new value, as in a
/// Python dictionary.
class Keywords {
 public:
  void set(std::string_view name, const JsonValue& value) {
    const auto [place, is_new] = places_.try_emplace(name, members_.size());
    if (is_new) {
      members_.push_back({name, value});
    } else {
      members_[place->second].value = value;
    }
  }
  [[nodiscard]] std::vector<JsonMember> take() { return std::move(members_); }

 private:
  std::vector<JsonMember> members_;
  std::map<std::string_view, std::size_t> places_;  // no hash table: callers choose the keys
};

}  // namespace

Arguments sort_arguments(std::span<const JsonValue> args, std::span<const JsonMember> kwargs) {
  Arguments arguments;
  std::vector<std::string_view> names;
  std::string derived;
  for (const JsonValue& arg : args) {
    const auto keyword = lowstate::split_keyword(arg.is(JsonValue::Kind::string) ? arg.text() : "");
    if (!keyword) {
      arguments.positional.push_back(arg);
      continue;
    }
    names.push_back(keyword->first);
    derived.append(derived.empty() ? "" : ",").append(lowstate::yamlify_scalar(keyword->second).text());
  }
  Keywords keywords;
  if (!names.empty()) {
    arguments.derived = std::make_unique<JsonDocument>();
    (void)arguments.derived->parse("[" + derived + "]", JsonLimits::none());  // written just now
    auto name = names.begin();
    for (const JsonValue value : arguments.derived->root().elements()) keywords.set(*name++, value);
  }
  for (const JsonMember& member : kwargs) keywords.set(member.key, member.value);
  arguments.keywords = keywords.take();
  return arguments;
}

void write_publication(JsonWriter& writer, const JobContext& job) {
  writer.key("__pub_fun").string(job.fun);
  writer.key("__pub_arg").raw(job.arg_json);
  writer.key("__pub_tgt").raw(job.tgt_json);
  writer.key("__pub_jid").string(job.jid);
  writer.key("__pub_ret").string(job.ret);
  writer.key("__pub_tgt_type").string(job.tgt_type);
  writer.key("__pub_user").string(job.user);
}

NativeFunction::NativeFunction(const Function& function)
    : LoadedFunction(std::string(function.name), documentation(function), argspec_of(function)),
      function_(function),
      parameters_(parameters_of(function)) {
  (void)default_values_.parse(defaults_json(parameters_));  // JSON of this program's own
  for (const JsonValue value : default_values_.root().elements()) defaults_.push_back(value);
}

Reply NativeFunction::run(const Context& context, std::span<const JsonValue> args,
                          std::span<const JsonMember> kwargs) const {
  Arguments sorted = sort_arguments(args, kwargs);
  JsonDocument publication;
  if (function_.takes_keywords) {
    std::string text;
    JsonWriter writer(text);
    writer.begin_object();
    write_publication(writer, context.job);
    writer.end_object();
    (void)publication.parse(text, JsonLimits::none());  // written just now
    Keywords all;
    for (const JsonMember& member : sorted.keywords) all.set(member.key, member.value);
    for (const JsonMember& member : publication.root().members()) all.set(member.key, member.value);
    sorted.keywords = all.take();
    return call(context, sorted.positional, sorted.keywords);
  }
  std::string invalid;
  for (const JsonMember& member : sorted.keywords) {
    const bool known = std::any_of(parameters_.begin(), parameters_.end(),
                                   [&member](const Parameter& one) { return one.name == member.key; });
    if (known) continue;
    invalid.append(invalid.empty() ? "" : ", ").append(member.key) += '=' + member.value.python_str();
  }
  if (invalid.empty()) return call(context, sorted.positional, sorted.keywords);
  return Raised{Raised::Kind::invocation, "salt.exceptions.SaltInvocationError",
                "The following keyword arguments are not valid: " + invalid};
}

Reply NativeFunction::call(const Context& context, std::span<const JsonValue> args,
                           std::span<const JsonMember> kwargs) const {
  const std::string_view name = function_.name.substr(function_.name.find('.') + 1);
  Signature signature{function_.python_name.empty() ? name : function_.python_name,
                      {},
                      parameters_.size() - defaults_.size(),
                      function_.takes_varargs,
                      function_.takes_keywords};
  for (const Parameter& parameter : parameters_) signature.parameters.push_back(parameter.name);
  auto result = python_bind(signature, args, kwargs);
  if (auto* raised = std::get_if<Raised>(&result)) return std::move(*raised);
  Bound& bound = std::get<Bound>(result);
  for (std::size_t i = signature.required; i < bound.values.size(); ++i) {
    if (!bound.given[i]) bound.values[i] = defaults_[i - signature.required];
  }
  Reply reply =
      function_.run({context, std::move(bound.values), std::move(bound.varargs), std::move(bound.keywords)});
  if (auto* returned = std::get_if<Returned>(&reply)) returned->out = function_.out;
  return reply;
}

}  // namespace rest_fcgi::embedded
