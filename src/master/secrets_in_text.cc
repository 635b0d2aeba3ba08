// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/text.h"
#include "rest_fcgi/master/secrets.h"

// Finds secrets in texts such as bodies, command lines and headers. Each byte is read only a few times,
// because an attacker may send a large text.

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

/// The characters that end a value without quotation marks in a plain text.
constexpr std::string_view kPlainEnds = "&;, \t\r\n";

/// A quotation mark ends a value only if one of these characters follows it.
constexpr std::string_view kBehindQuote = "&;, \t\r\n)]}>/?:";

/// Returns whether the value of the header `name` may contain blanks and `;`.
bool is_header_of_many_words(std::string_view name) {
  const std::string small = lower(name);
  return small.ends_with("authorization") || small.ends_with("cookie") || small.ends_with("cookies");
}

/// The largest distance in bytes from a name to the end of its XML start tag or multipart headers.
constexpr std::size_t kMostOfTag = 1024;

struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// A quotation mark with the backslashes before it, as in `\"` of JSON inside JSON.
struct Quote {
  char mark = 0;  ///< The quotation mark; 0 if it is missing.
  std::size_t backslashes = 0;
};

class ValueFinder {
 public:
  ValueFinder(std::string_view text, TextKind kind) : text_(text), kind_(kind) {
    constexpr std::string_view kBlanks = " \t\r\n";
    std::size_t first = text.find_first_not_of(kBlanks);
    is_json_ = first != std::string_view::npos && text[first] == '{';
    if (is_json_ || first == std::string_view::npos || text[first] != '[') return;
    // `[name]` begins a section of an INI file, not a JSON list.
    first = text.find_first_not_of(kBlanks, first + 1);
    is_json_ = first != std::string_view::npos && std::string_view("{[\"").find(text[first]) < 3;
  }

  [[nodiscard]] bool is_bare_member(const Span& name, std::size_t begin) const {
    return is_json_ && is_quote(text_[name.end]) && begin > 0 && !is_quote(text_[begin - 1]);
  }

  /// Returns the position of the value after a name. `delimiter` is the position of `=` or `:`, or of the
  /// blank after an option.
  [[nodiscard]] Span value_of(const Span& name, std::size_t delimiter) const {
    const char gives = text_[delimiter];
    const bool is_member = gives == ':' && (is_quote(text_[name.end]) || text_[name.end] == '\\');
    const std::string_view skipped = is_member ? " \t\r\n" : " \t";
    const std::size_t at = std::min(text_.find_first_not_of(skipped, delimiter + 1), text_.size());
    if (text_[name.begin] == '-') return {at, end_of_word(at)};
    if (kind_ == TextKind::argument && name.begin == 0 && delimiter == name.end && gives == '=') {
      return {at, text_.size()};
    }
    if (const auto inner = quoted(at)) {
      if (is_member || is_end_of_value(behind_quote(at, *inner), gives)) return *inner;
    }
    if (gives == ':' && at < text_.size() && (text_[at] == '[' || text_[at] == '{')) {
      return {at, end_of_brackets(at)};
    }
    if (is_member && is_json_) return {at, std::min(text_.find_first_of(",}]\r\n", at), text_.size())};
    const bool is_text = kind_ != TextKind::form && !is_member && !is_header_of_many_words(name_text(name));
    const bool is_line = (gives == ':' || delimiter > name.end) && line_of(name);
    const bool is_quoted_header = gives == ':' && is_behind_quote(name.begin);
    if (is_text && !is_line && !is_quoted_header) return {at, end_of_plain(at)};
    const bool is_form = kind_ == TextKind::form && gives == '=';
    const std::size_t end = std::min(text_.find_first_of(is_form ? "&\r\n" : kLineEnds, at), text_.size());
    if (is_member) return {at, end_of_block(name, end)};
    if (is_text && gives == '=') return {at, end_of_setting(at, end)};
    if (is_text && !is_quoted_header) return {at, end_of_block(name, end_of_pair(at, end))};
    const Quote outer = quote_around(name.begin);
    if (outer.mark != 0) return {at, std::min(end, closing(at, outer))};
    return {at, gives == ':' ? end_of_block(name, end) : end};
  }

  /// Returns the position of the password in a URL, or an empty Span. `colon` is the position of the `:`
  /// before the slashes.
  [[nodiscard]] Span password_of_url(std::size_t colon) const {
    const std::string_view rest = text_.substr(colon);
    // In JSON, a backslash may precede each slash of the URL.
    const std::size_t slashes = rest.starts_with("://") ? 3 : rest.starts_with(":\\/\\/") ? 5 : 0;
    if (slashes == 0) return {};
    const std::string_view ends = kind_ == TextKind::form ? "/\\?#<>\"' \t\r\n&" : "/\\?#<>\"' \t\r\n";
    const std::size_t begin = colon + slashes;
    const std::string_view authority =
        text_.substr(begin, std::min(text_.find_first_of(ends, begin), text_.size()) - begin);
    const std::size_t at_sign = authority.rfind('@');
    const std::size_t user_end = authority.find(':');
    if (at_sign == std::string_view::npos || user_end >= at_sign) return {};
    return {begin + user_end + 1, begin + at_sign};
  }

  /// Returns the position after the XML start tag with the name `name`. Returns std::nullopt if `name` is not
  /// the name of a start tag, or if the tag has no content (`<name/>`).
  [[nodiscard]] std::optional<std::size_t> behind_start_tag(const Span& name) const {
    if (name.begin == 0 || (text_[name.begin - 1] != '<' && text_[name.begin - 1] != ':'))
      return std::nullopt;
    const std::size_t end = text_.substr(name.end, kMostOfTag).find_first_of("<>");
    if (end == std::string_view::npos) return std::nullopt;
    const bool has_content = text_[name.end + end] == '>' && text_[name.end + end - 1] != '/';
    return has_content ? std::optional(name.end + end + 1) : std::nullopt;
  }

  /// Returns the position of the next XML end tag. In JSON, a backslash may precede the slash of the tag.
  [[nodiscard]] std::size_t end_tag(std::size_t at) const {
    for (std::size_t slash = text_.find('/', at); slash != std::string_view::npos;
         slash = text_.find('/', slash + 1)) {
      const std::size_t before = text_[slash - 1] == '\\' ? slash - 2 : slash - 1;
      if (before >= at && text_[before] == '<') return before;
    }
    return std::string_view::npos;
  }

  /// Returns the position of the content in a part of a multipart body (RFC 7578). The part is the one whose
  /// headers contain `name`. Returns an empty Span if `name` is not in such headers.
  [[nodiscard]] Span part_of(const Span& name) const {
    if (!text_.substr(0, name.begin).ends_with("name=\"")) return {};
    const std::string_view headers = text_.substr(name.end, kMostOfTag);
    for (const std::string_view line_end : {"\r\n", "\n"}) {
      const std::string empty_line = std::string(line_end).append(line_end);
      const std::size_t headers_end = headers.find(empty_line);
      if (headers_end == std::string_view::npos) continue;
      const std::size_t begin = name.end + headers_end + empty_line.size();
      const std::size_t end = text_.find(std::string(line_end) + "--", begin);
      return {begin, std::min(end, text_.size())};
    }
    return {};
  }

 private:
  /// Returns the quotation mark before the name at `at`, as in `'X-Auth-Token: x'`. Without this mark,
  /// returns `"` in JSON, and a Quote without a mark in any other text.
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

  /// Returns the position of the closing quotation mark. If backslashes escape this mark, returns the
  /// position of the first one. Returns the end of the text if the closing mark is missing.
  [[nodiscard]] std::size_t closing(std::size_t at, const Quote& quote) const {
    const std::size_t unit = quote.backslashes + 1;
    for (std::size_t mark = text_.find(quote.mark, at); mark != std::string_view::npos;
         mark = text_.find(quote.mark, mark + 1)) {
      std::size_t run = 0;
      while (mark - run > at && text_[mark - run - 1] == '\\') ++run;
      // In the text, `unit` backslashes stand for one backslash of the value. An odd number of backslashes
      // escapes the quotation mark after them, so this mark does not end the value.
      const bool closes = run <= quote.backslashes || (run - quote.backslashes) / unit % 2 == 0;
      if (closes) return mark - std::min(run, quote.backslashes);
    }
    return text_.size();
  }

  [[nodiscard]] std::optional<Span> quoted(std::size_t at) const {
    const Quote quote = quote_at(at);
    if (quote.mark == 0) return std::nullopt;
    const std::size_t begin = at + quote.backslashes + 1;
    return Span{begin, closing(begin, quote)};
  }

  [[nodiscard]] std::size_t behind_quote(std::size_t at, const Span& inner) const {
    return std::min(inner.end + quote_at(at).backslashes + 1, text_.size());
  }

  [[nodiscard]] bool is_end_of_value(std::size_t at, char gives) const {
    const std::size_t next = text_.find_first_not_of(" \t", at);
    if (at >= text_.size() || next == std::string_view::npos) return true;
    if (gives == '=') {
      return (kind_ == TextKind::form ? kPlainEnds : kBehindQuote).find(text_[at]) != std::string_view::npos;
    }
    return kLineEnds.find(text_[next]) != std::string_view::npos;
  }

  /// Returns the end of a value without quotation marks, or with quotation marks around only a part of it. A
  /// quotation mark inside a word, as in `it's`, does not end the value.
  [[nodiscard]] std::size_t end_of_plain(std::size_t at) const {
    const std::size_t begin = at;
    if (const auto inner = quoted(at)) at = behind_quote(at, *inner);
    for (; at < text_.size() && kPlainEnds.find(text_[at]) == std::string_view::npos; ++at) {
      const char next = at + 1 < text_.size() ? text_[at + 1] : ' ';
      if (is_json_ && text_[at] == '\\' && std::string_view("nrt").find(next) != std::string_view::npos)
        return at;
      if (is_json_ && text_[at] == '\\' && next == '\\') ++at;
      const bool ends = next == '\\' || kBehindQuote.find(next) != std::string_view::npos;
      if (!is_quote(text_[at]) || !ends) continue;
      while (at > begin && text_[at - 1] == '\\') --at;
      return at;
    }
    return std::min(at, text_.size());
  }

  /// Returns the end of the value in a line `name = value` of an INI file. Such a value may contain blanks.
  [[nodiscard]] std::size_t end_of_setting(std::size_t at, std::size_t line_end) const {
    for (; at + 1 < line_end; ++at) {
      if ((text_[at] == ',' || text_[at] == ';') && is_blank(text_[at + 1])) return at;
    }
    return line_end;
  }

  /// Returns the end of the value at `at` in a line of pairs such as `token: x, user: y`. Returns `line_end`
  /// for any other line.
  [[nodiscard]] std::size_t end_of_pair(std::size_t at, std::size_t line_end) const {
    for (; at + 1 < line_end; ++at) {
      if ((text_[at] != ',' && text_[at] != ';') || !is_blank(text_[at + 1])) continue;
      std::size_t next = at + 2;
      while (next < line_end && is_of_name(text_[next])) ++next;
      if (next > at + 2 && next < line_end && (text_[next] == ':' || text_[next] == '=')) return at;
    }
    return line_end;
  }

  /// Returns the position where the line that contains `name` begins, or std::nullopt if `name` is not the
  /// line's first word.
  [[nodiscard]] std::optional<std::size_t> line_of(const Span& name) const {
    std::size_t line = name.begin;
    while (line > 0 && std::string_view(" -\"'").find(text_[line - 1]) != std::string_view::npos) --line;
    if (line > 0 && kLineEnds.find(text_[line - 1]) == std::string_view::npos) return std::nullopt;
    return line;
  }

  [[nodiscard]] std::string_view name_text(const Span& name) const {
    return text_.substr(name.begin, name.end - name.begin);
  }

  [[nodiscard]] bool is_behind_quote(std::size_t at) const { return at > 0 && is_quote(text_[at - 1]); }

  [[nodiscard]] std::size_t end_of_word(std::size_t at) const {
    while (at < text_.size() && std::string_view("&; \t\r\n").find(text_[at]) == std::string_view::npos) {
      if (is_json_ && text_[at] == '"') return at;
      if (const auto inner = quoted(at)) {
        at = behind_quote(at, *inner);
      } else {
        at += text_[at] == '\\' ? 2U : 1U;
      }
    }
    return std::min(at, text_.size());
  }

  [[nodiscard]] std::size_t end_of_brackets(std::size_t at) const {
    std::size_t depth = 0;
    for (; at < text_.size(); ++at) {
      if (text_[at] == '[' || text_[at] == '{') ++depth;
      if ((text_[at] == ']' || text_[at] == '}') && --depth == 0) return at + 1;
      if (const auto inner = is_quote(text_[at]) ? quoted(at) : std::nullopt) at = inner->end;
    }
    return text_.size();
  }

  /// Returns the end of a YAML value. The value continues in lines with more indentation than the name, and
  /// in list items with the same indentation as the name.
  [[nodiscard]] std::size_t end_of_block(const Span& name, std::size_t end) const {
    const auto line = line_of(name);
    if (!line || (end < text_.size() && kLineEnds.find(text_[end]) == std::string_view::npos)) return end;
    const std::size_t indent = name.begin - *line;
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
  TextKind kind_;
  bool is_json_ = false;
};

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

class Redactor {
 public:
  Redactor(std::string_view text, TextKind kind) : text_(text), values_(text, kind) {}

  std::optional<std::string> run() {
    constexpr std::string_view between = " \t\"'\\]";
    // The last name before `at`. Only blanks, quotation marks, backslashes and `]` stand between the name and
    // `at`.
    Span name;
    // Whether a blank has followed the name. The value of an option such as `--password` begins after the
    // first blank. A later blank does not begin a value.
    bool is_asked = false;
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
      if (const Span value = marked_value(name, at); value.begin < value.end) {
        put_hidden(value);
        at = value.end - 1;
        name = {value.end, value.end};
        continue;
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
  /// Returns whether `code` is an encoded `]`, as in the form field `user%5Bpassword%5D=x`.
  static bool is_bracket(std::string_view code) { return code == "%5D" || code == "%5d"; }

  /// Hides the value after a secret's name and returns its end. Returns std::nullopt for any other name.
  std::optional<std::size_t> hide(const Span& name, std::size_t delimiter) {
    const Secrecy secrecy = secrecy_of(text_.substr(name.begin, name.end - name.begin));
    if (secrecy == Secrecy::shown) return std::nullopt;
    const auto [begin, end] = values_.value_of(name, delimiter);
    const std::string_view value = text_.substr(begin, end - begin);
    if (begin >= end || (secrecy == Secrecy::hidden_but_count && is_count(value))) return std::nullopt;
    if (value == kHidden) return end;
    out_.append(text_.substr(copied_, begin - copied_));
    if (!values_.is_bare_member(name, begin)) {
      out_.append(kHidden);
    } else if (value == "null" || value == "true" || value == "false") {
      out_.append(value);
    } else {
      // The JSON string `kHidden` replaces a value without quotation marks, such as a number. The added
      // quotation marks keep the JSON valid.
      out_.append("\"").append(kHidden).append("\"");
    }
    copied_ = end;
    return end;
  }

  /// Returns the position of the secret that begins after `at`, or an empty Span if no secret begins there.
  /// If the text has a `:` at `at`, the colon may belong to a URL. Otherwise `at` is the end of a name, and
  /// the name may belong to an XML tag or to a multipart header.
  [[nodiscard]] Span marked_value(const Span& name, std::size_t at) {
    if (text_[at] == ':') return values_.password_of_url(at);
    const bool is_tag = text_[at] == '>' || text_[at] == ' ';
    if (name.end != at || name.begin >= name.end || (!is_tag && text_[at] != '"')) return {};
    if (!names_a_secret(text_.substr(name.begin, name.end - name.begin))) return {};
    if (!is_tag) return values_.part_of(name);
    const auto begin = has_end_tags_ ? values_.behind_start_tag(name) : std::nullopt;
    if (!begin) return {};
    const std::size_t end = values_.end_tag(*begin);
    has_end_tags_ = end != std::string_view::npos;
    return has_end_tags_ ? Span{*begin, end} : Span();
  }

  void put_hidden(const Span& value) {
    if (text_.substr(value.begin, value.end - value.begin) == kHidden) return;
    out_.append(text_.substr(copied_, value.begin - copied_)).append(kHidden);
    copied_ = value.end;
  }

  std::string_view text_;
  ValueFinder values_;
  bool has_end_tags_ = true;
  std::string out_;
  std::size_t copied_ = 0;
};

}  // namespace

TextKind kind_of_body(std::string_view content_type) {
  return lower(content_type).starts_with("application/x-www-form-urlencoded") ? TextKind::form
                                                                              : TextKind::plain;
}

std::optional<std::string> without_secrets(std::string_view text, TextKind kind) {
  auto shown = Redactor(text, kind).run();
  if (text.find('%') == std::string_view::npos) return shown;
  // Searches the percent-decoded text, too, because a form field may contain encoded JSON or an encoded form.
  // For example, `payload=%7B%22token%22%3A` is JSON with the key `token`.
  auto decoded = Redactor(percent_decoded(shown ? *shown : text), kind).run();
  return decoded ? std::move(decoded) : std::move(shown);
}

}  // namespace rest_fcgi::master
