// SPDX-License-Identifier: MIT
#include "master/embedded/host/mounts.h"

#include "master/embedded/host/host_text.h"

namespace rest_fcgi::embedded {
namespace {

bool is_octal(std::string_view digits) {
  return digits.size() == 3 && digits.find_first_not_of("01234567") == std::string_view::npos;
}

/// Blanks and backslashes stand there as `\040`.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || !is_octal(text.substr(i + 1, 3))) {
      out += text[i];
      continue;
    }
    out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return out;
}

}  // namespace

std::vector<Mount> parse_mounts(std::string_view text) {
  std::vector<Mount> mounts;
  for (const std::string_view line : lines_of(text)) {
    const auto words = words_of(line);
    if (words.size() < 3) continue;
    mounts.push_back({unescaped(words[0]), unescaped(words[1]), std::string(words[2])});
  }
  return mounts;
}

std::vector<Mount> host_mounts() {
  return parse_mounts(read_text("/proc/mounts").value_or(""));
}

}  // namespace rest_fcgi::embedded
