// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "../../../support/eventually.h"
#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::salt::test {

inline SteadyTime in(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

inline SteadyTime late() {
  return in(std::chrono::seconds(60));
}

using rest_fcgi::test::eventually;

}  // namespace rest_fcgi::salt::test
