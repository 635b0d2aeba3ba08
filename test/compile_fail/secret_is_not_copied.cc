// SPDX-License-Identifier: MIT
// A secret is not copied by accident; only `copy` copies it.
// expect: deleted
#include "rest_fcgi/core/secret.h"

rest_fcgi::Secret twin(const rest_fcgi::Secret& secret) {
#ifdef MUST_NOT_COMPILE
  return secret;
#else
  return secret.copy();
#endif
}
