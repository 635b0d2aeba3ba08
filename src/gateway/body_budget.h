// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>

namespace rest_fcgi::gateway {

/// Counts the bytes of all request bodies in memory. Thread-safe.
class BodyBudget {
 public:
  explicit BodyBudget(std::size_t most) noexcept : most_(most) {}

  /// Adds bytes to the count, even beyond the limit. Returns whether the count is within the limit.
  [[nodiscard]] bool add(std::size_t bytes) noexcept { return taken_.fetch_add(bytes) + bytes <= most_; }

  void remove(std::size_t bytes) noexcept { taken_ -= bytes; }

 private:
  const std::size_t most_;
  std::atomic<std::size_t> taken_ = 0;
};

}  // namespace rest_fcgi::gateway
