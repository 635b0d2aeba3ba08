// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <thread>

namespace rest_fcgi::test {

/// Waits until the condition is true. Returns false if the condition is not true within `patience`.
template <class Condition>
bool eventually(const Condition& condition, std::chrono::milliseconds patience = std::chrono::seconds(30)) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace rest_fcgi::test
