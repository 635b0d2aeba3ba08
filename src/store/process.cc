// SPDX-License-Identifier: MIT
#include "rest_fcgi/store/process.h"

#include <signal.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::store {

std::int64_t start_of(pid_t pid) {
  std::ifstream file(format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  const std::vector<std::string_view> fields = split_words(std::string_view(text).substr(name_end + 1));
  constexpr std::size_t kState = 0;
  constexpr std::size_t kStart = 19;  // The index of field 22 in `fields`, which begins with field 3.
  if (fields.size() <= kStart) return 0;
  if (fields[kState] == "Z") return -1;
  return parse_number<std::int64_t>(fields[kStart]).value_or(0);
}

bool is_gone(pid_t pid, std::int64_t start, std::int64_t found) {
  return found != 0 ? found != start : ::kill(pid, 0) != 0 && errno == ESRCH;
}

}  // namespace rest_fcgi::store
