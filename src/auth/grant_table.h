// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "auth/digest.h"
#include "rest_fcgi/auth/logins.h"
#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::auth {

/// Hash of what a keyed digest gave: some of its bits, which are as good as any others.
struct DigestHash {
  std::size_t operator()(const KeyedDigest::Value& digest) const noexcept {
    std::size_t hash;
    std::memcpy(&hash, digest.data(), sizeof hash);
    return hash;
  }
};

/// What good credentials were given, for a while: at most `ttl`, or to the end of the request that they came
/// with, and no longer than the grant itself lasts. Bounded: where it is full, a new grant displaces the one
/// that ends first. Each is given up, and wiped with its last holder, when it has ended and anything is
/// remembered after it. Not synchronized.
class GrantTable {
 public:
  using Key = KeyedDigest::Value;
  static constexpr std::size_t kMaxGrants = 4096;

  /// `clock` has to outlive it. A `ttl` of 0: nothing is remembered but for a request.
  GrantTable(std::chrono::seconds ttl, const Clock& clock) : ttl_(ttl), clock_(clock) {}

  /// For a request that has to end by `deadline`. Null where there is none.
  [[nodiscard]] std::shared_ptr<const Grant> find(const Key& key, SteadyTime deadline) const;

  /// Whatever `ttl` is, it is there for the request that has to end by `deadline`, and for those that have to
  /// end earlier: they began no later, and so before it was given.
  void remember(const Key& key, std::shared_ptr<const Grant> grant, SteadyTime deadline);

  /// Forgets this very grant; a newer one stays.
  void forget(const Key& key, const Grant& grant);

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    std::shared_ptr<const Grant> grant;
    SteadyTime end;       // for whoever asks
    SteadyTime deadline;  // of the latest request that it stays for
  };
  struct Now {
    SteadyTime steady;
    WallTime wall;
  };
  [[nodiscard]] Now now() const { return {clock_.steady(), clock_.wall()}; }
  [[nodiscard]] static bool is_good(const Entry& entry, const Now& now, SteadyTime deadline);

  const std::chrono::seconds ttl_;
  const Clock& clock_;
  std::unordered_map<Key, Entry, DigestHash> entries_;
};

}  // namespace rest_fcgi::auth
