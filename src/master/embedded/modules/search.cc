// SPDX-License-Identifier: MIT
#include "master/embedded/modules/search.h"

#include <string>

namespace rest_fcgi::embedded {

Result<Regex> search_pattern(std::string_view pattern) {
  // By itself first: inside the group, a parenthesis too many would close that.
  Result<Regex> alone = Regex::compile(pattern);
  if (!alone) return alone;
  return Regex::compile("(?s:.*?)(?:" + std::string(pattern) + ")");
}

}  // namespace rest_fcgi::embedded
