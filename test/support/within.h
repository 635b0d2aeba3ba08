// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <thread>

namespace rest_fcgi::test {

template <class Condition>
bool within(std::chrono::milliseconds time, const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + time;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace rest_fcgi::test
