// SPDX-License-Identifier: MIT
// Nor can a look at somebody else's.
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
