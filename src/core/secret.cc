// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/secret.h"

#include <string.h>

namespace rest_fcgi {

Secret::~Secret() {
  if (!bytes_.empty()) ::explicit_bzero(bytes_.data(), bytes_.size());
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
