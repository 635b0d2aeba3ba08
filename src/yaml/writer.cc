// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/yaml/yaml.h"
#include "yaml/scalar_style.h"

namespace rest_fcgi::yaml {
namespace {

// The largest width of a line in columns. A longer text continues on the next line.
constexpr std::size_t kWidth = 80;
// The length of the longest key that is written as `key:`. PyYAML's limit is 128, but PyYAML also counts the
// tag `!!str`.
constexpr std::size_t kLongestKey = 122;

std::u32string decoded(std::string_view utf8) {
  std::u32string text;
  text.reserve(utf8.size());
  for (std::size_t at = 0; at < utf8.size();) {
    const auto first = static_cast<unsigned char>(utf8[at]);
    const std::size_t size = first < 0x80 ? 1U : first < 0xE0 ? 2U : first < 0xF0 ? 3U : 4U;
    char32_t c = size == 1 ? first : first & (0xFFU >> (size + 1));
    for (std::size_t i = 1; i < size && at + i < utf8.size(); ++i) {
      c = c << 6U | (static_cast<unsigned char>(utf8[at + i]) & 0x3FU);
    }
    text.push_back(c);
    at += size;
  }
  return text;
}

void append(std::string& out, char32_t c) {
  const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
    return;
  }
  if (c < 0x800) {
    put(0xC0U | c >> 6U);
  } else if (c < 0x10000) {
    put(0xE0U | c >> 12U);
    put(0x80U | (c >> 6U & 0x3FU));
  } else {
    put(0xF0U | c >> 18U);
    put(0x80U | (c >> 12U & 0x3FU));
    put(0x80U | (c >> 6U & 0x3FU));
  }
  put(0x80U | (c & 0x3FU));
}

/// YAML 1.1 reads a number such as `1e+16` as text, so the number gets a decimal point.
std::string real_of(std::string_view digits) {
  std::string text(digits);
  if (const std::size_t exponent = text.find_first_of("eE");
      exponent != std::string::npos && text.find('.') == std::string::npos) {
    text.insert(exponent, ".0");
  }
  return text;
}

/// Writes one JSON value as YAML, as PyYAML's emitter does.
class Writer {
 public:
  [[nodiscard]] std::string write_document(JsonValue root) {
    const bool is_scalar = !root.is(JsonValue::Kind::array) && !root.is(JsonValue::Kind::object);
    if (is_scalar) indent_ = 0;
    const bool is_plain = write(root, Context::root);
    if (column_ != 0) write_break();
    if (is_plain) put_all("...\n");
    return std::move(out_);
  }

 private:
  /// The context of a value decides its indentation. For example, a list that is the value of a key is not
  /// indented.
  enum class Context { root, item, value, key };

  bool write(JsonValue value, Context context) {
    switch (value.kind()) {
      case JsonValue::Kind::null:
        return write_word("null");
      case JsonValue::Kind::boolean:
        return write_word(value.boolean() ? "true" : "false");
      case JsonValue::Kind::integer:
        return write_word(value.text());
      case JsonValue::Kind::real:
        return write_word(real_of(value.text()));
      case JsonValue::Kind::string:
        return write_string(value.text(), context);
      case JsonValue::Kind::array:
        write_array(value, context);
        return false;
      case JsonValue::Kind::object:
        write_object(value);
        return false;
    }
    return false;
  }

  bool write_word(std::string_view word) {
    separate();
    put_all(word);
    return true;
  }

  void write_array(JsonValue array, Context context) {
    if (array.size() == 0) return write_indicator("[]");
    const bool indented = context != Context::value || is_at_indent_;
    const Indent indent(*this, indented);
    for (const JsonValue element : array.elements()) {
      write_indent();
      write_indicator("-");
      is_at_indent_ = true;
      write(element, Context::item);
    }
  }

  void write_object(JsonValue object) {
    if (object.size() == 0) return write_indicator("{}");
    std::vector<JsonMember> members;
    for (const JsonMember& member : object.members()) members.push_back(member);
    std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    const Indent indent(*this, true);
    for (const JsonMember& member : members) {
      write_indent();
      write_key(member.key);
      write(member.value, Context::value);
    }
  }

  /// Writes `? key` if the key is long, empty or has several lines.
  void write_key(std::string_view key) {
    const std::u32string text = decoded(key);
    if (!text.empty() && text.size() <= kLongestKey && !look_at(text).multiline) {
      write_string(key, Context::key);
      put(U':');
      is_at_indent_ = false;
      return;
    }
    write_indicator("?");
    is_at_indent_ = true;
    write_string(key, Context::value);
    write_indent();
    write_indicator(":");
    is_at_indent_ = true;
  }

  bool write_string(std::string_view utf8, Context context) {
    const std::u32string text = decoded(utf8);
    const bool is_key = context == Context::key;
    const Indent indent(*this, true);
    separate();
    const Style style = style_of(look_at(text), resolves_to_text(utf8), is_key);
    if (style == Style::double_quoted) {
      write_double_quoted(text, !is_key);
    } else {
      write_folded(text, style == Style::single_quoted, !is_key);
    }
    return style == Style::plain;
  }

  /// Breaks a line that is too long at a single blank. Doubles the text's line breaks and single quotes, as
  /// YAML requires.
  void write_folded(std::u32string_view text, bool quoted, bool may_fold) {
    if (quoted) put(U'\'');
    is_at_indent_ = false;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t run = run_of(text, at);
      if (text[at] == U' ') {
        const bool is_inside = !quoted || (at != 0 && at + 1 != text.size());
        if (run == 1 && column_ > kWidth && may_fold && is_inside) {
          write_indent();
        } else {
          for (std::size_t i = 0; i < run; ++i) put(U' ');
        }
      } else if (is_break(text[at])) {
        if (text[at] == U'\n') write_break();
        for (std::size_t i = 0; i < run; ++i) write_break(text[at + i]);
        write_indent();
      } else {
        if (text[at] == U'\'' && quoted) put(U'\'');
        put(text[at]);
      }
      is_at_indent_ = false;
      at += run;
    }
    if (quoted) put(U'\'');
    is_at_indent_ = false;
  }

  /// Returns the length of the sequence of blanks, or of line breaks, at `at`. Returns 1 for any other
  /// character.
  static std::size_t run_of(std::u32string_view text, std::size_t at) {
    std::size_t end = at + 1;
    if (text[at] == U' ') end = text.find_first_not_of(U' ', at);
    while (is_break(text[at]) && end < text.size() && is_break(text[end])) ++end;
    return std::min(end, text.size()) - at;
  }

  /// A backslash at the end of a line means that the text continues on the next line.
  void write_double_quoted(std::u32string_view text, bool may_fold) {
    put(U'"');
    is_at_indent_ = false;
    std::size_t start = 0;  // The text from `start` on is not yet written.
    const auto flush = [&](std::size_t end) {
      for (; start < end; ++start) put(text[start]);
    };
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (!is_unescaped(text[at])) {
        flush(at);
        put_all(escape_of(text[at]));
        start = at + 1;
      }
      const bool is_fold = text[at] == U' ' || start >= at;
      if (at == 0 || at + 1 >= text.size() || !is_fold || !may_fold) continue;
      const std::size_t waiting = at > start ? at - start : 0;
      if (column_ + waiting - (start > at ? 1 : 0) <= kWidth) continue;
      flush(at);
      put(U'\\');
      write_indent();
      is_at_indent_ = false;
      if (text[start] == U' ') put(U'\\');
    }
    flush(text.size());
    put(U'"');
    is_at_indent_ = false;
  }

  /// While an Indent with `deeper` exists, the indentation is two columns deeper.
  class Indent {
   public:
    Indent(Writer& writer, bool deeper) : writer_(writer), before_(writer.indent_) {
      if (deeper) writer_.indent_ += 2;
    }
    Indent(const Indent&) = delete;
    Indent& operator=(const Indent&) = delete;
    ~Indent() { writer_.indent_ = before_; }

   private:
    Writer& writer_;
    const int before_;
  };

  void write_indicator(std::string_view indicator) {
    separate();
    put_all(indicator);
    is_at_indent_ = false;
  }

  void separate() {
    if (column_ != 0 && out_.back() != ' ') put(U' ');
  }

  void write_indent() {
    const std::size_t indent = indent_ > 0 ? static_cast<std::size_t>(indent_) : 0;
    const bool is_behind = column_ > indent || (column_ == indent && column_ != 0 && out_.back() != ' ');
    if (!is_at_indent_ || is_behind) write_break();
    while (column_ < indent) put(U' ');
  }

  void write_break(char32_t c = U'\n') {
    append(out_, c);
    column_ = 0;
    is_at_indent_ = true;
  }

  void put(char32_t c) {
    append(out_, c);
    ++column_;
  }

  void put_all(std::string_view ascii) {
    out_.append(ascii);
    column_ += ascii.size();
  }

  std::string out_;
  std::size_t column_ = 0;
  int indent_ = -2;
  bool is_at_indent_ = true;  ///< Whether the current line has only indentation and indicators such as `- `.
};

}  // namespace

std::string write(const JsonValue& value) {
  return Writer().write_document(value);
}

}  // namespace rest_fcgi::yaml
