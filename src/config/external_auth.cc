// SPDX-License-Identifier: MIT
#include <utility>

#include "config/sections.h"

namespace rest_fcgi::config {
namespace {

constexpr std::string_view kEntries =
    "functions such as test.*, targets such as web*: [test.*], @runner, @wheel or @jobs";
constexpr std::string_view kFunctions =
    "functions such as test.*, or maps such as test.arg: {args: [a], kwargs: {b: c}}";
constexpr std::string_view kPattern = "text, or nothing for any value";

std::string place_of(const Node& node) {
  return format("{}:{}", *node.place.file, node.place.line);
}

/// Reads one `external_auth`. All of the grammar that Salt understands, and an error for what Salt would
/// silently skip: who writes a rule means something by it.
class RuleReader {
 public:
  explicit RuleReader(Mistakes& mistakes) : mistakes_(mistakes) {}

  auth::EauthOptions read_eauth(const Entry& entry) {
    auth::EauthOptions eauth;
    eauth.name = entry.key;
    const std::string path = "external_auth: " + entry.key;
    if (entry.value.is(Kind::null)) return eauth;
    if (!entry.value.is(Kind::map)) {
      mistakes_.unexpected(entry.value, path, "a map from users to lists of functions");
      return eauth;
    }
    for (const Entry& item : entry.value.entries) {
      const std::string item_path = format("{}: {}", path, item.key);
      if (item.key.starts_with('^')) {
        eauth.settings.emplace_back(item.key.substr(1), read_setting(item.value, item_path));
      } else {
        eauth.principals.push_back({item.key, read_rules(item.value, item_path)});
      }
    }
    return eauth;
  }

 private:
  /// A value that is not shown: some back ends have passwords among their settings.
  std::string read_setting(const Node& node, const std::string& path) {
    if (node.is(Kind::list) || node.is(Kind::map) || node.is(Kind::null)) {
      mistakes_.unexpected(node, path, "one value");
    }
    return node.text;
  }

  std::vector<auth::Rule> read_rules(const Node& node, const std::string& path) {
    std::vector<auth::Rule> rules;
    if (!node.is(Kind::list) && !node.is(Kind::null)) {
      mistakes_.unexpected(node, path, format("a list of {}", kEntries));
    }
    for (const Node& item : node.items) {
      if (item.is(Kind::string) && !item.text.empty()) {
        const std::string where = place_of(item);
        rules.push_back(item.text.starts_with('@') ? auth::Rule{item.text, {}, where}
                                                   : auth::Rule{"", {{item.text, {}, where}}, where});
      } else if (item.is(Kind::map) && item.entries.size() == 1 && !item.entries.front().key.empty()) {
        const Entry& scope = item.entries.front();
        rules.push_back(
            {scope.key, read_functions(scope.value, format("{}: {}", path, scope.key)), place_of(item)});
      } else {
        mistakes_.unexpected(item, path, kEntries);
      }
    }
    return rules;
  }

  /// At least one: a rule of an `@` scope without functions allows all of them, which only `- '@runner'` may
  /// say.
  std::vector<auth::FunctionRule> read_functions(const Node& node, const std::string& path) {
    std::vector<auth::FunctionRule> functions;
    if (!node.is(Kind::list)) {
      functions.push_back(read_function(node, path));
      return functions;
    }
    for (const Node& item : node.items) functions.push_back(read_function(item, path));
    if (functions.empty())
      mistakes_.add(node.place, path, format("found an empty list, expected {}", kFunctions));
    return functions;
  }

  auth::FunctionRule read_function(const Node& node, const std::string& path) {
    if (node.is(Kind::string) && !node.text.empty()) return {node.text, {}, place_of(node)};
    if (node.is(Kind::map) && node.entries.size() == 1 && !node.entries.front().key.empty()) {
      const Entry& function = node.entries.front();
      return {function.key, read_conditions(function.value, format("{}: {}", path, function.key)),
              place_of(node)};
    }
    mistakes_.unexpected(node, path, kFunctions);
    return {};
  }

  /// At least one: a function without conditions takes any arguments.
  std::vector<auth::ArgumentCondition> read_conditions(const Node& node, const std::string& path) {
    std::vector<auth::ArgumentCondition> conditions;
    if (!node.is(Kind::list)) {
      conditions.push_back(read_condition(node, path));
      return conditions;
    }
    for (const Node& item : node.items) conditions.push_back(read_condition(item, path));
    if (conditions.empty()) mistakes_.add(node.place, path, "found an empty list, expected args and kwargs");
    return conditions;
  }

  auth::ArgumentCondition read_condition(const Node& node, const std::string& path) {
    auth::ArgumentCondition condition;
    if (!node.is(Kind::map)) {
      mistakes_.unexpected(node, path, "a map such as {args: [a], kwargs: {b: c}}");
      return condition;
    }
    Reader reader(&node, path, mistakes_);
    if (const Node* args = reader.list("args")) {
      for (const Node& arg : args->items) condition.args.push_back(read_pattern(arg, reader.path_to("args")));
    }
    if (const Node* kwargs = reader.map("kwargs")) {
      for (const Entry& kwarg : kwargs->entries) {
        const std::string kwarg_path = format("{}: {}", reader.path_to("kwargs"), kwarg.key);
        condition.kwargs.emplace_back(kwarg.key, read_pattern(kwarg.value, kwarg_path));
      }
    }
    reader.refuse_unknown_keys();
    return condition;
  }

  std::optional<std::string> read_pattern(const Node& node, const std::string& path) {
    if (node.is(Kind::null)) return std::nullopt;
    if (!node.is(Kind::string)) mistakes_.unexpected(node, path, kPattern);
    return node.text;
  }

  Mistakes& mistakes_;
};

}  // namespace

std::vector<auth::EauthOptions> read_external_auth(const Node* external_auth, Mistakes& mistakes) {
  std::vector<auth::EauthOptions> eauths;
  if (external_auth == nullptr) return eauths;
  RuleReader reader(mistakes);
  for (const Entry& entry : external_auth->entries) eauths.push_back(reader.read_eauth(entry));
  return eauths;
}

}  // namespace rest_fcgi::config
