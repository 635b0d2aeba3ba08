// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/secret.h"

#include <string.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace rest_fcgi {
void wipe(void* data, std::size_t size) noexcept {
  if (size != 0) explicit_bzero(data, size);
}

void append(WipedBytes& to, std::string_view bytes) {
  const std::size_t before = to.size();
  if (to.capacity() - before < bytes.size()) {
    // Copies eight bytes at a time. A growing vector with this allocator would copy byte by byte.
    WipedBytes larger;
    larger.reserve(std::max(2 * before, before + bytes.size()));
    append(larger, {to.data(), before});
    to.swap(larger);
  }
  to.resize(before + bytes.size());
  char* out = to.data() + before;
  const char* in = bytes.data();
  std::size_t left = bytes.size();
  for (std::uint64_t word = 0; left >= sizeof word; left -= sizeof word) {
    std::memcpy(&word, in, sizeof word);
    // The compiler must not replace the loop by a call of memcpy(3), which leaves copies in vector registers.
    asm volatile("" : "+r"(word));
    std::memcpy(out, &word, sizeof word);
    in += sizeof word;
    out += sizeof word;
  }
  for (; left != 0; --left) *out++ = *in++;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned>(static_cast<unsigned char>(b[i]));
    // The compiler must not end the loop at the first difference, because the time would show its place.
    asm volatile("" : "+r"(difference));
  }
  return difference == 0;
}

}  // namespace rest_fcgi
