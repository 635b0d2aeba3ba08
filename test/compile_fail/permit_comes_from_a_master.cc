// SPDX-License-Identifier: MIT
// Nobody but a master gives leave to run a chunk.
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
