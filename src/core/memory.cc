// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/memory.h"

#include <malloc.h>

#include <cstdlib>

#include "rest_fcgi/core/mutex.h"

namespace rest_fcgi {
namespace {

/// The free memory in bytes that malloc(3) keeps at the end of an arena.
constexpr int kTrimThreshold = 4 << 20;

/// The size in bytes above which malloc(3) maps each block separately. mallopt(3) accepts no larger value.
constexpr int kMmapThreshold = 32 << 20;

/// When free(3) frees a block of this size, free(3) also trims the arena of the block.
constexpr std::size_t kTrimTrigger = 64 << 10;

}  // namespace

void keep_memory() noexcept {
  // Limits the arenas of malloc(3), because each arena keeps memory that its threads have freed.
  ::mallopt(M_ARENA_MAX, 4);
  ::mallopt(M_MMAP_THRESHOLD, kMmapThreshold);
  ::mallopt(M_TRIM_THRESHOLD, kTrimThreshold);
}

void trim_memory() noexcept {
  static Mutex one_at_a_time;
  const MutexLock lock(one_at_a_time);
  // Calls free(3) to shorten this thread's arena, because malloc_trim(3) shortens only the main arena.
  ::mallopt(M_TRIM_THRESHOLD, kTrimTrigger);
  void* volatile block = std::malloc(kTrimTrigger);
  std::free(block);
  ::malloc_trim(0);
  ::mallopt(M_TRIM_THRESHOLD, kTrimThreshold);
}

}  // namespace rest_fcgi
