// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/sections.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

// Notes about rules of `external_auth` that are valid and match nothing. Salt's page "Access Control System"
// has the grammar. With a real master, names that may be the site's own are not noted.
namespace rest_fcgi::config {
namespace {

using Note = std::optional<std::string>;
using Names = std::vector<std::string>;

const Names& salt_back_ends() {
  static const Names names = {"auto", "django", "file", "keystone",     "ldap",      "mysql",
                              "pam",  "pki",    "rest", "sharedsecret", "stormpath", "yubico"};
  return names;
}

constexpr std::string_view kOwnBackEnds[] = {"auto", "file", "pam", "sharedsecret"};
constexpr std::string_view kWithoutGroups[] = {"auto",  "django", "file", "keystone",
                                               "mysql", "pki",    "rest", "sharedsecret"};
constexpr std::string_view kForms[] = {"runner", "runners", "wheel", "wheels"};

/// The forms; `events`, which is this program's own; and the runner and wheel modules of Salt 3006.
const Names& scopes() {
  static const Names names = [] {
    const auto words = split_words(
        "runner runners wheel wheels events asam auth bgp cache cloud config ddns digicertapi doc drac error "
        "event f5 file_roots fileserver git_pillar http jobs key launchd lxc manage match mattermost mine "
        "minions nacl net network pagerduty pillar pillar_roots pkg queue reactor salt saltutil sdb "
        "smartos_vmadm spacewalk ssh state survey test thin vault venafiapi virt vistara winrepo");
    return Names(words.begin(), words.end());
  }();
  return names;
}

template <class All>
bool is_among(std::string_view name, const All& names) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool has_any(std::string_view text, std::string_view characters) {
  return text.find_first_of(characters) != std::string_view::npos;
}

/// Returns "; did you mean 'X'?" for the most similar name, or an empty text.
std::string meant(std::string_view word, const Names& names, std::string_view before = "") {
  const auto near = near_names(word, names);
  return near.empty() ? "" : format("; did you mean '{}{}'?", before, near.front());
}

Note about_back_end(const std::string& name, Engine engine) {
  const bool is_known =
      engine == Engine::salt ? is_among(name, salt_back_ends()) : is_among(name, kOwnBackEnds);
  const std::string near = is_among(name, salt_back_ends()) ? "" : meant(lower(name), salt_back_ends());
  if (is_known || (engine == Engine::salt && near.empty())) return std::nullopt;
  return format("unknown back end, expected {}{}",
                engine == Engine::salt ? "one of Salt's" : joined(kOwnBackEnds), near);
}

Note about_principal(std::string_view eauth, std::string_view name) {
  if (name == "*") return std::nullopt;
  if (name.starts_with('%') || name.starts_with('@')) {
    return format("this is the name of a user; a group is written '{}%'", name.substr(1));
  }
  if (name.ends_with('%') && is_among(eauth, kWithoutGroups)) {
    return format("this is a group, and the back end {} has no groups; expected names of users, or '*'",
                  eauth);
  }
  const bool is_list = name.find(',') != std::string_view::npos && name.find('=') == std::string_view::npos;
  if (!is_list && !has_any(name, "|*()[]{}^?")) return std::nullopt;
  return "names are not patterns; expected a key for each user, 'GROUP%', or '*' for users without a key";
}

/// REQUIRES: `scope` begins with an `@`.
Note about_scope(std::string_view scope, Engine engine) {
  const std::string_view name = scope.substr(1);
  if (is_among(name, scopes())) return std::nullopt;
  const std::size_t end = name.find_first_of(".: ");
  if (end != std::string_view::npos && end > 0) {
    return "this names no runner and no wheel; functions stand in a list: {'@runner': [MODULE.FUNCTION]}";
  }
  const std::string near = meant(lower(trimmed(name)), scopes(), "@");
  if (engine == Engine::salt && near.empty()) return std::nullopt;
  return "no runner or wheel module has this name" + near;
}

Note about_target(std::string_view target) {
  if (is_among(target, scopes()) && (is_among(target, kForms) || target == "jobs" || target == "events")) {
    return format("this is a target, a minion of this name; did you mean '@{}'?", target);
  }
  const bool is_list = target.find(',') != std::string_view::npos && !has_any(target, "@ ({[");
  if (!is_list) return std::nullopt;
  return format("this is the name of one minion; {}", has_any(target, "*?")
                                                          ? "each pattern is a target of its own"
                                                          : format("did you mean 'L@{}'?", target));
}

/// Returns whether a name that the whole pattern matches can contain a dot.
bool may_have_dot(std::string_view pattern) {
  return has_any(pattern, ".[\\") || pattern.find("(?") != std::string_view::npos;
}

/// Returns whether the pattern is a name with brackets behind it, such as `test.ping()`.
bool looks_like_call(std::string_view pattern) {
  const std::size_t bracket = pattern.find('(');
  return bracket != std::string_view::npos && bracket > 0 && pattern.ends_with(')') &&
         pattern[bracket - 1] != '.' && !has_any(pattern.substr(0, bracket), "\\^$+|){}*?[]") &&
         pattern.find('|') == std::string_view::npos;
}

Note about_function(std::string_view pattern, std::string_view scope, Engine engine) {
  const bool is_of_module = scope.starts_with('@') && !is_among(scope.substr(1), kForms);
  if (pattern.starts_with('@')) return "this is an entry of the user's list, and no function of a target";
  if (has_any(pattern, " \t,") && !has_any(pattern, "[{")) {
    return "no function has a space or comma in its name; a target stands before its functions: "
           "{'*': [test.ping]}";
  }
  if (looks_like_call(pattern)) {
    return "this is a pattern and not a call; arguments are conditions: {'*': [{test.arg: {args: [a]}}]}";
  }
  if (is_of_module) {
    if (has_any(pattern, "\\^$+|(){}*?[]") || !pattern.starts_with(format("{}.", scope.substr(1))))
      return std::nullopt;
    return format("functions of {} are written without the module", scope);
  }
  const bool is_plain = !has_any(pattern, "\\^$+|(){}*?[]");
  if (is_plain && std::count(pattern.begin(), pattern.end(), '.') > 1)
    return "no function has two dots in its name";
  if (has_any(pattern, "@:/")) return "this is not a function; its name is MODULE.FUNCTION";
  if (is_plain && pattern.size() > 1 && pattern.ends_with('.'))
    return "no function's name ends with a dot; MODULE.* is all functions of a module";
  // Salt accepts a name whose beginning matches.
  if (engine == Engine::salt || may_have_dot(pattern)) return std::nullopt;
  if (is_among(pattern, kForms)) return format("this is not a function; did you mean '@{}'?", pattern);
  return "every function has a dot in its name; MODULE.* is all functions of a module";
}

/// Collects notes.
class NoteWriter {
 public:
  explicit NoteWriter(Engine engine) : engine_(engine) {}

  void write(const std::string& path, const auth::Rule& rule) {
    if (rule.scope.starts_with('@')) {
      add(rule.where, path, rule.scope, about_scope(rule.scope, engine_));
    } else if (!rule.scope.empty()) {
      add(rule.where, path, rule.scope, about_target(rule.scope));
    }
    for (const auth::FunctionRule& function : rule.functions) {
      add(function.where, path, function.pattern, about_function(function.pattern, rule.scope, engine_));
    }
  }

  void add(const std::string& where, const std::string& path, const std::string& text, const Note& note) {
    if (note) notes_.push_back(format("{}: {}: {}: {}", where, path, in_quotes(text), *note));
  }

  [[nodiscard]] std::vector<std::string> take() { return std::move(notes_); }

 private:
  const Engine engine_;
  std::vector<std::string> notes_;
};

std::string place_at(const Settings& settings, const std::string& path) {
  const auto found = settings.places.find(path);
  return found == settings.places.end() ? "external_auth" : found->second;
}

}  // namespace

std::vector<std::string> rule_notes(const Settings& settings) {
  NoteWriter writer(settings.engine);
  for (const auth::EauthOptions& eauth : settings.auth.external_auth) {
    const std::string path = "external_auth: " + eauth.name;
    writer.add(place_at(settings, path), "external_auth", eauth.name,
               about_back_end(eauth.name, settings.engine));
    for (const auth::Principal& principal : eauth.principals) {
      const std::string user = format("{}: {}", path, principal.name);
      writer.add(place_at(settings, user), path, principal.name, about_principal(eauth.name, principal.name));
      for (const auth::Rule& rule : principal.rules) writer.write(user, rule);
    }
  }
  return writer.take();
}

std::string idle_rule_line(const Settings& settings, std::string_view place, std::string_view text,
                           std::string_view what, const std::vector<std::string>& names) {
  const std::string beginning = format("{}: {}: ", place, in_quotes(text));
  for (const std::string& note : rule_notes(settings)) {
    if (note.starts_with(beginning)) return "";
  }
  const auto near = near_names(text, names, 1);
  return format("note:     {}{}{}\n", beginning, what,
                near.empty() ? "" : format("; did you mean '{}'?", near.front()));
}

}  // namespace rest_fcgi::config
