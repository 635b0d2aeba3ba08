// SPDX-License-Identifier: MIT
// Only the authenticator makes an identity.
// expect: private
#include "rest_fcgi/auth/credentials.h"

rest_fcgi::auth::Identity anybody(const rest_fcgi::auth::Identity& proven) {
#ifdef MUST_NOT_COMPILE
  return rest_fcgi::auth::Identity("root", "pam", {});
#else
  return proven;
#endif
}
