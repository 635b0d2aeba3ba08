// SPDX-License-Identifier: MIT
#include "auth/acl.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::auth {
namespace {

constexpr std::string_view kSpecial = "\\^$+|(){}*?[]";
constexpr std::size_t kMaxShown = 256;

/// A regular expression that matches a pattern in the syntax that Python's `re` and PCRE2 have in common.
constexpr const char* kCommonSyntax = R"((?x)
  (?(DEFINE)
    (?<escape>  \\ [nrt\x00-/:-@\[-`{-\x7f] )
    (?<char>    (?&escape) | [^\\\[\]] )
    (?<range>   - (?!\]) (?&char) | (?! - (?!\]) ) )
    (?<member>  \\ [dws] (?! - (?!\]) ) | (?&char) (?&range) )
    (?<class>   \[ \^? (?: \] (?&range) | (?&member) ) (?&member)*+ \] )
    (?<times>   (?: [*+?] | \{ [0-9]++ (?: , [0-9]*+ )? \} ) \?? )
    (?<atom>    [^\\^$+|(){*?\[] | (?&escape) | \\ [dDwWsS] | (?&class) | \( (?: \?: )? (?&pattern) \) )
    (?<pattern> (?: (?&atom) (?&times)?+ | [\^$|] | \\ [AZ] | \( \? [=!] (?&pattern) \) )*+ )
  )
  (?&pattern))";

/// Translates Python's `\d`, `\w` or `\s` into members of a PCRE2 class. The same escapes of PCRE2 mean other
/// characters.
std::string_view members_of(char c) {
  if (c == 'd') return "\\p{Nd}";
  if (c == 'w') return "\\p{L}\\p{N}_";
  return "\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"
         "\\x{205f}\\x{3000}";
}

std::string translated(std::string_view pattern) {
  std::string written;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\') {
      const char escaped = pattern[++i];
      const char lower = static_cast<char>(escaped | 0x20);
      if (escaped == 'Z') {
        written += "\\z";
      } else if (lower != 'd' && lower != 'w' && lower != 's') {
        written.append({c, escaped});
      } else if (in_class) {
        written += members_of(lower);
      } else {
        written.append(escaped == lower ? "[" : "[^").append(members_of(lower)) += ']';
      }
      continue;
    }
    written += c;
    if (in_class || c != '[') {
      in_class = in_class && c != ']';
      continue;
    }
    in_class = true;
    // A `]` directly after `[` or `[^` does not end the character class.
    for (const char first : {'^', ']'}) {
      if (i + 1 < pattern.size() && pattern[i + 1] == first) written += pattern[++i];
    }
  }
  return written;
}

bool keyword_matches(const std::string& key, const std::optional<AclPattern>& pattern,
                     std::span<const JsonMember> kwargs) {
  bool is_given = false;
  // A call may have the same keyword argument several times, so each value has to match.
  for (const JsonMember& member : kwargs) {
    if (member.key != key) continue;
    if (pattern && !pattern->matches(member.value.python_str())) return false;
    is_given = true;
  }
  return is_given;
}

/// Returns the regular expression of a glob such as `*.ping`, or std::nullopt if the text is no glob.
std::optional<std::string> regex_of_glob(std::string_view text) {
  if (text.find('*') == std::string_view::npos || text.find_first_of("\\^$+|(){}") != std::string_view::npos)
    return std::nullopt;
  std::string regex;
  for (const char c : text) {
    if (c == '*' || c == '?') {
      regex += c == '*' ? ".*" : ".";
    } else {
      regex += c == '.' ? std::string("\\.") : std::string(1, c);
    }
  }
  return compile_python_regex(regex) ? std::optional(regex) : std::nullopt;
}

}  // namespace

Result<Regex> compile_python_regex(std::string_view pattern) {
  static const Result<Regex> syntax = Regex::compile(kCommonSyntax);
  if (!syntax->match_all(pattern)) {
    return Error{
        ErrorKind::configuration,
        "expected only syntax that Python and PCRE2 interpret in the same way: literals, . ^ $ |, classes "
        "without \\D, \\W and \\S, the groups ( (?: (?= (?!, repetitions after a character or a group (.* "
        "matches any text), escaped punctuation, and \\d \\D \\w \\W \\s \\S \\n \\r \\t \\A \\Z"};
  }
  auto regex = Regex::compile(translated(pattern));
  if (regex) return regex;
  return Error{ErrorKind::configuration, std::move(regex).error().message};
}

Result<AclPattern> AclPattern::make(std::string_view text) {
  AclPattern pattern(text);
  if (text == ".*" || text.find_first_of(kSpecial) == std::string_view::npos) return pattern;
  auto regex = compile_python_regex(text);
  if (!regex) {
    if (const auto meant = regex_of_glob(text)) {
      return Error{ErrorKind::configuration,
                   format("\"{}\" is neither an exact name nor a regular expression, but a glob: write '{}'",
                          excerpt(text, kMaxShown), *meant)};
    }
    return Error{ErrorKind::configuration,
                 format("\"{}\" is neither an exact name nor a regular expression: {}",
                        excerpt(text, kMaxShown), regex.error().message)};
  }
  pattern.regex_ = *std::move(regex);
  return pattern;
}

bool AclPattern::matches(std::string_view text) const {
  return regex_ ? regex_->match_all(text) : text_ == ".*" || text_ == text;
}

Result<AclRule> AclRule::make(const Rule& rule) {
  AclRule result;
  result.scope_ = rule.scope;
  result.where_ = rule.where;
  for (const FunctionRule& function : rule.functions) {
    auto compiled = compile(function);
    if (!compiled) return std::move(compiled).error();
    result.functions_.push_back(*std::move(compiled));
  }
  return result;
}

Result<AclRule::Function> AclRule::compile(const FunctionRule& function) {
  auto pattern = AclPattern::make(function.pattern);
  if (!pattern) return std::move(pattern).error();
  Function result{*std::move(pattern), {}, function.pattern, function.where};
  Result<void> mistake;
  const auto compiled = [&mistake](const std::optional<std::string>& text) {
    if (!text) return OptionalPattern();
    auto made = AclPattern::make(*text);
    if (made) return OptionalPattern(*std::move(made));
    mistake = std::move(made).error();
    return OptionalPattern();
  };
  for (const ArgumentCondition& condition : function.conditions) {
    Condition& to = result.conditions.emplace_back();
    to.others = condition.others || (condition.args.empty() && condition.kwargs.empty());
    for (const auto& text : condition.args) to.args.push_back(compiled(text));
    for (const auto& [key, text] : condition.kwargs) to.kwargs.emplace_back(key, compiled(text));
  }
  return mistake ? Result(std::move(result)) : std::move(mistake).error();
}

bool AclRule::Condition::holds(const CallArguments& given) const {
  if (given.args.size() < args.size()) return false;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] && !args[i]->matches(given.args[i].python_str())) return false;
  }
  const bool has_keywords = std::all_of(kwargs.begin(), kwargs.end(), [&given](const auto& wanted) {
    return keyword_matches(wanted.first, wanted.second, given.kwargs);
  });
  if (!has_keywords || others) return has_keywords;
  const auto is_named = [this](const JsonMember& member) {
    return std::any_of(kwargs.begin(), kwargs.end(),
                       [&member](const auto& wanted) { return wanted.first == member.key; });
  };
  return given.args.size() == args.size() && std::all_of(given.kwargs.begin(), given.kwargs.end(), is_named);
}

bool AclRule::Function::allows(const CallArguments& given) const {
  return conditions.empty() ||
         std::any_of(conditions.begin(), conditions.end(),
                     [&given](const Condition& condition) { return condition.holds(given); });
}

bool AclRule::allows_all() const {
  return functions_.empty() ||
         std::any_of(functions_.begin(), functions_.end(), [](const Function& function) {
           return function.conditions.empty() && function.text == ".*";
         });
}

RuleMatch AclRule::match_as(std::string_view name, const FunctionCall& call) const {
  RuleMatch best;
  for (const Function& function : functions_) {
    if (!function.pattern.matches(name)) continue;
    if (function.allows(call.sent) && (!call.received || function.allows(*call.received)))
      return {RuleMatch::Kind::yes, function.text, function.where};
    best = {RuleMatch::Kind::arguments, function.text, function.where};
  }
  return best;
}

RuleMatch AclRule::match_master(Form form, const FunctionCall& call) const {
  if (is_for_minions()) return {};
  const std::string_view name = call.name;
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos || name.find('.', dot + 1) != std::string_view::npos) return {};
  const std::string_view scope = std::string_view(scope_).substr(1);
  const std::string_view form_name = form == Form::runner ? "runner" : "wheel";
  const bool is_of_module = scope == name.substr(0, dot);
  const bool is_of_form =
      scope.starts_with(form_name) && (scope == form_name || scope.substr(form_name.size()) == "s");
  if (functions_.empty())
    return is_of_module || is_of_form ? RuleMatch{RuleMatch::Kind::yes, {}, where_} : RuleMatch();
  const RuleMatch match = is_of_module ? match_as(name.substr(dot + 1), call) : RuleMatch();
  return match.kind == RuleMatch::Kind::yes || !is_of_form ? match : match_as(name, call);
}

}  // namespace rest_fcgi::auth
