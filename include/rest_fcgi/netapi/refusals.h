// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"

namespace rest_fcgi::netapi {

/// Counts the requests that are refused without a valid login, so that a stranger cannot hide audit lines
/// under lines of refused requests. An IPv6 address stands for its network of 64 bits. A Refusals is
/// thread-safe.
class Refusals {
 public:
  /// Counts a refused request. Returns whether its audit line may be written: an address has ten lines
  /// between two calls of `write_sums`.
  [[nodiscard]] bool count(std::string_view remote, std::string_view outcome, bool as_json);

  /// Writes one audit line for each address with requests that had no line of their own. REQUIRES: the caller
  /// repeats the call once a second.
  void write_sums(const Clock& clock);

 private:
  struct Address {
    std::string remote;  ///< `remote` is the first address of the network.
    bool as_json = false;
    std::size_t lines = 0;  ///< `lines` is the number of requests with a line of their own.
    /// The number of other requests, for each outcome.
    std::map<std::string, std::size_t, std::less<>> hidden{};
  };
  Mutex mutex_;
  /// The addresses since the last call of `write_sums`, by `http::network_of`.
  std::unordered_map<std::string, Address> addresses_ GUARDED_BY(mutex_);
};

}  // namespace rest_fcgi::netapi
