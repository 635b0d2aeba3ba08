// SPDX-License-Identifier: MIT
#include "master/salt/events/value_scanner.h"

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::salt {
namespace {

using Kind = ValueHeader::Kind;

/// A header from 0xc0 to 0xdf.
struct Form {
  Kind kind;
  std::uint8_t length_bytes;  // of a length or count after the first byte
  std::uint8_t fixed;         // bytes that always follow
};

constexpr std::array<Form, 32> kForms = {{
    {Kind::scalar, 0, 0},   // c0 nil
    {Kind::unknown, 0, 0},  // c1
    {Kind::scalar, 0, 0},   // c2 false
    {Kind::scalar, 0, 0},   // c3 true
    {Kind::text, 1, 0},     // c4 bin 8
    {Kind::text, 2, 0},     // c5 bin 16
    {Kind::text, 4, 0},     // c6 bin 32
    {Kind::scalar, 1, 1},   // c7 ext 8
    {Kind::scalar, 2, 1},   // c8 ext 16
    {Kind::scalar, 4, 1},   // c9 ext 32
    {Kind::scalar, 0, 4},   // ca float 32
    {Kind::scalar, 0, 8},   // cb float 64
    {Kind::scalar, 0, 1},   // cc uint 8
    {Kind::scalar, 0, 2},   // cd uint 16
    {Kind::scalar, 0, 4},   // ce uint 32
    {Kind::scalar, 0, 8},   // cf uint 64
    {Kind::scalar, 0, 1},   // d0 int 8
    {Kind::scalar, 0, 2},   // d1 int 16
    {Kind::scalar, 0, 4},   // d2 int 32
    {Kind::scalar, 0, 8},   // d3 int 64
    {Kind::scalar, 0, 2},   // d4 fixext 1
    {Kind::scalar, 0, 3},   // d5 fixext 2
    {Kind::scalar, 0, 5},   // d6 fixext 4
    {Kind::scalar, 0, 9},   // d7 fixext 8
    {Kind::scalar, 0, 17},  // d8 fixext 16
    {Kind::text, 1, 0},     // d9 str 8
    {Kind::text, 2, 0},     // da str 16
    {Kind::text, 4, 0},     // db str 32
    {Kind::array, 2, 0},    // dc array 16
    {Kind::array, 4, 0},    // dd array 32
    {Kind::map, 2, 0},      // de map 16
    {Kind::map, 4, 0},      // df map 32
}};

ValueHeader container(Kind kind, std::size_t size, std::uint64_t count) noexcept {
  return {kind, size, 0, kind == Kind::map ? 2 * count : count};
}

}  // namespace

std::uint64_t big_endian(std::string_view bytes) noexcept {
  std::uint64_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

std::optional<ValueHeader> header_of(std::string_view bytes) noexcept {
  if (bytes.empty()) return std::nullopt;
  const auto first = static_cast<unsigned char>(bytes.front());
  if (first < 0x80 || first >= 0xe0) return ValueHeader{Kind::scalar};  // small integers
  if (first < 0x90) return container(Kind::map, 1, first & 0x0fu);
  if (first < 0xa0) return container(Kind::array, 1, first & 0x0fu);
  if (first < 0xc0) return ValueHeader{Kind::text, 1, first & 0x1fu, 0};

  const Form& form = kForms[first - 0xc0u];
  if (bytes.size() - 1 < form.length_bytes) return std::nullopt;
  const std::size_t size = 1u + form.length_bytes;
  const std::uint64_t length = big_endian(bytes.substr(1, form.length_bytes));
  if (form.kind == Kind::array || form.kind == Kind::map) return container(form.kind, size, length);
  return ValueHeader{form.kind, size, length + form.fixed, 0};
}

Result<bool> ValueScanner::scan(std::string_view bytes) {
  while (depth_ > 0) {
    if (left_[depth_ - 1] == 0) {
      --depth_;
      continue;
    }
    if (position_ >= bytes.size()) return false;
    const auto header = header_of(bytes.substr(position_));
    if (!header) return false;
    if (Result<void> entered = enter(*header); !entered) return std::move(entered).error();
  }
  return position_ <= bytes.size();
}

Result<void> ValueScanner::enter(const ValueHeader& header) {
  if (header.kind == Kind::unknown) {
    return Error{ErrorKind::internal,
                 format("the byte 0xc1 at offset {}, which starts no msgpack value", position_)};
  }
  --left_[depth_ - 1];
  position_ += header.size + header.payload;
  // Each value that was announced has a byte at least.
  if (position_ > max_bytes_ || header.values > max_bytes_ - position_) {
    return Error{ErrorKind::internal, format("more than the {} bytes that are accepted", max_bytes_)};
  }
  if (header.values == 0) return {};
  if (depth_ == kMaxDepth) {
    return Error{ErrorKind::internal, format("values nested deeper than {}", kMaxDepth)};
  }
  left_[depth_++] = header.values;
  return {};
}

}  // namespace rest_fcgi::salt
