// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::salt::test {

inline SteadyTime in(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

inline SteadyTime late() {
  return in(std::chrono::seconds(60));
}

inline WipedBytes bytes(std::string_view text) {
  return {text.begin(), text.end()};
}

inline std::string text(const WipedBytes& bytes) {
  return {bytes.begin(), bytes.end()};
}

inline bool soon(const std::function<bool()>& holds) {
  const SteadyTime end = in(std::chrono::seconds(30));
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace rest_fcgi::salt::test
