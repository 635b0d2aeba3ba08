// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "core/json_node.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi {
namespace {

/// Returns false if the text does not start with a digit.
bool take_digits(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  text.remove_prefix(n);
  return n != 0;
}

bool take(std::string_view& text, char this_one, char or_that) {
  if (text.empty() || (text[0] != this_one && text[0] != or_that)) return false;
  text.remove_prefix(1);
  return true;
}

void write_number(JsonWriter& writer, const JsonValue& value) {
  if (value.is(JsonValue::Kind::real)) {
    writer.number(value.number().value_or(0));
  } else {
    writer.raw(value.text() == "-0" ? "0" : value.text());
  }
}

std::string python_quoted(std::string_view text) {
  const char quote =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : text) {
    constexpr std::string_view spaces = "\n\r\t";
    const std::size_t index = spaces.find(c);
    if (c == quote || c == '\\' || index != std::string_view::npos) out += '\\';
    out += index == std::string_view::npos ? c : std::string_view("nrt")[index];
  }
  return out + quote;
}

}  // namespace

std::optional<JsonValue::Kind> json_number_kind(std::string_view text) noexcept {
  take(text, '-', '-');
  const bool leading_zero = !text.empty() && text[0] == '0';
  const std::size_t before = text.size();
  if (!take_digits(text) || (leading_zero && before - text.size() > 1)) return std::nullopt;
  auto kind = JsonValue::Kind::integer;
  if (take(text, '.', '.')) {
    kind = JsonValue::Kind::real;
    if (!take_digits(text)) return std::nullopt;
  }
  if (take(text, 'e', 'E')) {
    kind = JsonValue::Kind::real;
    take(text, '+', '-');
    if (!take_digits(text)) return std::nullopt;
  }
  if (!text.empty()) return std::nullopt;
  return kind;
}

bool is_finite_number(std::string_view text) {
  const bool has_exponent =
      text.find('e') != std::string_view::npos || text.find('E') != std::string_view::npos;
  if (!has_exponent && text.size() <= std::numeric_limits<double>::max_exponent10) return true;
  if (parse_number<double>(text)) return true;
  // Uses strtod(3), which like Python reads a number that is too small for a double as 0.
  return std::isfinite(std::strtod(std::string(text).c_str(), nullptr));
}

JsonValue::Kind JsonValue::kind() const noexcept {
  return document_ == nullptr ? Kind::null : document_->nodes_[index_].kind;
}

std::string_view JsonValue::type_name() const noexcept {
  // These names have the same order as the enumerators of `Kind`.
  static constexpr std::string_view kNames[] = {"NoneType", "bool", "int", "float", "str", "list", "dict"};
  return kNames[static_cast<std::size_t>(kind())];
}

std::string_view JsonValue::text() const noexcept {
  if (document_ == nullptr) return {};
  const auto& node = document_->nodes_[index_];
  return {node.text, node.text_size};
}

bool JsonValue::boolean() const noexcept {
  return document_->nodes_[index_].flag;
}

std::optional<std::int64_t> JsonValue::integer() const noexcept {
  return is(Kind::integer) ? parse_number<std::int64_t>(text()) : std::nullopt;
}

std::optional<double> JsonValue::number() const noexcept {
  return is(Kind::integer) || is(Kind::real) ? parse_number<double>(text()) : std::nullopt;
}

std::size_t JsonValue::size() const noexcept {
  return document_ == nullptr ? 0 : document_->nodes_[index_].count;
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const noexcept {
  if (!is(Kind::object)) return std::nullopt;
  const auto& nodes = document_->nodes_;
  const std::uint32_t end = nodes[index_].end;
  for (std::uint32_t at = index_ + 1; at != end; at = nodes[at + 1].end) {
    if (!nodes[at].flag && std::string_view(nodes[at].text, nodes[at].text_size) == key)
      return JsonValue(document_, at + 1);
  }
  return std::nullopt;
}

JsonValue::Range<JsonValue::ElementIterator> JsonValue::elements() const noexcept {
  if (!is(Kind::array)) return {};
  return {{document_, index_ + 1}, {document_, document_->nodes_[index_].end}};
}

JsonValue::Range<JsonValue::MemberIterator> JsonValue::members() const noexcept {
  if (!is(Kind::object)) return {};
  const std::uint32_t end = document_->nodes_[index_].end;
  return {{document_, index_ + 1, end}, {document_, end, end}};
}

JsonValue::ElementIterator& JsonValue::ElementIterator::operator++() {
  index_ = document_->nodes_[index_].end;
  return *this;
}

JsonValue::MemberIterator::MemberIterator(const JsonDocument* document, std::uint32_t index,
                                          std::uint32_t end)
    : document_(document), index_(index), end_(end) {
  skip_shadowed();
}

JsonMember JsonValue::MemberIterator::operator*() const {
  const auto& key = document_->nodes_[index_];
  return {{key.text, key.text_size}, {document_, index_ + 1}};
}

JsonValue::MemberIterator& JsonValue::MemberIterator::operator++() {
  index_ = document_->nodes_[index_ + 1].end;
  skip_shadowed();
  return *this;
}

void JsonValue::MemberIterator::skip_shadowed() {
  while (index_ != end_ && document_->nodes_[index_].flag) index_ = document_->nodes_[index_ + 1].end;
}

void JsonValue::write(JsonWriter& writer) const {
  switch (kind()) {
    case Kind::null:
      writer.null();
      return;
    case Kind::boolean:
      writer.boolean(boolean());
      return;
    case Kind::integer:
    case Kind::real:
      write_number(writer, *this);
      return;
    case Kind::string:
      writer.string(text());
      return;
    case Kind::array:
      writer.begin_array();
      for (const JsonValue element : elements()) element.write(writer);
      writer.end_array();
      return;
    case Kind::object:
      writer.begin_object();
      for (const JsonMember member : members()) {
        writer.key(member.key);
        member.value.write(writer);
      }
      writer.end_object();
      return;
  }
}

Json JsonValue::json() const {
  return written_json([this](JsonWriter& writer) { write(writer); });
}

std::string JsonValue::python_str() const {
  return is(Kind::string) ? std::string(text()) : python_repr();
}

std::string JsonValue::python_repr() const {
  std::string out;
  switch (kind()) {
    case Kind::null:
      return "None";
    case Kind::boolean:
      return boolean() ? "True" : "False";
    case Kind::integer:
    case Kind::real: {
      JsonWriter writer(out);
      write_number(writer, *this);
      return out;
    }
    case Kind::string:
      return python_quoted(text());
    case Kind::array:
      for (const JsonValue element : elements()) out += (out.empty() ? "" : ", ") + element.python_repr();
      return "[" + out + "]";
    case Kind::object:
      for (const JsonMember member : members()) {
        out += (out.empty() ? "" : ", ") + python_quoted(member.key) + ": " + member.value.python_repr();
      }
      return "{" + out + "}";
  }
  return out;
}

}  // namespace rest_fcgi
