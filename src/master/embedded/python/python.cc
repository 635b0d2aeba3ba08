// SPDX-License-Identifier: MIT
#include "master/embedded/python/python.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();

std::string_view strip(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n\v\f";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// Digits, also with single underscores between them, without these.
std::optional<std::string> plain_digits(std::string_view text) {
  std::string digits;
  bool after_digit = false;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && !(c == '_' && after_digit)) return std::nullopt;
    if (is_digit) digits += c;
    after_digit = is_digit;
  }
  if (!after_digit) return std::nullopt;
  return digits;
}

std::int64_t truncated(double value) {
  if (value >= static_cast<double>(kLargest)) return kLargest;
  if (value <= static_cast<double>(kSmallest)) return kSmallest;
  return static_cast<std::int64_t>(value);
}

/// A real's value; numbers beyond the range of a double count as infinite, as they do for Python.
double real(const JsonValue& value) {
  const double infinity = std::numeric_limits<double>::infinity();
  return value.number().value_or(value.text().starts_with('-') ? -infinity : infinity);
}

std::optional<double> float_from_text(std::string_view text) {
  std::string_view word = strip(text);
  if (word.starts_with('+')) word.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

class Splitter {
 public:
  void take(char c) {
    if (escaped_) {
      // Between double quotes a backslash is one, but before a quote or another.
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
      word();  // two quotes alone are an empty word
    } else {
      word() += c;
    }
  }

  std::string& word() { return word_ ? *word_ : word_.emplace(); }
  void end_word() {
    if (word_) words_.push_back(*std::exchange(word_, std::nullopt));
  }

  std::vector<std::string> words_;
  std::optional<std::string> word_;  // the one that is being read
  char quote_ = '\0';                // inside of which
  bool escaped_ = false;             // behind a backslash
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

Raised Raised::interrupted(std::string message) {
  return {Kind::interrupted, "", std::move(message)};
}

std::string Raised::line() const {
  return message.empty() ? type : type + ": " + message;
}

std::optional<std::int64_t> python_int(std::string_view text) {
  std::string_view word = strip(text);
  const bool negative = word.starts_with('-');
  if (negative || word.starts_with('+')) word.remove_prefix(1);
  const std::optional<std::string> digits = plain_digits(word);
  if (!digits) return std::nullopt;
  const std::string number = (negative ? "-" : "") + *digits;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  return error == std::errc() ? value : negative ? kSmallest : kLargest;
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

WholeNumber python_randint_bound(const JsonValue& bound) {
  switch (bound.kind()) {
    case JsonValue::Kind::string:
    case JsonValue::Kind::array:
      return Raised::type_error(format("can only concatenate {0} (not \"int\") to {0}", bound.type_name()));
    case JsonValue::Kind::null:
    case JsonValue::Kind::object:
      return Raised::type_error(
          format("unsupported operand type(s) for +: '{}' and 'int'", bound.type_name()));
    default:
      break;
  }
  if (bound.is(JsonValue::Kind::real) && std::trunc(real(bound)) != real(bound)) {
    return Raised::value_error("non-integer stop for randrange()");
  }
  const WholeNumber number = python_int(bound);
  const std::int64_t last = std::get<std::int64_t>(number);
  if (last >= 0) return last;
  const std::int64_t stop = last + 1;
  return Raised::value_error(format("empty range for randrange() (0, {0}, {0})", stop));
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
  if (const auto whole = python_int(value.text())) return *whole > 0;
  if (const auto fraction = float_from_text(value.text())) return *fraction > 0;
  std::string word(value.text());
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return word == "true";
}

std::string python_type(const JsonValue& value) {
  return format("<class '{}'>", value.type_name());
}

std::variant<std::vector<std::string>, Raised> shlex_split(std::string_view text) {
  Splitter splitter;
  for (const char c : text) splitter.take(c);
  return splitter.finish();
}

Signature read_usage(std::string_view usage) {
  const std::size_t open = usage.find('(');
  const std::string_view head = usage.substr(0, open);
  Signature signature;
  signature.name = head.substr(head.find_last_of(". ") + 1);
  std::string_view left = usage.substr(open + 1);
  left.remove_suffix(1);
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(", "), left.size());
    const std::string_view one = left.substr(0, end);
    left.remove_prefix(std::min(end + 2, left.size()));
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

const JsonValue& Bound::operator[](std::string_view parameter) const {
  const auto found = std::find(parameters.begin(), parameters.end(), parameter);
  return values[static_cast<std::size_t>(found - parameters.begin())];
}

std::variant<Bound, Raised> python_bind(const Signature& signature, std::span<const JsonValue> positional,
                                        std::span<const JsonMember> keywords) {
  const std::vector<std::string_view>& parameters = signature.parameters;
  const auto complaint = [&signature](std::string_view what) {
    return Raised::type_error(format("{}() {}", signature.name, what));
  };
  const auto named = static_cast<std::ptrdiff_t>(std::min(positional.size(), parameters.size()));
  Bound bound{parameters, {positional.begin(), positional.begin() + named}, {}, {}, {}};
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
