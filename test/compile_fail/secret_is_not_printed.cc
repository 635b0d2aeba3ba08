// SPDX-License-Identifier: MIT
// A secret cannot be written to a stream.
// expect: operator<<|invalid operands
#include <iostream>

#include "rest_fcgi/core/secret.h"

void print(const rest_fcgi::Secret& secret) {
#ifdef MUST_NOT_COMPILE
  std::cout << secret;
#else
  static_cast<void>(secret);
#endif
}
