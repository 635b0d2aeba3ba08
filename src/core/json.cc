// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "rest_fcgi/core/excerpt.h"

namespace rest_fcgi {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

void append_escape(std::string& out, char c) {
  constexpr std::string_view characters = "\"\\\b\f\n\r\t";
  constexpr std::string_view letters = "\"\\bfnrt";
  constexpr std::string_view digits = "0123456789abcdef";
  if (const std::size_t index = characters.find(c); index != std::string_view::npos) {
    out += '\\';
    out += letters[index];
    return;
  }
  const auto code = static_cast<unsigned char>(c);
  out += "\\u00";
  out += digits[code >> 4U];
  out += digits[code & 0xFU];
}

bool is_plain(char c) {
  const auto code = static_cast<unsigned char>(c);
  return code >= 0x20 && code < 0x80 && c != '"' && c != '\\';
}

/// Returns whether all eight bytes are ASCII and need no escape in JSON.
bool all_plain(std::uint64_t bytes) {
  constexpr std::uint64_t each = 0x0101010101010101;
  const std::uint64_t quotes = bytes ^ (each * '"');
  const std::uint64_t backslashes = bytes ^ (each * '\\');
  return ((bytes | (bytes - each * 0x20) | (quotes - each) | (backslashes - each)) & (each * 0x80)) == 0;
}

std::size_t plain_length(std::string_view text) {
  std::size_t length = 0;
  for (std::uint64_t bytes = 0; length + sizeof bytes <= text.size(); length += sizeof bytes) {
    std::memcpy(&bytes, text.data() + length, sizeof bytes);
    if (!all_plain(bytes)) break;
  }
  while (length < text.size() && is_plain(text[length])) ++length;
  return length;
}

/// Reserves the memory for a large text in one step, because a string that grows doubles its memory.
void reserve_for(std::string& out, std::size_t size) {
  constexpr std::size_t large = 1024;
  constexpr std::size_t closing = 64;
  if (size >= large) out.reserve(out.size() + size + closing);
}

void append_string(std::string& out, std::string_view value) {
  reserve_for(out, value.size());
  out += '"';
  while (!value.empty()) {
    const std::size_t plain = plain_length(value);
    out.append(value.substr(0, plain));
    value.remove_prefix(plain);
    if (value.empty()) break;
    if (static_cast<unsigned char>(value[0]) < 0x80) {
      append_escape(out, value[0]);
      value.remove_prefix(1);
      continue;
    }
    const std::size_t length = utf8_length(value);
    out.append(length == 0 ? kReplacement : value.substr(0, length));
    value.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

}  // namespace

std::string python_float(double value) {
  const double size = std::fabs(value);
  // Python's repr uses an exponent below 0.0001 and from 1e16 on.
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific)
                       .ptr;
  std::string text(buffer.data(), end);
  if (plain && text.find('.') == std::string::npos) text += ".0";
  return text;
}

Json Json::string(std::string_view value) {
  std::string text;
  text.reserve(value.size() + 2);
  append_string(text, value);
  return Json(std::move(text));
}

void JsonWriter::separate() {
  if (behind_value_) out_.append(", ", 2);
  behind_value_ = true;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  behind_value_ = false;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  out_ += bracket;
  behind_value_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_string(out_, name);
  out_.append(": ", 2);
  behind_value_ = false;
  return *this;
}

JsonWriter& JsonWriter::string(std::string_view value) {
  separate();
  append_string(out_, value);
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t value) {
  std::array<char, 24> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return raw({buffer.data(), static_cast<std::size_t>(end - buffer.data())});
}

JsonWriter& JsonWriter::number(double value) {
  return std::isfinite(value) ? raw(python_float(value)) : null();
}

JsonWriter& JsonWriter::boolean(bool value) {
  return raw(value ? "true" : "false");
}

JsonWriter& JsonWriter::null() {
  return raw("null");
}

JsonWriter& JsonWriter::raw(std::string_view text) {
  separate();
  reserve_for(out_, text.size());
  out_.append(text);
  return *this;
}

}  // namespace rest_fcgi
