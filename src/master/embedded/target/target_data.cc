// SPDX-License-Identifier: MIT
#include <algorithm>

#include "master/embedded/target/target.h"
#include "master/embedded/text.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded::target {

namespace {

constexpr std::string_view kAnyKey = "*:";
// A comparison with a long text is 1 unit of work for each `kShort` bytes.
constexpr std::size_t kShort = 16;

std::optional<JsonValue> traverse(JsonValue value, std::string_view path, std::string_view delimiter) {
  for (;;) {
    const std::size_t end = path.find(delimiter);
    const std::optional<JsonValue> found = step_into(value, path.substr(0, end));
    if (!found || end == std::string_view::npos) return found;
    value = *found;
    path.remove_prefix(end + delimiter.size());
  }
}

std::vector<std::size_t> ends_of(std::string_view text, std::string_view delimiter) {
  std::vector<std::size_t> ends;
  for (std::size_t at = text.find(delimiter); at != std::string_view::npos;
       at = text.find(delimiter, at + delimiter.size())) {
    ends.push_back(at + delimiter.size());
  }
  return ends;
}

}  // namespace

/// Matches an expression with data once. Each comparison spends its work. A pattern is always a suffix of the
/// expression.
class DataMatcher::Match {
 public:
  Match(const DataMatcher& matcher, Work& work) : matcher_(matcher), work_(work) {}

  bool expression(JsonValue data, std::string_view expression, std::string_view delimiter) {
    // As in Salt, the longest path is tried first.
    for (std::size_t at = expression.rfind(delimiter); at != std::string_view::npos;
         at = at == 0 ? std::string_view::npos : expression.rfind(delimiter, at - 1)) {
      const std::string_view path = expression.substr(0, at);
      if (!work_.spend(1 + path.size() / kShort)) return false;
      if (path == "*") {
        if (object(data, expression)) return true;
        continue;
      }
      const std::optional<JsonValue> found = traverse(data, path, delimiter);
      if (found && below(*found, expression.substr(at + delimiter.size()))) return true;
    }
    return false;
  }

 private:
  bool below(JsonValue value, std::string_view pattern) {
    if (value.is(JsonValue::Kind::object)) return value.size() != 0 && object(value, pattern);
    if (!value.is(JsonValue::Kind::array)) return scalar(value, pattern);
    for (const JsonValue member : value.elements()) {
      if (member.is(JsonValue::Kind::object) && object(member, pattern)) return true;
      if (scalar(member, pattern)) return true;
    }
    return false;
  }

  bool object(JsonValue object, std::string_view pattern) {
    if (!work_.spend(1 + pattern.size() / kShort)) return false;
    const bool any_key = pattern.substr(0, kAnyKey.size()) == kAnyKey;
    if (any_key) pattern.remove_prefix(kAnyKey.size());
    if (pattern == "*" || object.find(pattern)) return true;
    for (const auto& [key, value] : object.members()) {
      if (text(key, pattern)) return true;
    }
    if (expression(object, pattern, ":")) return true;
    return any_key && any_value(object, pattern);
  }

  bool any_value(JsonValue object, std::string_view pattern) {
    for (const auto& [key, value] : object.members()) {
      if (value.is(JsonValue::Kind::object)) {
        if (this->object(value, pattern)) return true;
      } else if (value.is(JsonValue::Kind::array)) {
        for (const JsonValue member : value.elements()) {
          if (scalar(member, pattern)) return true;
        }
      } else if (scalar(value, pattern)) {
        return true;
      }
    }
    return false;
  }

  bool text(std::string_view text, std::string_view pattern) {
    // The work grows with the product of the two lengths, because a glob may read the text once for each of
    // its stars.
    const std::size_t lengths = pattern.size() / kShort * (1 + text.size() / kShort) + text.size() / kShort;
    if (!work_.spend(1 + lengths)) return false;
    if (matcher_.how_ == How::pcre) {
      const auto regex =
          matcher_.patterns_.find(static_cast<std::size_t>(pattern.data() - matcher_.expression_.data()));
      return regex != matcher_.patterns_.end() && match_regex(regex->second, lower(text), work_);
    }
    if (matcher_.how_ == How::exact) return lower(pattern) == lower(text);
    return glob_match(lower(pattern), lower(text));
  }

  bool scalar(JsonValue value, std::string_view pattern) { return text(value.python_str(), pattern); }

  const DataMatcher& matcher_;
  Work& work_;
};

Result<DataMatcher> DataMatcher::compile(std::string_view expression, std::string_view delimiter, How how,
                                         Work& work) {
  const std::size_t levels = ends_of(expression, delimiter).size();
  const std::size_t most = how == How::pcre ? kMaxPcreLevels : kMaxLevels;
  if (levels > most) {
    return Error{ErrorKind::invocation, format("the key has {} levels, expected at most {}", levels, most)};
  }
  DataMatcher matcher(expression, delimiter, how);
  if (how != How::pcre) return matcher;
  if (Result<void> compiled = matcher.compile_patterns(work); !compiled) return std::move(compiled).error();
  return matcher;
}

Result<void> DataMatcher::compile_patterns(Work& work) {
  const std::string text = lower(expression_);
  const std::vector<std::size_t> ends = ends_of(expression_, delimiter_);
  std::vector<std::size_t> offsets = ends_of(expression_, kAnyKey.substr(1));
  if (offsets.size() > kMaxLevels) offsets.resize(kMaxLevels);
  offsets.insert(offsets.begin(), ends.begin(), ends.end());
  offsets.push_back(0);
  std::optional<Error> first_error;
  for (const std::size_t offset : offsets) {
    if (patterns_.contains(offset)) continue;
    Result<Regex> regex = compile_regex(std::string_view(text).substr(offset), work);
    if (work.is_spent()) return Work::error();
    if (regex) {
      patterns_.emplace(offset, *std::move(regex));
    } else if (!first_error) {
      first_error = regex.error();
    }
  }
  // Each delimiter in the expression may be the end of the key. The rest after this delimiter is then the
  // pattern. The expression is accepted if at least one of these patterns is valid. For `a:(b:c)`, the
  // pattern `(b:c)` is valid and the pattern `c)` is not, so the expression is accepted.
  const bool has_value =
      std::any_of(ends.begin(), ends.end(), [this](std::size_t end) { return patterns_.contains(end); });
  if (has_value || ends.empty()) return {};
  return *std::move(first_error);
}

bool DataMatcher::matches(JsonValue data, Work& work) const {
  return Match(*this, work).expression(data, expression_, delimiter_);
}

}  // namespace rest_fcgi::embedded::target
