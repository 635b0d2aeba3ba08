// SPDX-License-Identifier: MIT
// A secret cannot be formatted into a message.
// expect: [Cc]annot format|not formattable|deleted|static.assert
#include <string>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/secret.h"

std::string message(rest_fcgi::SecretView secret) {
#ifdef MUST_NOT_COMPILE
  return rest_fcgi::format("{}", secret);
#else
  return rest_fcgi::format("{}", secret.size());
#endif
}
