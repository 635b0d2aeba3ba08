// SPDX-License-Identifier: MIT
#include "master/salt/packed/packer.h"

#include <bit>
#include <optional>

#define MSGPACK_NO_BOOST
#include <msgpack/pack.hpp>

#include "rest_fcgi/core/jid.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::salt {
namespace {

struct Sink {
  std::string& out;
  void write(const char* data, std::size_t size) { out.append(data, size); }
};

template <class Pack>
void pack(std::string& out, const Pack& call) {
  Sink sink{out};
  msgpack::packer<Sink> packer(sink);
  call(packer);
}

std::uint32_t length(std::size_t size) {
  return static_cast<std::uint32_t>(size);
}

/// Writes an integer of 20 or more digits as text, because Salt takes an integer of 20 digits for a job id.
void pack_integer(Packer& packer, const JsonValue& value) {
  const std::string_view digits = value.text();
  if (const auto integer = value.integer()) {
    packer.integer(*integer);
  } else if (const auto larger =
                 digits.size() < kJidDigits ? parse_number<std::uint64_t>(digits) : std::nullopt) {
    packer.unsigned_integer(*larger);
  } else {
    packer.text(digits);
  }
}

}  // namespace

Packer& Packer::begin_map(std::size_t members) {
  pack(out_, [members](auto& packer) { packer.pack_map(length(members)); });
  return *this;
}

Packer& Packer::begin_array(std::size_t elements) {
  pack(out_, [elements](auto& packer) { packer.pack_array(length(elements)); });
  return *this;
}

Packer& Packer::text(std::string_view text) {
  pack(out_, [text](auto& packer) {
    packer.pack_str(length(text.size())).pack_str_body(text.data(), length(text.size()));
  });
  return *this;
}

Packer& Packer::integer(std::int64_t value) {
  pack(out_, [value](auto& packer) { packer.pack_int64(value); });
  return *this;
}

Packer& Packer::unsigned_integer(std::uint64_t value) {
  pack(out_, [value](auto& packer) { packer.pack_uint64(value); });
  return *this;
}

Packer& Packer::real(double value) {
  // Does not use msgpack-cxx's `pack_double`, because it would write 1.0 as an integer.
  const auto bits = std::bit_cast<std::uint64_t>(value);
  out_.push_back('\xCB');
  for (int shift = 56; shift >= 0; shift -= 8) out_.push_back(static_cast<char>((bits >> shift) & 0xFFU));
  return *this;
}

Packer& Packer::boolean(bool value) {
  pack(out_, [value](auto& packer) { value ? packer.pack_true() : packer.pack_false(); });
  return *this;
}

Packer& Packer::nil() {
  pack(out_, [](auto& packer) { packer.pack_nil(); });
  return *this;
}

Packer& Packer::value(const JsonValue& value) {
  switch (value.kind()) {
    case JsonValue::Kind::null:
      return nil();
    case JsonValue::Kind::boolean:
      return boolean(value.boolean());
    case JsonValue::Kind::integer:
      pack_integer(*this, value);
      return *this;
    case JsonValue::Kind::real:
      return real(value.number().value_or(0));
    case JsonValue::Kind::string:
      return text(value.text());
    case JsonValue::Kind::array:
      begin_array(value.size());
      for (const JsonValue element : value.elements()) this->value(element);
      return *this;
    case JsonValue::Kind::object:
      begin_map(value.size());
      for (const JsonMember member : value.members()) text(member.key).value(member.value);
      return *this;
  }
  return *this;
}

}  // namespace rest_fcgi::salt
