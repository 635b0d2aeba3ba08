// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>

#include "master/embedded/modules/replies.h"
#include "master/embedded/modules/test_module.h"
#include "master/embedded/python/python.h"

namespace rest_fcgi::embedded::test_module {
namespace {

constexpr std::int64_t kPythonMaximum = 9'223'372'036;        // seconds; what Python's `time.sleep` takes
constexpr std::int64_t kClockMaximum = 100LL * 365 * 86'400;  // more would overflow the steady clock

Reply sleep_for(std::int64_t seconds, const std::stop_token& stop) {
  if (seconds < 0) return Raised::value_error("sleep length must be non-negative");
  if (seconds > kPythonMaximum) {
    return Raised{Raised::Kind::exception, "OverflowError", "timestamp too large to convert to C _PyTime_t"};
  }
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, std::chrono::seconds(std::min(seconds, kClockMaximum)), [] { return false; });
  if (stop.stop_requested()) return terminated();
  return Returned{Json::boolean(true)};
}

}  // namespace

Reply sleep(const Call& call) {
  const WholeNumber length = python_int(call.arguments[0]);
  if (const auto* raised = std::get_if<Raised>(&length)) return *raised;
  return sleep_for(std::get<std::int64_t>(length), call.context.stop);
}

Reply rand_sleep(const Call& call) {
  const WholeNumber max = python_randint_bound(call.arguments[0]);
  if (const auto* raised = std::get_if<Raised>(&max)) return *raised;
  std::random_device source;
  std::uniform_int_distribution<std::int64_t> seconds(0, std::get<std::int64_t>(max));
  return sleep_for(seconds(source), call.context.stop);
}

}  // namespace rest_fcgi::embedded::test_module
