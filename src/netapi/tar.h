// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rest_fcgi::netapi {

/// One file of an archive.
struct TarMember {
  std::string_view name;  ///< REQUIRES: at most 100 bytes
  std::string_view content;
  unsigned mode;
};

/// A tar archive (POSIX.1-1988, ustar) of root's files, from the year 1970, whose size is a multiple of
/// 10240 bytes, as tar writes it.
[[nodiscard]] std::string tar_of(const std::vector<TarMember>& members);

}  // namespace rest_fcgi::netapi
