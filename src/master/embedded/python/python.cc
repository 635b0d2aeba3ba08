// SPDX-License-Identifier: MIT
#include "master/embedded/python/python.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "master/embedded/text.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();

std::int64_t truncated(double value) {
  if (value >= static_cast<double>(kLargest)) return kLargest;
  if (value <= static_cast<double>(kSmallest)) return kSmallest;
  return static_cast<std::int64_t>(value);
}

/// Returns the number as a double. A number that is too large becomes infinite, as in Python.
double real(const JsonValue& value) {
  const double infinity = std::numeric_limits<double>::infinity();
  return value.number().value_or(value.text().starts_with('-') ? -infinity : infinity);
}

class Splitter {
 public:
  void take(char c) {
    if (escaped_) {
      // Inside double quotes, a backslash escapes only a double quote and a backslash.
      if (quote_ == '"' && c != '"' && c != '\\') word() += '\\';
      word() += c;
      escaped_ = false;
    } else if (c == '\\' && quote_ != '\'') {
      escaped_ = true;
    } else if (quote_ == '\0') {
      take_bare(c);
    } else if (c == quote_) {
      quote_ = '\0';
    } else {
      word() += c;
    }
  }

  std::variant<std::vector<std::string>, Raised> finish() {
    if (escaped_) return Raised::value_error("No escaped character");
    if (quote_ != '\0') return Raised::value_error("No closing quotation");
    end_word();
    return std::move(words_);
  }

 private:
  void take_bare(char c) {
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      end_word();
    } else if (c == '\'' || c == '"') {
      quote_ = c;
      word();  // A pair of quotes without content is an empty word.
    } else {
      word() += c;
    }
  }

  std::string& word() { return word_ ? *word_ : word_.emplace(); }
  void end_word() {
    if (word_) words_.push_back(*std::exchange(word_, std::nullopt));
  }

  std::vector<std::string> words_;
  std::optional<std::string> word_;
  char quote_ = '\0';  // `quote_` is '\0' outside of quotation marks.
  bool escaped_ = false;
};

std::string too_many(const Signature& signature, std::size_t count) {
  const std::size_t most = signature.parameters.size();
  const std::size_t least = signature.required;
  const std::string takes = least == most ? std::to_string(most) : format("from {} to {}", least, most);
  return format("takes {} positional argument{} but {} {} given", takes, least == 1 && most == 1 ? "" : "s",
                count, count == 1 ? "was" : "were");
}

std::string missing_arguments(const std::vector<std::string_view>& names) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i != 0) list += names.size() > 2 ? ", " : " ";
    if (i != 0 && i + 1 == names.size()) list += "and ";
    list += format("'{}'", names[i]);
  }
  return format("missing {} required positional argument{}: {}", names.size(), names.size() == 1 ? "" : "s",
                list);
}

}  // namespace

Raised Raised::type_error(std::string message) {
  return {Kind::type_error, "TypeError", std::move(message)};
}

Raised Raised::value_error(std::string message) {
  return {Kind::exception, "ValueError", std::move(message)};
}

Raised Raised::invocation_error(std::string message) {
  return {Kind::invocation, "SaltInvocationError", std::move(message)};
}

Raised Raised::command_error(std::string message) {
  return {Kind::command, "CommandExecutionError", std::move(message)};
}

std::string Raised::line() const {
  return message.empty() ? type : type + ": " + message;
}

std::optional<std::int64_t> python_int(std::string_view text) {
  std::string_view word = stripped(text);
  if (word.starts_with('+') && !word.starts_with("+-")) word.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc::invalid_argument || end != word.data() + word.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return word.starts_with('-') ? kSmallest : kLargest;
  return value;
}

WholeNumber python_int(const JsonValue& value) {
  switch (value.kind()) {
    case JsonValue::Kind::boolean:
      return value.boolean() ? 1 : 0;
    case JsonValue::Kind::real:
      return truncated(real(value));
    case JsonValue::Kind::integer:
    case JsonValue::Kind::string:
      if (const auto whole = python_int(value.text())) return *whole;
      return Raised::value_error("invalid literal for int() with base 10: " + value.python_repr());
    default:
      return Raised::type_error(
          format("int() argument must be a string, a bytes-like object or a real number, not '{}'",
                 value.type_name()));
  }
}

std::string python_repr(std::string_view text) {
  return own_document(Json::string(text)).root().python_repr();
}

bool python_bool(const JsonValue& value) {
  switch (value.kind()) {
    case JsonValue::Kind::null:
      return false;
    case JsonValue::Kind::boolean:
      return value.boolean();
    case JsonValue::Kind::integer:
    case JsonValue::Kind::real:
      return real(value) != 0;
    case JsonValue::Kind::string:
      return !value.text().empty();
    default:
      return value.size() != 0;
  }
}

bool salt_is_true(const JsonValue& value) {
  if (value.is(JsonValue::Kind::integer) || value.is(JsonValue::Kind::real)) {
    return std::get<std::int64_t>(python_int(value)) > 0;
  }
  if (!value.is(JsonValue::Kind::string)) return python_bool(value);
  std::string_view text = stripped(value.text());
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto number = parse_number<double>(text);
  return number ? *number > 0 : lower(value.text()) == "true";
}

std::variant<std::vector<std::string>, Raised> shlex_split(std::string_view text) {
  Splitter splitter;
  for (const char c : text) splitter.take(c);
  return splitter.finish();
}

Signature parse_usage(std::string_view usage) {
  const std::size_t open = usage.find('(');
  const std::string_view head = usage.substr(0, open);
  Signature signature;
  signature.name = head.substr(head.find_last_of(". ") + 1);
  for (const std::string_view one : split(usage.substr(open + 1, usage.size() - open - 2), ", ")) {
    if (one.empty()) continue;
    if (one.starts_with('*')) {
      (one.starts_with("**") ? signature.takes_keywords : signature.takes_varargs) = true;
      continue;
    }
    const std::size_t equals = one.find('=');
    signature.parameters.push_back(one.substr(0, equals));
    if (equals != std::string_view::npos) signature.defaults.push_back(one.substr(equals + 1));
  }
  signature.required = signature.parameters.size() - signature.defaults.size();
  return signature;
}

const JsonValue& BoundArguments::operator[](std::string_view parameter) const {
  const auto found = std::find(parameters.begin(), parameters.end(), parameter);
  return values[static_cast<std::size_t>(found - parameters.begin())];
}

std::variant<BoundArguments, Raised> python_bind(const Signature& signature,
                                                 std::span<const JsonValue> positional,
                                                 std::span<const JsonMember> keywords) {
  const std::vector<std::string_view>& parameters = signature.parameters;
  if (parameters.empty() && positional.empty() && keywords.empty()) return BoundArguments();
  const auto complaint = [&signature](std::string_view what) {
    return Raised::type_error(format("{}() {}", signature.name, what));
  };
  const auto named = static_cast<std::ptrdiff_t>(std::min(positional.size(), parameters.size()));
  BoundArguments bound{parameters, {positional.begin(), positional.begin() + named}, {}, {}, {}};
  bound.values.resize(parameters.size());
  bound.given.assign(static_cast<std::size_t>(named), true);
  bound.given.resize(parameters.size());
  for (const JsonMember& member : keywords) {
    const auto found = std::find(parameters.begin(), parameters.end(), member.key);
    if (found == parameters.end()) {
      if (!signature.takes_keywords) {
        return complaint(format("got an unexpected keyword argument '{}'", member.key));
      }
      bound.keywords.push_back(member);
      continue;
    }
    const auto at = static_cast<std::size_t>(found - parameters.begin());
    if (bound.given[at]) return complaint(format("got multiple values for argument '{}'", member.key));
    bound.given[at] = true;
    bound.values[at] = member.value;
  }
  bound.varargs.assign(positional.begin() + named, positional.end());
  if (!bound.varargs.empty() && !signature.takes_varargs) {
    return complaint(too_many(signature, positional.size()));
  }
  std::vector<std::string_view> missing;
  for (std::size_t i = 0; i < signature.required; ++i) {
    if (!bound.given[i]) missing.push_back(parameters[i]);
  }
  if (!missing.empty()) return complaint(missing_arguments(missing));
  return bound;
}

}  // namespace rest_fcgi::embedded
