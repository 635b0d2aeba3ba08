// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace rest_fcgi::test {

/// Returns the number of threads of this process. Does not count the thread that the thread sanitizer starts.
inline std::ptrdiff_t threads_of_this_process() {
#ifdef __SANITIZE_THREAD__
  constexpr std::ptrdiff_t kForeign = 1;
#else
  constexpr std::ptrdiff_t kForeign = 0;
#endif
  const std::filesystem::directory_iterator begin("/proc/self/task");
  return std::distance(begin, std::filesystem::directory_iterator()) - kForeign;
}

/// Waits until this process has only one thread, and then calls fork(2). If another thread were inside
/// malloc, the child would inherit the locked malloc and hang. Throws if the other threads do not end.
inline pid_t fork_alone() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (threads_of_this_process() > 1) {
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("other threads go on");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return ::fork();
}

}  // namespace rest_fcgi::test
