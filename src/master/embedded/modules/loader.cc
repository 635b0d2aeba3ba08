// SPDX-License-Identifier: MIT
#include "master/embedded/modules/loader.h"

#include <algorithm>

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

// A vector's elements must be able to move as far as its types know; this one is reserved in full and never
// grows, since a LoadedFunction's values look into its own document.
std::vector<LoadedFunction> load() {
  std::vector<const Function*> found;
  for (const auto functions : {test_functions(), sys_functions(), grains_functions()}) {
    for (const Function& function : functions) found.push_back(&function);
  }
  std::sort(found.begin(), found.end(),
            [](const Function* a, const Function* b) { return a->name < b->name; });
  std::vector<LoadedFunction> loaded;
  loaded.reserve(found.size());
  for (const Function* function : found) loaded.emplace_back(*function);
  return loaded;
}

}  // namespace

LoadedFunction::LoadedFunction(const Function& function)
    : function_(&function), doc_(documentation(function)) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_array();
  for (const Parameter& parameter : function.parameters) {
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

std::span<const LoadedFunction> loaded_functions() {
  static const std::vector<LoadedFunction> functions = load();
  return functions;
}

const LoadedFunction* find_function(std::string_view name) {
  const std::span<const LoadedFunction> all = loaded_functions();
  const auto found = std::lower_bound(
      all.begin(), all.end(), name,
      [](const LoadedFunction& function, std::string_view n) { return function.name() < n; });
  return found != all.end() && found->name() == name ? &*found : nullptr;
}

std::vector<const LoadedFunction*> matching_functions(std::string_view pattern) {
  std::vector<const LoadedFunction*> matching;
  for (const LoadedFunction& function : loaded_functions()) {
    if (glob_match(pattern, function.name())) matching.push_back(&function);
  }
  return matching;
}

}  // namespace rest_fcgi::embedded
