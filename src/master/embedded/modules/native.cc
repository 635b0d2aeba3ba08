// SPDX-License-Identifier: MIT
#include "master/embedded/modules/native.h"

#include <algorithm>
#include <map>

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

/// The name that callers use.
std::string_view name_of(const Function& function) {
  const std::string_view name = function.usage.substr(0, function.usage.find_first_of(" ("));
  return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
}

void write_default(JsonWriter& writer, std::string_view python) {
  if (python.starts_with('\'')) {
    writer.string(python.substr(1, python.size() - 2));
  } else {
    writer.raw(python == "None" ? "null" : python == "True" ? "true" : python == "False" ? "false" : python);
  }
}

Json defaults_of(const Signature& signature) {
  return written_json([&signature](JsonWriter& writer) {
    writer.begin_array();
    for (const std::string_view value : signature.defaults) write_default(writer, value);
    writer.end_array();
  });
}

/// What is empty or false is null, as Salt shows it.
Json argspec_of(const Signature& signature) {
  return written_json([&signature](JsonWriter& writer) {
    writer.begin_object().key("args");
    signature.parameters.empty() ? (void)writer.null() : write_strings(writer, signature.parameters);
    writer.key("defaults").json(signature.defaults.empty() ? Json() : defaults_of(signature));
    writer.key("varargs").raw(signature.takes_varargs ? "true" : "null");
    writer.key("kwargs").raw(signature.takes_keywords ? "true" : "null");
    writer.end_object();
  });
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

/// An execution function of this program's own.
class NativeFunction final : public LoadedFunction {
 public:
  explicit NativeFunction(const Function& function)
      : LoadedFunction(std::string(name_of(function)), documentation(function),
                       argspec_of(read_usage(function.usage))),
        function_(function),
        signature_(read_usage(function.usage)),
        default_values_(own_document(defaults_of(signature_))) {
    for (const JsonValue value : default_values_.root().elements()) defaults_.push_back(value);
  }

  [[nodiscard]] bool is_quick() const noexcept override { return function_.quick; }

  /// Errors: invocation, for keyword arguments that the function does not take; as `call`.
  [[nodiscard]] Reply run(const Context& context, std::span<const JsonValue> args,
                          std::span<const JsonMember> kwargs) const override;
  /// Errors: type_error with Python's own sentence where the arguments do not fit; what the function raises.
  [[nodiscard]] Reply call(const Context& context, std::span<const JsonValue> args,
                           std::span<const JsonMember> kwargs) const override;

 private:
  const Function& function_;
  const Signature signature_;
  const JsonDocument default_values_;
  std::vector<JsonValue> defaults_;  // of the last parameters; look into default_values_
};

Reply NativeFunction::run(const Context& context, std::span<const JsonValue> args,
                          std::span<const JsonMember> kwargs) const {
  const Arguments sorted = sort_arguments(args, kwargs);
  if (signature_.takes_keywords) {
    const JsonDocument publication = own_document(written_json([&context](JsonWriter& writer) {
      writer.begin_object();
      write_publication(writer, context.job);
      writer.end_object();
    }));
    Keywords all;
    for (const JsonMember& member : sorted.keywords) all.set(member.key, member.value);
    for (const JsonMember& member : publication.root().members()) all.set(member.key, member.value);
    return call(context, sorted.positional, all.take());
  }
  std::string invalid;
  const auto& known = signature_.parameters;
  for (const JsonMember& member : sorted.keywords) {
    if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
    invalid.append(invalid.empty() ? "" : ", ").append(member.key) += '=' + member.value.python_str();
  }
  if (invalid.empty()) return call(context, sorted.positional, sorted.keywords);
  return Raised{Raised::Kind::invocation, "salt.exceptions.SaltInvocationError",
                "The following keyword arguments are not valid: " + invalid};
}

Reply NativeFunction::call(const Context& context, std::span<const JsonValue> args,
                           std::span<const JsonMember> kwargs) const {
  auto result = python_bind(signature_, args, kwargs);
  if (auto* raised = std::get_if<Raised>(&result)) return std::move(*raised);
  Bound& bound = std::get<Bound>(result);
  for (std::size_t i = signature_.required; i < bound.values.size(); ++i) {
    if (!bound.given[i]) bound.values[i] = defaults_[i - signature_.required];
  }
  Reply reply = function_.run({std::move(bound), context});
  if (auto* returned = std::get_if<Returned>(&reply)) returned->out = function_.out;
  return reply;
}

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

LoadedFunctions native_functions() {
  LoadedFunctions all;
  for (const std::span<const Function> table :
       {cmd_functions(), data_functions(), saltutil_functions(), sys_functions(), test_functions()}) {
    for (const Function& function : table) all.push_back(std::make_unique<const NativeFunction>(function));
  }
  return all;
}

}  // namespace rest_fcgi::embedded
