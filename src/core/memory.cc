// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/memory.h"

#include <malloc.h>

#include <cstdlib>
#include <mutex>

namespace rest_fcgi {
namespace {

/// Free memory at the end of an arena that is kept while requests are answered.
constexpr int kTrimThreshold = 4 << 20;

/// Larger blocks are mapped and unmapped one by one. This is malloc's maximum.
constexpr int kMmapThreshold = 32 << 20;

/// Freeing a block of this size makes free(3) trim its arena.
constexpr std::size_t kTrimTrigger = 64 << 10;

}  // namespace

void keep_memory() noexcept {
  // Most threads here wait. With one arena each, malloc would keep the memory that each thread once used.
  ::mallopt(M_ARENA_MAX, 4);
  ::mallopt(M_MMAP_THRESHOLD, kMmapThreshold);
  ::mallopt(M_TRIM_THRESHOLD, kTrimThreshold);
}

void trim_memory() noexcept {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  // malloc_trim(3) does not trim the ends of arenas other than the first.
  ::mallopt(M_TRIM_THRESHOLD, kTrimTrigger);
  void* volatile block = std::malloc(kTrimTrigger);
  std::free(block);
  ::malloc_trim(0);
  ::mallopt(M_TRIM_THRESHOLD, kTrimThreshold);
}

}  // namespace rest_fcgi
