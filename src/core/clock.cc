// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/clock.h"

namespace rest_fcgi {
namespace {

class SystemClock final : public Clock {
 public:
  [[nodiscard]] WallTime wall() const override {
    return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
  }
  [[nodiscard]] SteadyTime steady() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

}  // namespace rest_fcgi
