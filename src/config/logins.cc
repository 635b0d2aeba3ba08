// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

#include "config/sections.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::config {
namespace {

constexpr std::string_view kEntries =
    "functions such as test.*, targets such as web*: [test.*], @runner, @wheel or @jobs";
constexpr std::string_view kFunctions =
    "functions such as test.*, or maps such as test.arg: {args: [a], kwargs: {b: c}}";
constexpr std::string_view kPattern = "text, or nothing for any value";

/// A function that receives each mistake in `external_auth`.
using Complain = std::function<void(const Error&)>;

std::string place_of(const Node& node) {
  return format("{}:{}", *node.place.file, node.place.line);
}

/// Reports a mistake if Salt would skip the rule silently. Borrows `findings`.
class RuleReader {
 public:
  explicit RuleReader(Findings& findings) : findings_(findings) {}

  auth::Rule read(const Node& item, const std::string& path) {
    const std::string where = place_of(item);
    if (item.is(Kind::string) && !item.text.empty()) {
      return item.text.starts_with('@') ? auth::Rule{item.text, {}, where}
                                        : auth::Rule{"", {{item.text, {}, where}}, where};
    }
    if (item.is(Kind::map) && item.entries.size() == 1 && trimmed(item.entries.front().key).empty()) {
      findings_.add(item.place, path, "found an empty target, expected a target such as web*, or @runner");
      return {};
    }
    if (item.is(Kind::map) && item.entries.size() == 1) {
      const Entry& scope = item.entries.front();
      return {scope.key, read_functions(scope.value, format("{}: {}", path, scope.key)), where};
    }
    findings_.unexpected(item, path, kEntries);
    return {};
  }

 private:
  /// A value that is not a list counts as one item. An empty list is a mistake.
  template <class Part, class ReadOne>
  std::vector<Part> read_each(const Node& node, const std::string& path, std::string_view expected,
                              const ReadOne& read_one) {
    if (!node.is(Kind::list)) return {read_one(node)};
    std::vector<Part> parts;
    for (const Node& item : node.items) parts.push_back(read_one(item));
    if (parts.empty()) findings_.add(node.place, path, format("found an empty list, expected {}", expected));
    return parts;
  }

  /// An empty list is a mistake, because in a scope such as `@runner` an empty list would allow all
  /// functions.
  std::vector<auth::FunctionRule> read_functions(const Node& node, const std::string& path) {
    return read_each<auth::FunctionRule>(node, path, kFunctions,
                                         [&](const Node& item) { return read_function(item, path); });
  }

  auth::FunctionRule read_function(const Node& node, const std::string& path) {
    if (node.is(Kind::string) && !node.text.empty()) return {node.text, {}, place_of(node)};
    if (node.is(Kind::map) && node.entries.size() == 1 && !node.entries.front().key.empty()) {
      const Entry& function = node.entries.front();
      return {function.key, read_conditions(function.value, format("{}: {}", path, function.key)),
              place_of(node)};
    }
    findings_.unexpected(node, path, kFunctions);
    return {};
  }

  /// An empty list is a mistake, because an empty list would allow all arguments.
  std::vector<auth::ArgumentCondition> read_conditions(const Node& node, const std::string& path) {
    return read_each<auth::ArgumentCondition>(node, path, "args and kwargs",
                                              [&](const Node& item) { return read_condition(item, path); });
  }

  auth::ArgumentCondition read_condition(const Node& node, const std::string& path) {
    auth::ArgumentCondition condition;
    if (!node.is(Kind::map)) {
      findings_.unexpected(node, path, "a map such as {args: [a], kwargs: {b: c}}");
      return condition;
    }
    Reader reader(&node, path, findings_);
    const Node* args = reader.value("args");
    if (args != nullptr && !args->is(Kind::null)) args = reader.list("args");
    if (args != nullptr) {
      for (const Node& arg : args->items) condition.args.push_back(read_pattern(arg, reader.path_to("args")));
    }
    if (const Node* kwargs = reader.map("kwargs")) {
      for (const Entry& kwarg : kwargs->entries) {
        const std::string kwarg_path = format("{}: {}", reader.path_to("kwargs"), kwarg.key);
        condition.kwargs.emplace_back(kwarg.key, read_pattern(kwarg.value, kwarg_path));
      }
    }
    reader.flag("others", condition.others);
    reader.refuse_unknown_keys();
    return condition;
  }

  std::optional<std::string> read_pattern(const Node& node, const std::string& path) {
    if (node.is(Kind::null)) return std::nullopt;
    if (!node.is(Kind::string)) findings_.unexpected(node, path, kPattern);
    return node.text;
  }

  Findings& findings_;
};

/// If a part of a rule is wrong, drops the whole rule, because the rest of the rule could allow more calls.
/// Keeps the user of a dropped rule, because otherwise the rules of the user `*` would apply to this user.
/// Borrows `complain`.
class EauthReader {
 public:
  EauthReader(const Complain& complain, bool with_settings)
      : complain_(complain), with_settings_(with_settings) {}

  auth::EauthOptions read(const Entry& entry) const {
    auth::EauthOptions eauth{entry.key, {}, {}};
    const std::string path = "external_auth: " + entry.key;
    if (!entry.value.is(Kind::map) && !is_empty(entry.value)) {
      unexpected(entry.value, path, "a map from users to lists of functions");
    }
    for (const Entry& item : entry.value.entries) {
      const std::string item_path = format("{}: {}", path, item.key);
      if (item.key.starts_with('^')) {
        if (with_settings_ && !is_empty(item.value))
          eauth.settings.emplace_back(item.key.substr(1), read_setting(item.value, item_path));
      } else {
        eauth.principals.push_back({item.key, read_rules(item.value, item_path)});
      }
    }
    return eauth;
  }

  void unexpected(const Node& found, std::string_view path, std::string_view expected) const {
    Findings findings;
    findings.unexpected(found, path, expected);
    complain_(*findings.mistake());
  }

 private:
  /// Messages do not show the value of the setting.
  std::string read_setting(const Node& node, const std::string& path) const {
    if (node.is(Kind::list) || node.is(Kind::map)) {
      unexpected(node, path, "one value");
    }
    return node.text;
  }

  std::vector<auth::Rule> read_rules(const Node& node, const std::string& path) const {
    std::vector<auth::Rule> rules;
    if (!node.is(Kind::list) && !is_empty(node)) {
      unexpected(node, path, format("a list of {}", kEntries));
    }
    for (const Node& item : node.items) {
      if (item.is(Kind::null)) continue;
      Findings findings;
      auth::Rule rule = RuleReader(findings).read(item, path);
      if (findings.mistake()) {
        complain_(*findings.mistake());
      } else {
        rules.push_back(std::move(rule));
      }
    }
    return rules;
  }

  const Complain& complain_;
  const bool with_settings_;
};

void read_login_guard(Reader guard, auth::LoginGuardOptions& options) {
  constexpr std::int64_t kDayInSeconds = 86400;
  std::size_t tries = options.tries;
  std::size_t address_tries = options.address_tries;
  guard.count("tries", tries, {0, 1000});
  guard.count("address_tries", address_tries, {1, 4000});
  options.tries = static_cast<unsigned>(tries);
  options.address_tries = static_cast<unsigned>(address_tries);
  guard.whole_seconds("window", options.window, {1, kDayInSeconds});
  guard.whole_seconds("refuse", options.refuse, {1, kDayInSeconds});
  guard.refuse_unknown_keys();
}

}  // namespace

void leave_to_master(std::string_view mistake, Settings& settings) {
  settings.warnings.push_back(
      format("{}; only the Salt master evaluates this rule, and rest_fcgi ignores it", mistake));
}

void read_external_auth(Reader& top, Settings& settings) {
  static constexpr std::string_view kKey = "external_auth";
  const bool ours = settings.engine == Engine::embedded;
  const Complain complain = [&](const Error& mistake) {
    if (ours) return top.findings().add(mistake);
    leave_to_master(mistake.message, settings);
  };
  const Node* external_auth = top.value(kKey);
  if (external_auth == nullptr) return;
  const EauthReader reader(complain, ours);
  if (!external_auth->is(Kind::map)) return reader.unexpected(*external_auth, kKey, "a map");
  for (const Entry& entry : external_auth->entries) {
    settings.auth.external_auth.push_back(reader.read(entry));
  }
}

std::vector<std::string> enabled_eauths(const Settings& settings) {
  const auto is_enabled = [&settings](const std::string& name) {
    if (settings.engine == Engine::salt) return true;
    if (name == "auto") return settings.auth.allow_auto_eauth;
    return std::find(std::begin(kOwnBackEnds), std::end(kOwnBackEnds), name) != std::end(kOwnBackEnds);
  };
  std::vector<std::string> names;
  for (const auth::EauthOptions& eauth : settings.auth.external_auth) {
    if (is_enabled(eauth.name)) names.push_back(eauth.name);
  }
  return names;
}

void read_logins(Reader& section, Settings& settings) {
  section.program_or_socket("pam_helper", settings.auth.pam.helper);
  read_login_guard(section.section("login_guard"), settings.auth.login_guard);
  // Each cause of waiting during a login, such as PAM, may block at most a fifth of all threads.
  const std::size_t most = std::max<std::size_t>(1, settings.gateway.max_threads / 5);
  auth::Options& auth = settings.auth;
  auth.login_guard.threads = settings.gateway.max_threads;
  auth.login_guard.max_delayed = std::min(auth.login_guard.max_delayed, most);
  auth.login_guard.max_queued = most;
  auth.pam.max_waiting = std::min(auth.pam.max_waiting, most);
  settings.salt.max_waiting_logins = std::min(settings.salt.max_waiting_logins, most);
}

}  // namespace rest_fcgi::config
