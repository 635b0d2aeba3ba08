// SPDX-License-Identifier: MIT
// A secret is not copied by accident; `copy` says that it is meant.
// expect: deleted
#include "rest_fcgi/core/secret.h"

rest_fcgi::Secret twin(const rest_fcgi::Secret& secret) {
#ifdef MUST_NOT_COMPILE
  return secret;
#else
  return secret.copy();
#endif
}
