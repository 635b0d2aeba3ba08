// SPDX-License-Identifier: MIT
#include "lowstate/yaml_flow.h"

#include <set>
#include <string>

#include "lowstate/yaml_quoted.h"
#include "lowstate/yaml_scalar.h"

namespace rest_fcgi::lowstate {
namespace {

/// One pass over a text. Each `parse_` member leaves the cursor behind what it read, and gives nothing where
/// that is not what stands there; the whole text is then no YAML for us.
class FlowParser {
 public:
  explicit FlowParser(std::string_view text) : text_(text) {}

  std::optional<Json> parse_all() {
    std::optional<Json> value = parse_value(0);
    skip_blanks();
    const bool comment = at_ < text_.size() && text_[at_] == '#' && text_[at_ - 1] == ' ';
    return at_ == text_.size() || comment ? value : std::nullopt;
  }

 private:
  static constexpr int kMaxDepth = 100;
  static constexpr std::string_view kBrackets = ",[]{}";

  std::optional<Json> parse_value(int depth);
  std::optional<Json> parse_list(int depth);
  std::optional<Json> parse_map(int depth);
  std::optional<Json> parse_plain();
  std::optional<std::string> parse_key(bool& in_quotes);
  bool ends_plain() const;

  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  /// Is `c` what comes next, behind blanks? Then it is taken.
  bool take(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  /// Behind an element: `,` or the closing bracket? Absent where neither stands there.
  std::optional<bool> take_end(char close) {
    if (take(close)) return true;
    if (take(',')) return false;
    return std::nullopt;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::optional<Json> FlowParser::parse_value(int depth) {
  skip_blanks();
  if (at_ == text_.size() || depth > kMaxDepth) return std::nullopt;
  switch (text_[at_]) {
    case '[':
      return parse_list(depth);
    case '{':
      return parse_map(depth);
    case '"':
    case '\'':
      if (std::optional<std::string> value = parse_quoted(text_, at_)) return Json::string(*value);
      return std::nullopt;
    default:
      return parse_plain();
  }
}

std::optional<Json> FlowParser::parse_list(int depth) {
  std::string out;
  JsonWriter writer(out);
  writer.begin_array();
  ++at_;
  bool ended = take(']');
  while (!ended) {
    const std::optional<Json> element = parse_value(depth + 1);
    const std::optional<bool> end = element ? take_end(']') : std::nullopt;
    if (!end) return std::nullopt;
    writer.json(*element);
    ended = *end || take(']');
  }
  writer.end_array();
  return Json::trusted(std::move(out));
}

std::optional<Json> FlowParser::parse_map(int depth) {
  std::string out;
  JsonWriter writer(out);
  writer.begin_object();
  ++at_;
  std::set<std::string> keys;
  bool ended = take('}');
  while (!ended) {
    bool in_quotes = false;
    const std::optional<std::string> key = parse_key(in_quotes);
    if (!key || !keys.insert(*key).second) return std::nullopt;
    Json value;
    const bool colon = take(':');
    skip_blanks();
    if (colon && at_ < text_.size() && text_[at_] != ',' && text_[at_] != '}') {
      if (!in_quotes && text_[at_ - 1] != ' ') return std::nullopt;
      std::optional<Json> parsed = parse_value(depth + 1);
      if (!parsed) return std::nullopt;
      value = *std::move(parsed);
    }
    const std::optional<bool> end = take_end('}');
    if (!end) return std::nullopt;
    writer.key(*key).json(value);
    ended = *end || take('}');
  }
  writer.end_object();
  return Json::trusted(std::move(out));
}

/// A key as JSON names it: `1` and `yes` are `1` and `true`, as Python's `json.dumps` writes such keys.
std::optional<std::string> FlowParser::parse_key(bool& in_quotes) {
  skip_blanks();
  if (at_ == text_.size()) return std::nullopt;
  in_quotes = text_[at_] == '"' || text_[at_] == '\'';
  if (in_quotes) return parse_quoted(text_, at_);
  const std::size_t begin = at_;
  const std::optional<Json> key = parse_plain();
  if (!key) return std::nullopt;
  if (!key->text().starts_with('"')) return key->text();
  const std::string_view word = text_.substr(begin, at_ - begin);
  return std::string(word.substr(0, word.find_last_not_of(' ') + 1));
}

/// Does a word without quotes end here?
bool FlowParser::ends_plain() const {
  const char c = text_[at_];
  if (kBrackets.find(c) != std::string_view::npos) return true;
  if (c == '#') return text_[at_ - 1] == ' ';
  if (c != ':') return false;
  const char next = at_ + 1 == text_.size() ? ' ' : text_[at_ + 1];
  return next == ' ' || kBrackets.find(next) != std::string_view::npos;
}

std::optional<Json> FlowParser::parse_plain() {
  constexpr std::string_view indicators = "#&*!|>'\"%@`?:";
  const char first = text_[at_];
  if (kBrackets.find(first) != std::string_view::npos || indicators.find(first) != std::string_view::npos) {
    return std::nullopt;
  }
  if (text_.substr(at_).starts_with("- ")) return std::nullopt;
  const std::size_t begin = at_;
  while (at_ < text_.size() && !ends_plain()) ++at_;
  std::string_view word = text_.substr(begin, at_ - begin);
  word = word.substr(0, word.find_last_not_of(' ') + 1);
  if (word == "=" || word == "<<") return std::nullopt;  // YAML 1.1's value and merge keys
  return resolve_plain_scalar(word);
}

}  // namespace

std::optional<Json> parse_yaml_flow(std::string_view text) {
  return FlowParser(text).parse_all();
}

}  // namespace rest_fcgi::lowstate
