// SPDX-License-Identifier: MIT
#include "master/embedded/modules/binding.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "rest_fcgi/core/format.h"
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

class Binder {
 public:
  Binder(const NativeFunction& function, Call& call)
      : function_(function.function_),
        parameters_(function.parameters_),
        defaults_(function.defaults_),
        call_(call),
        given_(parameters_.size()) {}

  /// Absent: all is bound.
  std::optional<Raised> bind(std::span<const JsonValue> positional, std::span<const JsonMember> keywords);

 private:
  Raised complaint(const std::string& what) const {
    const std::string_view name = function_.python_name.empty()
                                      ? function_.name.substr(function_.name.find('.') + 1)
                                      : function_.python_name;
    return Raised::type_error(format("{}() {}", name, what));
  }
  std::optional<Raised> bind_keyword(const JsonMember& member);
  std::optional<Raised> fill_defaults();
  Raised too_many(std::size_t count) const;
  Raised missing(const std::vector<std::string_view>& names) const;

  [[nodiscard]] std::size_t required() const { return parameters_.size() - defaults_.size(); }

  const Function& function_;
  std::span<const Parameter> parameters_;
  std::span<const JsonValue> defaults_;
  Call& call_;
  std::vector<bool> given_;
};

std::optional<Raised> Binder::bind(std::span<const JsonValue> positional,
                                   std::span<const JsonMember> keywords) {
  const std::size_t named = std::min(positional.size(), parameters_.size());
  call_.arguments.assign(positional.begin(), positional.begin() + static_cast<std::ptrdiff_t>(named));
  call_.arguments.resize(parameters_.size());
  std::fill_n(given_.begin(), named, true);
  for (const JsonMember& member : keywords) {
    if (auto raised = bind_keyword(member)) return raised;
  }
  if (positional.size() > named) {
    if (!function_.takes_varargs) return too_many(positional.size());
    call_.varargs.assign(positional.begin() + static_cast<std::ptrdiff_t>(named), positional.end());
  }
  return fill_defaults();
}

std::optional<Raised> Binder::bind_keyword(const JsonMember& member) {
  const auto found =
      std::find_if(parameters_.begin(), parameters_.end(),
                   [&member](const Parameter& parameter) { return parameter.name == member.key; });
  if (found == parameters_.end()) {
    if (!function_.takes_keywords) {
      return complaint(format("got an unexpected keyword argument '{}'", member.key));
    }
    call_.keywords.push_back(member);
    return std::nullopt;
  }
  const auto index = static_cast<std::size_t>(found - parameters_.begin());
  if (given_[index]) return complaint(format("got multiple values for argument '{}'", member.key));
  given_[index] = true;
  call_.arguments[index] = member.value;
  return std::nullopt;
}

std::optional<Raised> Binder::fill_defaults() {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (given_[i]) continue;
    if (i < required()) {
      names.push_back(parameters_[i].name);
    } else {
      call_.arguments[i] = defaults_[i - required()];
    }
  }
  if (names.empty()) return std::nullopt;
  return missing(names);
}

Raised Binder::too_many(std::size_t count) const {
  const std::size_t most = parameters_.size();
  const std::size_t least = required();
  const std::string takes = least == most ? std::to_string(most) : format("from {} to {}", least, most);
  return complaint(format("takes {} positional argument{} but {} {} given", takes,
                          least == 1 && most == 1 ? "" : "s", count, count == 1 ? "was" : "were"));
}

Raised Binder::missing(const std::vector<std::string_view>& names) const {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i != 0) list += names.size() > 2 ? ", " : " ";
    if (i != 0 && i + 1 == names.size()) list += "and ";
    list += format("'{}'", names[i]);
  }
  return complaint(format("missing {} required positional argument{}: {}", names.size(),
                          names.size() == 1 ? "" : "s", list));
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
  Call call{context, {}, {}, {}};
  if (auto raised = Binder(*this, call).bind(args, kwargs)) return *std::move(raised);
  Reply reply = function_.run(call);
  if (auto* returned = std::get_if<Returned>(&reply)) returned->out = function_.out;
  return reply;
}

}  // namespace rest_fcgi::embedded
