// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>

namespace rest_fcgi::gateway {

/// Counts the bytes of all requests' bodies that are in memory, of all front ends together. Thread-safe.
class BodyBudget {
 public:
  explicit BodyBudget(std::size_t most) noexcept : most_(most) {}

  /// Counts bytes that came, also where they do not fit. Returns whether all bodies fit.
  [[nodiscard]] bool add(std::size_t bytes) noexcept { return taken_.fetch_add(bytes) + bytes <= most_; }

  /// Takes bytes that `add` counted out of the count.
  void remove(std::size_t bytes) noexcept { taken_ -= bytes; }

 private:
  const std::size_t most_;
  std::atomic<std::size_t> taken_ = 0;
};

}  // namespace rest_fcgi::gateway
