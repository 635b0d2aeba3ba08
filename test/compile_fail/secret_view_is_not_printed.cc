// SPDX-License-Identifier: MIT
// A view of a secret cannot be written to a stream.
// expect: operator<<|invalid operands
#include <iostream>

#include "rest_fcgi/core/secret.h"

void print(rest_fcgi::SecretView secret) {
#ifdef MUST_NOT_COMPILE
  std::cout << secret;
#else
  static_cast<void>(secret);
#endif
}
