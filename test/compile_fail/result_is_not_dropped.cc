// SPDX-License-Identifier: MIT
// A result cannot be ignored.
// expect: nodiscard|unused
#include "rest_fcgi/core/result.h"

void run(rest_fcgi::Result<int> (*call)()) {
#ifdef MUST_NOT_COMPILE
  call();
#else
  static_cast<void>(call().ok());
#endif
}
