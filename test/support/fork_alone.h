// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace rest_fcgi::test {

/// Threads of the program, without those of the thread sanitizer.
inline std::ptrdiff_t threads_of_this_process() {
#ifdef __SANITIZE_THREAD__
  constexpr std::ptrdiff_t kForeign = 1;
#else
  constexpr std::ptrdiff_t kForeign = 0;
#endif
  const std::filesystem::directory_iterator begin("/proc/self/task");
  return std::distance(begin, std::filesystem::directory_iterator()) - kForeign;
}

/// Calls fork(2) when this process has one thread. A lock of malloc or of a library that another thread holds
/// would stay locked in the child. Waits for threads of earlier tests that are ending. Throws if others stay.
inline pid_t fork_alone() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (threads_of_this_process() > 1) {
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("other threads go on");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return ::fork();
}

}  // namespace rest_fcgi::test
