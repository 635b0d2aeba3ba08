// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace rest_fcgi::test {

/// Those that the program started, and none of the thread sanitizer's own.
inline std::ptrdiff_t threads_of_this_process() {
#ifdef __SANITIZE_THREAD__
  constexpr std::ptrdiff_t kForeign = 1;
#else
  constexpr std::ptrdiff_t kForeign = 0;
#endif
  const std::filesystem::directory_iterator begin("/proc/self/task");
  return std::distance(begin, std::filesystem::directory_iterator()) - kForeign;
}

/// fork(2), once this process has no other thread. A lock that another one holds at that moment, of malloc or
/// of a library, stays locked in the child for ever; and what counts as ended in an earlier test may still be
/// on its way out. Throws where others go on.
inline pid_t fork_alone() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (threads_of_this_process() > 1) {
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("other threads go on");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return ::fork();
}

}  // namespace rest_fcgi::test
