// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/memory.h"

#include <malloc.h>

#include <cstdlib>
#include <mutex>

namespace rest_fcgi {
namespace {

/// How much free memory an arena of malloc's may have at its end, while requests are answered. The end of an
/// arena shrinks when one of its blocks is freed, whichever thread does it.
constexpr int kKeptFree = 4 << 20;

/// Blocks from here on come from the system, and go back to it, one by one. malloc takes no larger number.
constexpr int kAlwaysGivenBack = 32 << 20;

/// free(3) looks at the end of its arena when it is given a block as large as this.
constexpr std::size_t kLookedAt = 64 << 10;

}  // namespace

void keep_memory() noexcept {
  // Threads here mostly wait. With an arena each, malloc would keep what each of them once used.
  ::mallopt(M_ARENA_MAX, 4);
  ::mallopt(M_MMAP_THRESHOLD, kAlwaysGivenBack);
  ::mallopt(M_TRIM_THRESHOLD, kKeptFree);
}

void trim_memory() noexcept {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  // malloc_trim(3) leaves the ends of all arenas but the first one alone.
  ::mallopt(M_TRIM_THRESHOLD, kLookedAt);
  void* volatile block = std::malloc(kLookedAt);
  std::free(block);
  ::malloc_trim(0);
  ::mallopt(M_TRIM_THRESHOLD, kKeptFree);
}

}  // namespace rest_fcgi
