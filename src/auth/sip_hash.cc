// SPDX-License-Identifier: MIT
#include "auth/sip_hash.h"

#include <bit>
#include <cstddef>

namespace rest_fcgi::auth {
namespace {

/// `size` bytes as a number, the first one lowest; at most 8.
std::uint64_t little_endian(const char* bytes, std::size_t size) noexcept {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < size; ++i) {
    word |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return word;
}

/// The four words that the algorithm's paper calls v0 to v3.
class State {
 public:
  explicit State(const SipKey& key) noexcept
      : a_(key[0] ^ 0x736f6d6570736575U),
        b_(key[1] ^ 0x646f72616e646f6dU),
        c_(key[0] ^ 0x6c7967656e657261U),
        d_(key[1] ^ 0x7465646279746573U) {}

  void compress(std::uint64_t word) noexcept {
    d_ ^= word;
    rounds(2);
    a_ ^= word;
  }

  std::uint64_t finish() noexcept {
    c_ ^= 0xff;
    rounds(4);
    return a_ ^ b_ ^ c_ ^ d_;
  }

 private:
  void rounds(int count) noexcept {
    for (; count > 0; --count) {
      a_ += b_;
      b_ = std::rotl(b_, 13) ^ a_;
      a_ = std::rotl(a_, 32);
      c_ += d_;
      d_ = std::rotl(d_, 16) ^ c_;
      a_ += d_;
      d_ = std::rotl(d_, 21) ^ a_;
      c_ += b_;
      b_ = std::rotl(b_, 17) ^ c_;
      c_ = std::rotl(c_, 32);
    }
  }

  std::uint64_t a_, b_, c_, d_;
};

}  // namespace

std::uint64_t sip_hash(const SipKey& key, std::string_view text) noexcept {
  State state(key);
  const std::uint64_t size = text.size();
  for (; text.size() >= 8; text.remove_prefix(8)) state.compress(little_endian(text.data(), 8));
  state.compress(little_endian(text.data(), text.size()) | size << 56);
  return state.finish();
}

}  // namespace rest_fcgi::auth
