// SPDX-License-Identifier: MIT
#include "master/embedded/modules/native.h"

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/helper_process.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::embedded {
namespace {

std::string_view name_of(const Function& function) {
  const std::string_view name = function.usage.substr(0, function.usage.find_first_of(" ("));
  return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
}

std::string documentation(const Function& function) {
  std::string out = "\n";
  for (const std::string_view line : split(function.summary, "\n")) out += format("    {}\n", line);
  out += "\n    CLI Example:\n\n";
  for (const std::string_view arguments : split(function.example, "\n")) {
    out += format("        salt '*' {}{}{}\n", name_of(function), arguments.empty() ? "" : " ", arguments);
  }
  return out + "    ";
}

Json defaults_of(const Signature& signature) {
  return written_array([&signature](JsonWriter& writer) {
    for (const std::string_view value : signature.defaults) {
      if (value.starts_with('\'')) {
        writer.string(value.substr(1, value.size() - 2));
      } else {
        writer.raw(value == "None" ? "null" : value == "True" ? "true" : value == "False" ? "false" : value);
      }
    }
  });
}

/// Returns a function's entry in `sys.argspec`. Like Salt, writes null for empty lists and for false.
Json argspec_of(const Signature& signature) {
  return written_object([&signature](JsonWriter& writer) {
    writer.key("args");
    signature.parameters.empty() ? (void)writer.null() : write_strings(writer, signature.parameters);
    writer.key("defaults").json(signature.defaults.empty() ? Json() : defaults_of(signature));
    writer.key("varargs").raw(signature.takes_varargs ? "true" : "null");
    writer.key("kwargs").raw(signature.takes_keywords ? "true" : "null");
  });
}

struct Native {
  explicit Native(const Function& its_function)
      : function(its_function),
        signature(parse_usage(function.usage)),
        default_values(own_document(defaults_of(signature))) {
    for (const JsonValue value : default_values.root().elements()) defaults.push_back(value);
  }

  [[nodiscard]] Reply run(const Context& context, std::span<const JsonValue> args,
                          std::span<const JsonMember> kwargs) const;
  [[nodiscard]] Reply call(const Context& context, std::span<const JsonValue> args,
                           std::span<const JsonMember> kwargs) const;

  const Function& function;
  const Signature signature;
  const JsonDocument default_values;
  // The default values of the last parameters. They borrow from `default_values`.
  std::vector<JsonValue> defaults;
};

Reply Native::run(const Context& context, std::span<const JsonValue> args,
                  std::span<const JsonMember> kwargs) const {
  const lowstate::Arguments sorted = lowstate::sort_arguments(args, kwargs);
  if (signature.takes_keywords) {
    const JsonDocument publication = own_document(
        written_object([&context](JsonWriter& writer) { write_publication(writer, context.job); }));
    std::vector<JsonMember> keywords = sorted.keywords;
    for (const JsonMember member : publication.root().members()) keywords.push_back(member);
    return call(context, sorted.positional, lowstate::merge_equal_keys(keywords));
  }
  std::vector<std::string> invalid;
  const auto& known = signature.parameters;
  for (const auto& [key, value] : sorted.keywords) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    invalid.push_back(std::string(key) + '=' + value.python_str());
  }
  if (invalid.empty()) return call(context, sorted.positional, sorted.keywords);
  return Raised::invocation_error("The following keyword arguments are not valid: " + joined(invalid));
}

Reply Native::call(const Context& context, std::span<const JsonValue> args,
                   std::span<const JsonMember> kwargs) const {
  auto result = python_bind(signature, args, kwargs);
  if (auto* raised = std::get_if<Raised>(&result)) return std::move(*raised);
  auto& bound = std::get<BoundArguments>(result);
  for (std::size_t i = signature.required; i < bound.values.size(); ++i) {
    if (!bound.given[i]) bound.values[i] = defaults[i - signature.required];
  }
  Reply reply = function.run({std::move(bound), context});
  if (auto* returned = std::get_if<Returned>(&reply)) returned->out = function.out;
  return reply;
}

JsonDocument read_minion_options() {
  const std::string path = shipped("minion_options.json");
  JsonDocument options;
  const Result<void> parsed = options.parse(read_text(path).value_or(""));
  if (!parsed)
    log::warning(format("{}: cannot read the options of minions: {}", path, parsed.error().message));
  return options;
}

}  // namespace

void write_publication(JsonWriter& writer, const JobContext& job) {
  writer.key("__pub_fun").string(job.fun);
  lowstate::write_arguments(writer.key("__pub_arg"), job.published);
  writer.key("__pub_tgt").raw(job.tgt_json);
  writer.key("__pub_jid").string(job.jid);
  writer.key("__pub_ret").string(job.ret);
  writer.key("__pub_tgt_type").string(job.tgt_type);
  writer.key("__pub_user").string(job.user);
}

void write_minion_options(JsonWriter& writer, std::string_view id) {
  static const JsonDocument options = read_minion_options();
  writer.key("id").string(id);
  for (const auto& [key, value] : options.root().members()) value.write(writer.key(key));
}

std::vector<std::string> native_names(std::string_view module) {
  std::vector<std::string> names;
  for (const LoadedFunction& function : native_functions()) {
    if (function.module() == module) names.push_back(function.name);
  }
  return names;
}

LoadedFunctions native_functions() {
  LoadedFunctions all;
  for (const std::span<const Function> table :
       {cmd_functions(), data_functions(), engine_functions(), stub_functions(), test_functions()}) {
    for (const Function& function : table) {
      const auto native = std::make_shared<const Native>(function);
      all.push_back({std::string(name_of(function)), documentation(function), argspec_of(native->signature),
                     std::bind_front(&Native::call, native), std::bind_front(&Native::run, native),
                     function.is_quick});
    }
  }
  return all;
}

}  // namespace rest_fcgi::embedded
