// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/sections.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

// Rules of `external_auth` that are read and can match nothing, with what was probably meant. Salt's page
// "Access Control System" has the grammar.
namespace rest_fcgi::config {
namespace {

using Note = std::optional<std::string>;

constexpr std::string_view kBackEnds[] = {"auto", "django", "file", "keystone",     "ldap",      "mysql",
                                          "pam",  "pki",    "rest", "sharedsecret", "stormpath", "yubico"};
constexpr std::string_view kOwnBackEnds[] = {"auto", "file", "pam", "sharedsecret"};
constexpr std::string_view kWithoutGroups[] = {"auto",  "django", "file", "keystone",
                                               "mysql", "pki",    "rest", "sharedsecret"};
constexpr std::string_view kForms[] = {"runner", "runners", "wheel", "wheels"};

/// `events` is ours; the others are the runner and wheel modules of Salt 3006.
constexpr std::string_view kModules[] = {
    "events",       "asam",    "auth",    "bgp",     "cache",   "cloud",    "config",     "ddns",
    "digicertapi",  "doc",     "drac",    "error",   "event",   "f5",       "file_roots", "fileserver",
    "git_pillar",   "http",    "jobs",    "key",     "launchd", "lxc",      "manage",     "match",
    "mattermost",   "mine",    "minions", "nacl",    "net",     "network",  "pagerduty",  "pillar",
    "pillar_roots", "pkg",     "queue",   "reactor", "salt",    "saltutil", "sdb",        "smartos_vmadm",
    "spacewalk",    "ssh",     "state",   "survey",  "test",    "thin",     "vault",      "venafiapi",
    "virt",         "vistara", "winrepo"};

/// What makes a pattern more than an exact name, but for the dot.
constexpr std::string_view kSpecial = "\\^$+|(){}*?[]";

template <class Names>
bool is_among(std::string_view name, const Names& names) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool has_any(std::string_view text, std::string_view characters) {
  return text.find_first_of(characters) != std::string_view::npos;
}

/// "; did you mean 'X'?" for the name that is closest.
template <class Names>
std::string meant(std::string_view word, const Names& names, std::string_view before = "") {
  const auto near = near_names(word, {std::begin(names), std::end(names)});
  return near.empty() ? "" : format("; did you mean '{}{}'?", before, near.front());
}

Note about_back_end(const std::string& name, Engine engine) {
  if (is_among(name, kOwnBackEnds)) return std::nullopt;
  const std::string known = is_among(name, kBackEnds) ? "" : meant(name, kBackEnds);
  if (engine == Engine::salt)
    return known.empty() ? Note() : format("Salt has no back end of this name{}", known);
  return format("no login is possible through it, since this engine has file, pam, sharedsecret and auto{}",
                known);
}

Note about_principal(std::string_view eauth, std::string_view name) {
  if (name == "*") return std::nullopt;
  if (name.starts_with('%') || name.starts_with('@')) {
    return format("is the name of a user; a group is written '{}%'", name.substr(1));
  }
  if (name.ends_with('%') && is_among(eauth, kWithoutGroups)) {
    return format("is a group, and the back end {} has no groups; write the names of users, or '*'", eauth);
  }
  const bool is_list = name.find(',') != std::string_view::npos && name.find('=') == std::string_view::npos;
  if (!is_list && !has_any(name, "|*()[]{}^?")) return std::nullopt;
  return "names are compared as they are written and are no patterns; write a key for each user, 'GROUP%' "
         "for a "
         "group, or '*' for all users that have no key";
}

/// `scope` begins with an `@`.
Note about_scope(std::string_view scope, Engine engine) {
  const std::string_view name = scope.substr(1);
  if (is_among(name, kForms) || is_among(name, kModules)) return std::nullopt;
  const std::size_t dot = name.find('.');
  if (dot != std::string_view::npos) {
    return format("matches no runner and no wheel; did you mean {{'@{}': ['{}']}}?", name.substr(0, dot),
                  name.substr(dot + 1));
  }
  std::vector<std::string_view> names(std::begin(kForms), std::end(kForms));
  names.insert(names.end(), std::begin(kModules), std::end(kModules));
  const std::string near = meant(lower(trimmed(name)), names, "@");
  if (engine == Engine::salt && near.empty()) return std::nullopt;  // it may be a module of the site
  return format("no runner or wheel module has this name{}", near);
}

Note about_target(std::string_view target) {
  if (is_among(target, kForms) || target == "jobs" || target == "events") {
    return format("is a target, a minion of this name; did you mean '@{}'?", target);
  }
  const bool is_list = target.find(',') != std::string_view::npos && !has_any(target, "@ ({[");
  if (is_list) return format("is the name of one minion; did you mean 'L@{}'?", target);
  return std::nullopt;
}

/// Can a text that the pattern matches as a whole hold a dot?
bool may_have_dot(std::string_view pattern) {
  return has_any(pattern, ".[\\") || pattern.find("(?") != std::string_view::npos;
}

/// A name with brackets behind it, such as `test.ping()`, which is a call in other places.
bool looks_like_call(std::string_view pattern) {
  const std::size_t bracket = pattern.find('(');
  if (bracket == std::string_view::npos || bracket == 0 || !pattern.ends_with(')')) return false;
  return !has_any(pattern.substr(0, bracket), kSpecial) && pattern[bracket - 1] != '.' &&
         pattern.find('|') == std::string_view::npos;
}

/// Of a whole name, `MODULE.FUNCTION`.
Note about_name(std::string_view pattern, Engine engine) {
  const std::size_t dot = pattern.find('.');
  if (!has_any(pattern, kSpecial) && dot != std::string_view::npos &&
      pattern.find('.', dot + 1) != std::string_view::npos) {
    const std::string_view form = pattern.substr(0, dot);
    const std::string hint = is_among(form, kForms)
                                 ? format("; did you mean {{'@{}': ['{}']}}?", form, pattern.substr(dot + 1))
                                 : "";
    return format("no function has two dots in its name{}", hint);
  }
  if (is_among(pattern, kForms) || pattern == "jobs" || pattern == "events") {
    return format("is no function; did you mean '@{}'?", pattern);
  }
  if (has_any(pattern, ":@"))
    return format("is no function; did you mean the target {{'{}': [test.ping]}}?", pattern);
  if (pattern.ends_with('.'))
    return format("no function's name ends with a dot; did you mean '{}*'?", pattern);
  // Salt is content where a name begins with what a pattern matches.
  if (engine == Engine::salt || may_have_dot(pattern)) return std::nullopt;
  const std::string_view module = pattern.substr(0, pattern.find_first_of(kSpecial));
  return format("every function has a dot in its name; did you mean '{}.*'?", module);
}

Note about_function(std::string_view pattern, std::string_view scope, Engine engine) {
  if (pattern.starts_with('@'))
    return "stands among the functions of a target; it is an entry of the user's list";
  if (has_any(pattern, " \t,") && !has_any(pattern, "[{")) {
    return "no function has a space or comma in its name; each function is an entry of its own, and a target "
           "stands in front of its functions: {'*': [test.ping]}";
  }
  if (looks_like_call(pattern)) {
    const std::string_view name = pattern.substr(0, pattern.find('('));
    return format("is a pattern and no call; did you mean '{0}', or {0}: {{args: [...]}} in a target's list?",
                  name);
  }
  const bool is_of_module = scope.starts_with('@') && !is_among(scope.substr(1), kForms);
  if (!is_of_module) return about_name(pattern, engine);
  const std::string beginning = format("{}.", scope.substr(1));
  if (has_any(pattern, kSpecial) || !pattern.starts_with(beginning)) return std::nullopt;
  return format("the functions of {} are written without the module; did you mean '{}'?", scope,
                pattern.substr(beginning.size()));
}

class NoteWriter {
 public:
  NoteWriter(Engine engine, std::vector<std::string>& notes) : engine_(engine), notes_(notes) {}

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

 private:
  const Engine engine_;
  std::vector<std::string>& notes_;
};

std::string place_at(const Settings& settings, const std::string& path) {
  const auto found = settings.places.find(path);
  return found == settings.places.end() ? "external_auth" : found->second;
}

}  // namespace

std::vector<std::string> rule_notes(const Settings& settings) {
  std::vector<std::string> notes;
  NoteWriter writer(settings.engine, notes);
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
  return notes;
}

}  // namespace rest_fcgi::config
