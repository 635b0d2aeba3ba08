// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/text.h"
#include "rest_fcgi/master/secrets.h"

// Values of secrets in texts such as bodies, command lines and headers. A text may be large and may be made
// to take long: each byte is looked at a few times at most.

namespace rest_fcgi::master {
namespace {

constexpr bool is_of_name(char byte) noexcept {
  return is_letter(byte) || is_digit(byte) || byte == '_' || byte == '-' || byte == '.';
}

constexpr bool is_quote(char byte) noexcept {
  return byte == '"' || byte == '\'';
}

constexpr bool is_blank(char byte) noexcept {
  return byte == ' ' || byte == '\t';
}

constexpr std::string_view kLineEnds = "\r\n";

/// Where a name or value lies in the text.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// A quotation mark with its backslashes, as in `\"` of JSON within JSON.
struct Quote {
  char mark = 0;  ///< 0: there is none
  std::size_t backslashes = 0;
};

/// Finds the value that follows a name. Borrows the text.
class ValueFinder {
 public:
  explicit ValueFinder(std::string_view text) : text_(text) {
    constexpr std::string_view kBlanks = " \t\r\n";
    std::size_t first = text.find_first_not_of(kBlanks);
    is_json_ = first != std::string_view::npos && text[first] == '{';
    if (is_json_ || first == std::string_view::npos || text[first] != '[') return;
    first = text.find_first_not_of(kBlanks, first + 1);  // `[name]` begins a section of an INI file
    is_json_ = first != std::string_view::npos && std::string_view("{[\"").find(text[first]) < 3;
  }

  /// Returns whether the value at `begin` is a member of a JSON object and no text in quotation marks.
  [[nodiscard]] bool is_bare_member(const Span& name, std::size_t begin) const {
    return is_json_ && is_quote(text_[name.end]) && begin > 0 && !is_quote(text_[begin - 1]);
  }

  /// `delimiter` is where `=`, `:`, or the blank behind an option lies.
  [[nodiscard]] Span value_of(const Span& name, std::size_t delimiter) const {
    const char gives = text_[delimiter];
    const bool is_member = gives == ':' && (is_quote(text_[name.end]) || text_[name.end] == '\\');
    const std::string_view skipped = is_member ? " \t\r\n" : " \t";
    const std::size_t at = std::min(text_.find_first_not_of(skipped, delimiter + 1), text_.size());
    if (text_[name.begin] == '-') return {at, end_of_word(at)};
    if (const auto inner = quoted(at)) {
      if (is_member || is_end_of_value(inner->end + 1, gives)) return *inner;
    }
    if (gives == ':' && at < text_.size() && (text_[at] == '[' || text_[at] == '{')) {
      return {at, end_of_brackets(at)};
    }
    const std::string_view ends = gives == '=' ? "&\r\n" : is_member && is_json_ ? ",}]\r\n" : kLineEnds;
    const std::size_t end = std::min(text_.find_first_of(ends, at), text_.size());
    if (is_member && is_json_) return {at, end};
    const Quote outer = is_member ? Quote() : quote_around(name.begin);
    if (outer.mark != 0) return {at, std::min(end, closing(at, outer))};
    return {at, gives == ':' ? end_of_block(name, end) : end};
  }

 private:
  /// Returns the quotation mark that ends the text of which a name is part, as in `'X-Auth-Token: x'`. In
  /// JSON each text ends with one.
  [[nodiscard]] Quote quote_around(std::size_t at) const {
    if (at == 0 || !is_quote(text_[at - 1])) return {is_json_ ? '"' : char(0)};
    Quote quote{text_[at - 1]};
    for (std::size_t i = at - 1; i > 0 && text_[i - 1] == '\\'; --i) ++quote.backslashes;
    return quote;
  }

  [[nodiscard]] Quote quote_at(std::size_t at) const {
    const std::size_t mark = text_.find_first_not_of('\\', at);
    if (mark == std::string_view::npos || !is_quote(text_[mark])) return {};
    return {text_[mark], mark - at};
  }

  /// Returns where the quotation mark that closes stands, before its backslashes; the text's end: nowhere.
  [[nodiscard]] std::size_t closing(std::size_t at, const Quote& quote) const {
    const std::size_t unit = quote.backslashes + 1;
    for (std::size_t mark = text_.find(quote.mark, at); mark != std::string_view::npos;
         mark = text_.find(quote.mark, mark + 1)) {
      std::size_t run = 0;
      while (mark - run > at && text_[mark - run - 1] == '\\') ++run;
      // What is more than the mark's own backslashes stands for backslashes of the value, two for each.
      const bool closes = run <= quote.backslashes || (run - quote.backslashes) / unit % 2 == 0;
      if (closes) return mark - std::min(run, quote.backslashes);
    }
    return text_.size();
  }

  /// What is between quotation marks, where the value begins with one.
  [[nodiscard]] std::optional<Span> quoted(std::size_t at) const {
    const Quote quote = quote_at(at);
    if (quote.mark == 0) return std::nullopt;
    const std::size_t begin = at + quote.backslashes + 1;
    return Span{begin, closing(begin, quote)};
  }

  /// Returns whether the value ends with the quotation mark before `at`.
  [[nodiscard]] bool is_end_of_value(std::size_t at, char gives) const {
    const std::size_t next = text_.find_first_not_of(" \t", at);
    if (at >= text_.size() || next == std::string_view::npos) return true;
    if (gives == '=') return std::string_view("&;, \t\r\n").find(text_[at]) != std::string_view::npos;
    return kLineEnds.find(text_[next]) != std::string_view::npos;
  }

  /// Returns the end of a word of a command line.
  [[nodiscard]] std::size_t end_of_word(std::size_t at) const {
    while (at < text_.size() && !is_blank(text_[at]) && kLineEnds.find(text_[at]) == std::string_view::npos) {
      if (is_json_ && text_[at] == '"') return at;
      if (const auto inner = quoted(at)) {
        at = inner->end + quote_at(at).backslashes + 1;
      } else {
        at += text_[at] == '\\' ? 2U : 1U;
      }
    }
    return std::min(at, text_.size());
  }

  /// Returns the place behind the bracket that closes the one at `at`; the text's end: there is none.
  [[nodiscard]] std::size_t end_of_brackets(std::size_t at) const {
    std::size_t depth = 0;
    for (; at < text_.size(); ++at) {
      if (text_[at] == '[' || text_[at] == '{') ++depth;
      if ((text_[at] == ']' || text_[at] == '}') && --depth == 0) return at + 1;
      if (const auto inner = is_quote(text_[at]) ? quoted(at) : std::nullopt) at = inner->end;
    }
    return text_.size();
  }

  /// Returns the end of a YAML value: of the lines that follow, those belong to it that are indented more
  /// than its name, and the items of a list that are indented as much.
  [[nodiscard]] std::size_t end_of_block(const Span& name, std::size_t end) const {
    const std::size_t start = text_.find_last_of(kLineEnds, name.begin);
    const std::size_t line = start == std::string_view::npos ? 0 : start + 1;
    if (text_.substr(line, name.begin - line).find_first_not_of(" -\"'") != std::string_view::npos)
      return end;
    const std::size_t indent = name.begin - line;
    while (end < text_.size()) {
      const std::size_t next = text_.find_first_not_of(kLineEnds, end);
      if (next == std::string_view::npos) break;
      const std::size_t first = std::min(text_.find_first_not_of(' ', next), text_.size());
      const bool is_item = first - next == indent && text_.substr(first).starts_with("- ");
      const bool is_empty = first < text_.size() && kLineEnds.find(text_[first]) != std::string_view::npos;
      if (first - next <= indent && !is_item && !is_empty) break;
      end = std::min(text_.find_first_of(kLineEnds, first), text_.size());
    }
    return end;
  }

  std::string_view text_;
  bool is_json_ = false;
};

/// Returns the text with the byte that each `%XX` stands for.
std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned byte = 0;
    const char* const code = text.data() + at + 1;
    if (text[at] == '%' && at + 2 < text.size() &&
        std::from_chars(code, code + 2, byte, 16).ptr == code + 2) {
      out += static_cast<char>(byte);
      at += 2;
    } else {
      out += text[at];
    }
  }
  return out;
}

/// Walks over a text, name by name.
class Redactor {
 public:
  explicit Redactor(std::string_view text) : text_(text), values_(text) {}

  std::optional<std::string> run() {
    constexpr std::string_view between = " \t\"'\\]";
    Span name;              // the last one, with nothing but blanks and quotation marks behind it
    bool is_asked = false;  // an option was looked at when the first blank came
    for (std::size_t at = 0; at < text_.size(); ++at) {
      const char byte = text_[at];
      if (is_of_name(byte)) {
        if (name.end < at || name.begin == name.end) name.begin = at;
        name.end = at + 1;
        is_asked = false;
        continue;
      }
      const bool is_option = byte == ' ' && !is_asked && text_[name.begin] == '-';
      is_asked = is_asked || byte == ' ';
      if (name.begin < name.end && (byte == '=' || byte == ':' || is_option)) {
        if (const auto end = hide(name, at)) {
          at = *end - 1;
          name = {*end, *end};
          continue;
        }
      }
      if (byte == '%' && is_bracket(text_.substr(at, 3))) {
        at += 2;
      } else if (between.find(byte) == std::string_view::npos) {
        name = {at + 1, at + 1};
      }
    }
    if (copied_ == 0) return std::nullopt;
    return out_.append(text_.substr(copied_));
  }

 private:
  /// `user[password]=x`, as forms encode it.
  static bool is_bracket(std::string_view code) { return code == "%5D" || code == "%5d"; }

  /// Hides what follows the name, where it is a secret, and returns where that ends.
  std::optional<std::size_t> hide(const Span& name, std::size_t delimiter) {
    const Secrecy secrecy = secrecy_of(text_.substr(name.begin, name.end - name.begin));
    if (secrecy == Secrecy::shown) return std::nullopt;
    const auto [begin, end] = values_.value_of(name, delimiter);
    const std::string_view value = text_.substr(begin, end - begin);
    if (begin >= end || (secrecy == Secrecy::hidden_but_count && is_count(value))) return std::nullopt;
    out_.append(text_.substr(copied_, begin - copied_));
    if (!values_.is_bare_member(name, begin)) {
      out_.append(kHidden);
    } else if (value == "null" || value == "true" || value == "false") {
      out_.append(value);
    } else {
      out_.append("\"").append(kHidden).append("\"");  // the text stays JSON
    }
    copied_ = end;
    return end;
  }

  std::string_view text_;
  ValueFinder values_;
  std::string out_;
  std::size_t copied_ = 0;
};

}  // namespace

std::optional<std::string> without_secrets(std::string_view text) {
  if (auto shown = Redactor(text).run()) return shown;
  // A form may hold JSON or another form, as in `payload=%7B%22token%22%3A...`.
  return text.find('%') == std::string_view::npos ? std::nullopt : Redactor(percent_decoded(text)).run();
}

}  // namespace rest_fcgi::master
