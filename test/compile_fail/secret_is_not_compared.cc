// SPDX-License-Identifier: MIT
// Secrets are not compared with ==, which stops at the first difference.
// expect: operator==|invalid operands
#include "rest_fcgi/core/secret.h"

bool same(rest_fcgi::SecretView a, rest_fcgi::SecretView b) {
#ifdef MUST_NOT_COMPILE
  return a == b;
#else
  return rest_fcgi::equal_in_constant_time(a.reveal(), b.reveal());
#endif
}
