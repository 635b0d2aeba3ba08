// SPDX-License-Identifier: MIT
#include <array>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "master/embedded/modules/loader.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/pattern.h"

namespace rest_fcgi::embedded {
namespace {

using Matching = std::vector<const LoadedFunction*>;

/// What Python says when it looks for `*` in something that is no text.
std::optional<Raised> complain_unless_text(const JsonValue& name) {
  switch (name.kind()) {
    case JsonValue::Kind::string:
      return std::nullopt;
    case JsonValue::Kind::array:
      return Raised::type_error("can only concatenate list (not \"str\") to list");
    case JsonValue::Kind::object:
      return Raised::type_error("unsupported operand type(s) for +: 'dict' and 'str'");
    default:
      return Raised::type_error(format("argument of type '{}' is not iterable", name.type_name()));
  }
}

bool contains(std::string_view text, std::string_view characters) {
  return text.find_first_of(characters) != std::string_view::npos;
}

/// Functions by name, or by the start of their names.
Matching starting_with(const Modules& modules, std::string_view prefix) {
  Matching found;
  for (const LoadedFunction& function : modules.all()) {
    if (function.name().starts_with(prefix)) found.push_back(&function);
  }
  return found;
}

/// How `list_functions` and `argspec` read a name: a pattern, or a module.
Matching by_pattern_or_module(const Modules& modules, std::string_view name) {
  return contains(name, "*.") ? modules.matching(name) : starting_with(modules, std::string(name) + ".");
}

/// How `doc` reads a name: a pattern, a function, or a module with or without its dot; all where it is empty.
Matching by_pattern_or_name(const Modules& modules, std::string_view name) {
  if (contains(name, "*")) return modules.matching(name);
  if (const LoadedFunction* function = modules.find(name)) return {function};
  return starting_with(modules,
                       name.empty() || name.ends_with('.') ? std::string(name) : std::string(name) + ".");
}

Reply sorted_names(const std::set<std::string_view>& names) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_array();
  for (const std::string_view name : names) writer.string(name);
  writer.end_array();
  return Returned{Json::trusted(std::move(text))};
}

Reply list_functions(const Call& call) {
  const Modules& modules = call.context.engine.modules;
  std::set<std::string_view> names;
  if (call.varargs.empty()) {
    for (const LoadedFunction& function : modules.all()) names.insert(function.name());
  }
  for (const JsonValue& name : call.varargs) {
    if (auto raised = complain_unless_text(name)) return *std::move(raised);
    for (const LoadedFunction* function : by_pattern_or_module(modules, name.text()))
      names.insert(function->name());
  }
  return sorted_names(names);
}

Reply list_modules(const Call& call) {
  const Modules& modules = call.context.engine.modules;
  std::set<std::string_view> names;
  if (call.varargs.empty()) {
    for (const LoadedFunction& function : modules.all()) names.insert(function.module());
  }
  for (const JsonValue& name : call.varargs) {
    if (auto raised = complain_unless_text(name)) return *std::move(raised);
    const bool is_pattern = contains(name.text(), "*");
    for (const LoadedFunction& function : modules.all()) {
      const bool matches =
          is_pattern ? glob_match(name.text(), function.name()) : function.module() == name.text();
      if (matches) names.insert(function.module());
    }
  }
  return sorted_names(names);
}

Reply doc(const Call& call) {
  const Modules& modules = call.context.engine.modules;
  std::set<const LoadedFunction*>
      found;  // they stand in one array, so that their addresses sort as their names do
  if (call.varargs.empty()) {
    for (const LoadedFunction& function : modules.all()) found.insert(&function);
  }
  for (const JsonValue& name : call.varargs) {
    if (auto raised = complain_unless_text(name)) return *std::move(raised);
    const Matching matching = by_pattern_or_name(modules, name.text());
    found.insert(matching.begin(), matching.end());
  }
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const LoadedFunction* function : found) writer.key(function->name()).string(function->doc());
  writer.end_object();
  return Returned{Json::trusted(std::move(text))};
}

/// True, or null where false: the only two values that Salt shows here.
void write_true_or_null(JsonWriter& writer, bool value) {
  if (value) {
    writer.boolean(true);
  } else {
    writer.null();
  }
}

void write_argspec(JsonWriter& writer, const LoadedFunction& function) {
  writer.begin_object().key("args");
  if (function.parameters().empty()) {
    writer.null();
  } else {
    writer.begin_array();
    for (const Parameter& parameter : function.parameters()) writer.string(parameter.name);
    writer.end_array();
  }
  writer.key("defaults");
  if (function.defaults().empty()) {
    writer.null();
  } else {
    writer.begin_array();
    for (const JsonValue& value : function.defaults()) value.write(writer);
    writer.end_array();
  }
  writer.key("varargs");
  write_true_or_null(writer, function.function().takes_varargs);
  writer.key("kwargs");
  write_true_or_null(writer, function.function().takes_keywords);
  writer.end_object();
}

Reply argspec(const Call& call) {
  const JsonValue& module = call.arguments[0];
  if (auto raised = complain_unless_text(module)) return *std::move(raised);
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const LoadedFunction* function : by_pattern_or_module(call.context.engine.modules, module.text())) {
    writer.key(function->name());
    write_argspec(writer, *function);
  }
  writer.end_object();
  return Returned{Json::trusted(std::move(text))};
}

constexpr std::array kFunctions = {
    Function{
        .name = "sys.argspec",
        .python_name = "argspec",
        .parameters = {{{"module", R"("")"}}},
        .summary = "Return which arguments the functions of a module take, or those that a pattern matches.",
        .example = "sys.argspec test.ping\nsys.argspec sys\nsys.argspec 'grains.*'",
        .run = argspec},
    Function{
        .name = "sys.doc",
        .python_name = "doc",
        .takes_varargs = true,
        .summary =
            "Return the documentation of all functions, or of those that are named: by module, by function\n"
            "or by a pattern.",
        .example = "sys.doc\nsys.doc sys\nsys.doc test.ping grains.get\nsys.doc 'sys.list_*'",
        .run = doc},
    Function{
        .name = "sys.list_functions",
        .python_name = "list_functions",
        .takes_varargs = true,
        .takes_keywords = true,
        .summary =
            "Return the names of all functions, or of those in the named modules, or that a pattern matches.",
        .example = "sys.list_functions\nsys.list_functions sys grains\nsys.list_functions 'sys.list_*'",
        .run = list_functions},
    Function{
        .name = "sys.list_modules",
        .python_name = "list_modules",
        .takes_varargs = true,
        .summary = "Return the names of all modules, or of those that are named or that a pattern matches.",
        .example = "sys.list_modules\nsys.list_modules 's*'",
        .run = list_modules},
};

}  // namespace

std::span<const Function> sys_functions() {
  return kFunctions;
}

}  // namespace rest_fcgi::embedded
