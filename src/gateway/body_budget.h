// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>

namespace rest_fcgi::gateway {

/// Counts the bytes of all request bodies in memory. A quarter of the limit is for bodies of up to 1 MiB, so
/// that a few slow clients with large bodies do not block all other clients. Thread-safe.
class BodyBudget {
 public:
  explicit BodyBudget(std::size_t most) noexcept : most_(most) {}

  /// Adds bytes of a body to the count, even beyond the limit. `of_body` is the size of the body so far.
  /// Returns whether the count is within the limit for the body.
  [[nodiscard]] bool add(std::size_t bytes, std::size_t of_body) noexcept {
    return taken_.fetch_add(bytes) + bytes <= (of_body > kSmall ? most_ - most_ / 4 : most_);
  }

  void remove(std::size_t bytes) noexcept { taken_ -= bytes; }

 private:
  static constexpr std::size_t kSmall = std::size_t{1} << 20;

  const std::size_t most_;
  std::atomic<std::size_t> taken_ = 0;
};

}  // namespace rest_fcgi::gateway
