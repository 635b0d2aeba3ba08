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

/// Returns whether the text can be the name of a module or of a function.
bool is_name(std::string_view text) {
  return !text.empty() && only_of(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
}

/// Returns whether the text is `MODULE.FUNCTION` or `MODULE.*`.
bool is_dotted(std::string_view text) {
  const std::size_t dot = std::min(text.find('.'), text.size());
  const std::string_view function = text.substr(std::min(dot + 1, text.size()));
  return is_name(text.substr(0, dot)) && (is_name(function) || function == "*");
}

/// "; did you mean 'X'?" for the name that is closest.
template <class Names>
std::string meant(std::string_view word, const Names& names, std::string_view before = "") {
  const auto near = near_names(word, {std::begin(names), std::end(names)});
  return near.empty() ? "" : format("; did you mean '{}{}'?", before, near.front());
}

Note about_back_end(const std::string& name, Engine engine) {
  if (is_among(name, kOwnBackEnds)) return std::nullopt;
  if (engine == Engine::salt) {
    const std::string near = is_among(name, kBackEnds) ? "" : meant(lower(name), kBackEnds);
    return near.empty() ? Note() : format("Salt has no back end of this name{}", near);
  }
  return format("no login is possible through it, since this engine has file, pam, sharedsecret and auto{}",
                is_among(name, kBackEnds) ? "" : meant(lower(name), kOwnBackEnds));
}

Note about_principal(std::string_view eauth, std::string_view name) {
  if (name == "*") return std::nullopt;
  if (name.starts_with('%') || name.starts_with('@')) {
    if (is_among(eauth, kWithoutGroups))
      return format("is the name of a user, and the back end {} has no groups", eauth);
    return format("is the name of a user; a group is written '{}%'",
                  name.size() > 1 ? name.substr(1) : std::string_view("GROUP"));
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

/// Returns what an `@` entry that goes on behind the name of a module probably means, such as
/// `@runner.test.arg`; nothing where that cannot be told.
std::string meant_by_scope(std::string_view module, std::string_view function) {
  const bool is_form = is_among(module, kForms);
  if (!is_form && !is_among(module, kModules)) return "";
  if (function == "*" || function == ".*") return format("; did you mean '@{}'?", module);
  if (is_form ? !is_dotted(function) : !is_name(function)) return "";
  return format("; did you mean {{'@{}': ['{}']}}?", module, function);
}

/// `scope` begins with an `@`.
Note about_scope(std::string_view scope, Engine engine) {
  constexpr std::string_view kBetween = ".: ";
  if (is_among(scope.substr(1), kForms) || is_among(scope.substr(1), kModules)) return std::nullopt;
  const std::string_view name = trimmed(scope.substr(1));
  const std::size_t end = name.find_first_of(kBetween);
  if (end != std::string_view::npos) {
    const std::size_t next = name.find_first_not_of(kBetween, end);
    const std::string_view function = next == std::string_view::npos ? "" : name.substr(next);
    return format("matches no runner and no wheel{}", meant_by_scope(name.substr(0, end), function));
  }
  std::vector<std::string_view> names(std::begin(kForms), std::end(kForms));
  names.insert(names.end(), std::begin(kModules), std::end(kModules));
  const std::string near = meant(lower(name), names, "@");
  if (engine == Engine::salt && near.empty()) return std::nullopt;  // it may be a module of the site
  return format("no runner or wheel module has this name{}", near);
}

Note about_target(std::string_view target) {
  if (is_among(target, kForms) || target == "jobs" || target == "events") {
    return format("is a target, a minion of this name; did you mean '@{}'?", target);
  }
  const bool is_list = target.find(',') != std::string_view::npos && !has_any(target, "@ ({[");
  if (is_list && has_any(target, "*?"))
    return "is the name of one minion; each pattern is a target of its own";
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

/// Returns whether the text begins as a compound target does, such as `G@os:Debian`.
bool looks_like_target(std::string_view text) {
  constexpr std::string_view kMatchers = "GPELIJSNRK";
  return text.size() > 2 && text[1] == '@' && kMatchers.find(text[0]) != std::string_view::npos;
}

/// Returns the pattern for all functions of the module that `pattern` names, such as `test*` or `test.`, as a
/// question; nothing where it names no module that the scope has.
std::string meant_by_module(std::string_view pattern, std::string_view scope) {
  const std::string_view module = pattern.substr(0, pattern.find_first_of(".*$"));
  const bool is_known = scope.starts_with('@') ? is_among(module, kModules) : !is_among(module, kForms);
  if (!is_name(module) || !is_known) return "";
  return format("; did you mean '{}.*'?", module);
}

/// Of a whole name, `MODULE.FUNCTION`.
Note about_name(std::string_view pattern, std::string_view scope, Engine engine) {
  const std::size_t dot = std::min(pattern.find('.'), pattern.size());
  const std::string_view behind = pattern.substr(std::min(dot + 1, pattern.size()));
  if (is_among(pattern.substr(0, dot), kForms) && is_dotted(behind))
    return format("no function has two dots in its name; did you mean {{'@{}': ['{}']}}?",
                  pattern.substr(0, dot), behind);
  if (!has_any(pattern, kSpecial) && behind.find('.') != std::string_view::npos)
    return "no function has two dots in its name";
  if (scope.empty() && (is_among(pattern, kForms) || pattern == "jobs" || pattern == "events"))
    return format("is no function; did you mean '@{}'?", pattern);
  if (scope.empty() && looks_like_target(pattern))
    return format("is no function; did you mean the target {{'{}': [test.ping]}}?", pattern);
  if (pattern.find('@') != std::string_view::npos)
    return "is no function, and a pattern stands for no entry @NAME";
  if (has_any(pattern, ":/")) return "is no function; its name is written MODULE.FUNCTION";
  if (pattern.size() > 1 && pattern.ends_with('.') && is_name(pattern.substr(0, pattern.size() - 1)))
    return format("no function's name ends with a dot{}", meant_by_module(pattern, scope));
  // Salt is content where a name begins with what a pattern matches.
  if (engine == Engine::salt || may_have_dot(pattern)) return std::nullopt;
  const bool is_plain = is_name(pattern.substr(0, pattern.find_last_not_of("*$") + 1));
  return format("every function has a dot in its name{}", is_plain ? meant_by_module(pattern, scope) : "");
}

Note about_function(std::string_view pattern, std::string_view scope, Engine engine) {
  const bool is_of_module = scope.starts_with('@') && !is_among(scope.substr(1), kForms);
  if (pattern.starts_with('@'))
    return "stands among the functions of a target; it is an entry of the user's list";
  if (has_any(pattern, " \t,") && !has_any(pattern, "[{")) {
    return "no function has a space or comma in its name; each function is an entry of its own, and a target "
           "stands in front of its functions: {'*': [test.ping]}";
  }
  if (looks_like_call(pattern)) {
    const std::string_view name = pattern.substr(0, pattern.find('('));
    if (is_of_module ? !is_name(name) : !is_dotted(name)) return "is a pattern and no call";
    return format("is a pattern and no call; did you mean '{0}', or {0}: {{args: [...]}} in a target's list?",
                  name);
  }
  if (!is_of_module) return about_name(pattern, scope, engine);
  const std::string beginning = format("{}.", scope.substr(1));
  if (has_any(pattern, kSpecial) || !pattern.starts_with(beginning)) return std::nullopt;
  const std::string_view function = std::string_view(pattern).substr(beginning.size());
  return format("the functions of {} are written without the module{}", scope,
                is_name(function) ? format("; did you mean '{}'?", function) : "");
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

std::string idle_rule_line(const Settings& settings, std::string_view place, std::string_view text,
                           std::string_view what, const std::vector<std::string>& names) {
  const std::string beginning = format("{}: {}: ", place, in_quotes(text));
  const std::vector<std::string> notes = rule_notes(settings);
  const bool is_told = std::any_of(notes.begin(), notes.end(),
                                   [&](const std::string& note) { return note.starts_with(beginning); });
  const auto near = near_names(text, names, 1);
  if (is_told) return "";
  return format("note:     {}{}{}\n", beginning, what,
                near.empty() ? "" : format("; did you mean '{}'?", near.front()));
}

}  // namespace rest_fcgi::config
