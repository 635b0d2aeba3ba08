// SPDX-License-Identifier: MIT
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "master/embedded/modules/native.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/pattern.h"

namespace rest_fcgi::embedded {
namespace sys_module {
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
  Matching found = modules.all();
  std::erase_if(found, [prefix](const auto* function) { return !function->name().starts_with(prefix); });
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
  return written([&names](JsonWriter& writer) { write_strings(writer, names); });
}

Reply list_functions(const Call& call) {
  const Modules& modules = call.context.engine.modules;
  std::set<std::string_view> names;
  if (call.varargs.empty()) {
    for (const LoadedFunction* function : modules.all()) names.insert(function->name());
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
    for (const LoadedFunction* function : modules.all()) names.insert(function->module());
  }
  for (const JsonValue& name : call.varargs) {
    if (auto raised = complain_unless_text(name)) return *std::move(raised);
    const bool is_pattern = contains(name.text(), "*");
    for (const LoadedFunction* function : modules.all()) {
      const bool matches =
          is_pattern ? glob_match(name.text(), function->name()) : function->module() == name.text();
      if (matches) names.insert(function->module());
    }
  }
  return sorted_names(names);
}

Reply doc(const Call& call) {
  const Modules& modules = call.context.engine.modules;
  std::map<std::string_view, const LoadedFunction*> found;
  if (call.varargs.empty()) {
    for (const LoadedFunction* function : modules.all()) found.emplace(function->name(), function);
  }
  for (const JsonValue& name : call.varargs) {
    if (auto raised = complain_unless_text(name)) return *std::move(raised);
    for (const LoadedFunction* function : by_pattern_or_name(modules, name.text())) {
      found.emplace(function->name(), function);
    }
  }
  return written([&found](JsonWriter& writer) {
    writer.begin_object();
    for (const auto& [name, function] : found) writer.key(name).string(function->doc());
    writer.end_object();
  });
}

Reply argspec(const Call& call) {
  const JsonValue& module = call["module"];
  if (auto raised = complain_unless_text(module)) return *std::move(raised);
  return written([&](JsonWriter& writer) {
    writer.begin_object();
    for (const LoadedFunction* function : by_pattern_or_module(call.context.engine.modules, module.text())) {
      writer.key(function->name()).json(function->argspec());
    }
    writer.end_object();
  });
}

// Not quick: Python may have to be asked which functions there are.
constexpr Function kFunctions[] = {
    {"sys.argspec(module='')",
     "Return which arguments the functions of a module take, or those that a pattern matches.",
     "sys.argspec test.ping\nsys.argspec sys\nsys.argspec 'grains.*'", argspec, false},
    {"sys.doc(*args)",
     "Return the documentation of all functions, or of those that are named: by module, by function\n"
     "or by a pattern.",
     "sys.doc\nsys.doc sys\nsys.doc test.ping grains.get\nsys.doc 'sys.list_*'", doc, false},
    {"sys.list_functions(*args, **kwargs)",
     "Return the names of all functions, or of those in the named modules, or that a pattern matches.",
     "sys.list_functions\nsys.list_functions sys grains\nsys.list_functions 'sys.list_*'", list_functions,
     false},
    {"sys.list_modules(*args)",
     "Return the names of all modules, or of those that are named or that a pattern matches.",
     "sys.list_modules\nsys.list_modules 's*'", list_modules, false},
};

}  // namespace
}  // namespace sys_module

std::span<const Function> sys_functions() {
  return sys_module::kFunctions;
}

}  // namespace rest_fcgi::embedded
