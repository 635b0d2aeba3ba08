// SPDX-License-Identifier: MIT
// Text becomes JSON only through a writer or through `trusted`.
// expect: private|convert
#include <string>

#include "rest_fcgi/core/json.h"

rest_fcgi::Json json(const std::string& text) {
#ifdef MUST_NOT_COMPILE
  return rest_fcgi::Json(text);
#else
  return rest_fcgi::Json::trusted(text);
#endif
}
