// SPDX-License-Identifier: MIT
// Only a master permits a chunk.
// expect: private|protected
#include "rest_fcgi/master/master.h"

using rest_fcgi::master::Permit;

Permit leave(const rest_fcgi::lowstate::Chunk& chunk, const Permit& given) {
#ifdef MUST_NOT_COMPILE
  return Permit(chunk, "root", "pam", given.deadline(), nullptr);
#else
  return static_cast<void>(chunk), given;
#endif
}
