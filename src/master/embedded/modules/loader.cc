// SPDX-License-Identifier: MIT
#include "master/embedded/modules/loader.h"

#include <algorithm>
#include <set>
#include <utility>

#include "master/embedded/modules/script_dirs.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/pattern.h"

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

}  // namespace

LoadedFunction::LoadedFunction(std::unique_ptr<const ScriptFunction> script)
    : script_(std::move(script)), function_(&script_->function()), doc_(script_->doc()) {}

LoadedFunction::LoadedFunction(const Function& function)
    : function_(&function), doc_(documentation(function)) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_array();
  for (const Parameter& parameter : parameters_of(function)) {
    if (parameter.name.empty()) break;
    ++parameter_count_;
    if (!parameter.default_json.empty()) writer.raw(parameter.default_json);
  }
  writer.end_array();
  if (text == "[]") return;
  default_values_ = std::make_unique<JsonDocument>();
  if (!default_values_->parse(text)) return;
  for (const JsonValue value : default_values_->root().elements()) defaults_.push_back(value);
}

std::string_view LoadedFunction::module() const noexcept {
  return name().substr(0, name().find('.'));
}

Result<std::shared_ptr<const Modules>> Modules::make(const ModuleOptions& options) {
  Result<std::vector<std::unique_ptr<const ScriptFunction>>> scripts = load_scripts(options);
  if (!scripts) return std::move(scripts).error();
  return std::shared_ptr<const Modules>(new Modules(options, *std::move(scripts)));
}

Modules::Modules(const ModuleOptions& options, std::vector<std::unique_ptr<const ScriptFunction>> scripts)
    : options_(options),
      programs_(options.run_helper.empty() ? shipped("rest_fcgi_run") : options.run_helper) {
  std::set<std::string_view> taken;
  for (const Function* function : builtin_functions()) {
    functions_.emplace_back(*function);
    taken.insert(function->name);
  }
  for (std::unique_ptr<const ScriptFunction>& script : scripts) {
    if (taken.count(script->function().name) == 0) {
      functions_.emplace_back(std::move(script));
    } else {
      log::warning(format("rest_fcgi: embedded: module_dirs: {} is left out: the built-in function {} wins",
                          script->path(), script->function().name));
    }
  }
  std::sort(functions_.begin(), functions_.end(),
            [](const LoadedFunction& a, const LoadedFunction& b) { return a.name() < b.name(); });
}

const LoadedFunction* Modules::find(std::string_view name) const noexcept {
  const auto found = std::lower_bound(
      functions_.begin(), functions_.end(), name,
      [](const LoadedFunction& function, std::string_view n) { return function.name() < n; });
  return found != functions_.end() && found->name() == name ? &*found : nullptr;
}

bool Modules::is_quick(std::string_view name) const noexcept {
  const LoadedFunction* function = find(name);
  return function == nullptr || function->function().quick;
}

std::vector<const LoadedFunction*> Modules::matching(std::string_view pattern) const {
  std::vector<const LoadedFunction*> matching;
  for (const LoadedFunction& function : functions_) {
    if (glob_match(pattern, function.name())) matching.push_back(&function);
  }
  return matching;
}

}  // namespace rest_fcgi::embedded
