// SPDX-License-Identifier: MIT
// A secret cannot be logged.
// expect: convert|no matching|no viable conversion
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/secret.h"

void complain(const rest_fcgi::Secret& secret) {
#ifdef MUST_NOT_COMPILE
  rest_fcgi::log::error(secret);
#else
  rest_fcgi::log::error(secret.empty() ? "empty" : "set");
#endif
}
