// SPDX-License-Identifier: MIT
#include "yaml/events.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "rest_fcgi/core/base64.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"
#include "yaml/tabs.h"

namespace rest_fcgi::yaml {
namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// libyaml reports only the offset of some errors.
yaml_mark_t mark_at(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line = before.rfind('\n') + 1;
  const auto feeds = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  return {offset, feeds, before.size() - line};
}

/// Returns whether Salt reads the text as a keyword argument (`KWARG_REGEX` in salt/utils/args.py).
bool is_keyword_argument(std::string_view text) {
  const auto is_word = [](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
  };
  if (text.empty() || !is_word(text[0]) || is_digit(text[0])) return false;
  const auto end =
      std::find_if_not(text.begin(), text.end(), [&](char c) { return is_word(c) || c == '.' || c == '-'; });
  const std::string_view rest(end, text.end());
  return rest.starts_with('=') && !rest.starts_with("==");
}

/// Returns whether Python's `float` reads the text as NaN or as infinity.
bool is_not_finite(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const std::string word = lower(text);
  return word == "nan" || word == "inf" || word == "infinity";
}

std::string text_of_binary(const yaml_mark_t& mark, std::string_view base64) {
  auto bytes = decoded_base64(base64);
  if (!bytes) throw Mistake{mark, "found !!binary with a value that is not base64, expected base64"};
  if (first_bad_byte(*bytes) != bytes->size()) {
    throw Mistake{mark, "found !!binary with bytes that are not UTF-8, expected UTF-8 text",
                  ErrorKind::invocation};
  }
  if (is_keyword_argument(*bytes)) {
    throw Mistake{mark,
                  "found !!binary with a text name=value, which would become a keyword argument; put the "
                  "text into kwarg",
                  ErrorKind::invocation};
  }
  return *std::move(bytes);
}

Kind kind_by_tag(const yaml_mark_t& mark, const yaml_char_t* full_tag, std::string_view text) {
  const std::string tag = short_tag(full_tag);
  if (tag == "null") return Kind::null;
  if (tag == "str" || tag == "timestamp" || tag == "binary" || tag == "python/unicode" ||
      tag == "python/str") {
    return Kind::string;
  }
  const Kind kind = kind_of_plain(text);
  const bool is_number = kind == Kind::integer || kind == Kind::real;
  if (tag == "int" && kind == Kind::integer) return kind;
  if (tag == "bool" && kind == Kind::boolean) return kind;
  if (tag == "float" && (is_number || is_not_finite(text))) return Kind::real;
  if (tag == "int" || tag == "bool" || tag == "float") {
    throw Mistake{mark,
                  format("found a value that does not fit its tag !!{}, expected a value of that type", tag)};
  }
  refuse_tag(mark, full_tag);
}

}  // namespace

Events::Events(std::string_view text) : text_(text) {
  if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
  yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&parser_, bytes_of(text), text.size());
}

Events::~Events() {
  yaml_event_delete(&event_);
  yaml_parser_delete(&parser_);
}

const yaml_event_t& Events::next() {
  yaml_event_delete(&event_);
  if (yaml_parser_parse(&parser_, &event_) == 0) fail();
  return event_;
}

void Events::fail() const {
  if (parser_.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
  if (parser_.error != YAML_READER_ERROR) throw Mistake{parser_.problem_mark, parser_.problem};
  const yaml_mark_t mark = mark_at(text_, parser_.problem_offset);
  if (std::strcmp(parser_.problem, "control characters are not allowed") != 0) {
    throw Mistake{mark, parser_.problem};
  }
  throw Mistake{mark, format("found the control character \\x{:02x}, which YAML does not allow",
                             static_cast<unsigned>(parser_.problem_value))};
}

Error error_of(const Mistake& mistake, std::string_view text) {
  const auto feeds = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  const std::size_t last = feeds + (text.ends_with('\n') ? 0 : 1);
  const std::size_t line = std::min(mistake.mark.line + 1, last);
  if (mistake.kind == ErrorKind::malformed) {
    if (const auto tab = indenting_tab(text, line)) return mistake_at({nullptr, line, *tab}, kTabRefused);
  }
  Error error = mistake_at({nullptr, line, mistake.mark.column + 1}, mistake.text);
  error.kind = mistake.kind;
  return error;
}

std::string text_of(const yaml_char_t* text) {
  return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text));
}

std::string short_tag(const yaml_char_t* tag) {
  constexpr std::string_view kPrefix = "tag:yaml.org,2002:";
  const std::string text = text_of(tag);
  return text.starts_with(kPrefix) ? text.substr(kPrefix.size()) : text;
}

Scalar scalar_of(const yaml_event_t& event) {
  const auto& scalar = event.data.scalar;
  const std::string_view text(reinterpret_cast<const char*>(scalar.value), scalar.length);
  if (scalar.plain_implicit != 0) return {kind_of_plain(text), std::string(text), true};
  if (scalar.quoted_implicit != 0) return {Kind::string, std::string(text), false};
  const Kind kind = kind_by_tag(event.start_mark, scalar.tag, text);
  const bool is_binary = short_tag(scalar.tag) == "binary";
  return {kind, is_binary ? text_of_binary(event.start_mark, text) : std::string(text), false};
}

void refuse_value_key(const yaml_mark_t& mark, const Scalar& scalar, bool is_key) {
  if (is_key || !scalar.plain || (scalar.text != "=" && scalar.text != "<<")) return;
  throw Mistake{mark,
                format("found {} without quotes, expected quotes around it or another value", scalar.text)};
}

std::string too_deep(const Limits& limits) {
  return format("found lists and maps nested more than {} deep, expected fewer levels", limits.max_depth);
}

void refuse_tag(const yaml_mark_t& mark, const yaml_char_t* tag) {
  const bool is_python = short_tag(tag).starts_with("python/");
  throw Mistake{mark, format("found a tag{}, expected a plain value: {}",
                             is_python ? " that makes a Python object" : "", in_quotes(text_of(tag)))};
}

}  // namespace rest_fcgi::yaml
