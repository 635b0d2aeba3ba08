// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "master/embedded/host/mounts.h"

namespace rest_fcgi::embedded {

/// A mounted file system and how full it is, as `df -P` shows it. Plain value.
struct FileSystem {
  Mount mount;
  std::uint64_t kib = 0;
  std::uint64_t used_kib = 0;
  std::uint64_t available_kib = 0;
  std::uint64_t inodes = 0;
  std::uint64_t free_inodes = 0;
};

/// Those that df shows: not those without blocks of their own, and each once, however often it is mounted.
/// Waits for as long as a file system takes to answer.
[[nodiscard]] std::vector<FileSystem> host_file_systems();

/// `5%`, rounded up; `-` where nothing can be used.
[[nodiscard]] std::string percent_of(std::uint64_t used, std::uint64_t available);

/// Of the mounts of one device, is `other` shown rather than `shown`? The one nearer to the root.
[[nodiscard]] bool is_better(const Mount& other, const Mount& shown);

}  // namespace rest_fcgi::embedded
