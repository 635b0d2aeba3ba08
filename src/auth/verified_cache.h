// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "auth/digest.h"
#include "auth/eauth.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// Remembers for a while which passwords were good, so that an expensive hash is paid once. It holds keyed
/// digests, no passwords; and successes only, so that a failure is never believed twice. Bounded: a new entry
/// displaces the one that ends first among those that share its lock. Thread-safe; a lock is held for some
/// nanoseconds.
class VerifiedCache {
 public:
  using Key = KeyedDigest::Value;

  /// `clock` has to outlive it. A `ttl` of 0: nothing is remembered. Errors: those of `KeyedDigest::make`.
  static Result<std::unique_ptr<VerifiedCache>> make(std::chrono::seconds ttl, const Clock& clock);

  VerifiedCache(KeyedDigest digest, std::chrono::seconds ttl, const Clock& clock);

  /// What stands for these credentials.
  [[nodiscard]] Key key(std::string_view eauth, std::string_view username, SecretView password) const {
    return digest_.of(eauth, username, password.reveal());
  }

  /// Were they found good less than `ttl` ago? Then the groups that were found with them.
  [[nodiscard]] std::optional<Groups> find(const Key& key);
  void remember(const Key& key, Groups groups);

  static constexpr std::size_t kShards = 256;
  static constexpr std::size_t kEntriesPerShard = 16;

 private:
  struct Entry {
    Key key{};
    SteadyTime end = SteadyTime::min();
    Groups groups{};
  };
  struct Shard {
    std::mutex mutex;
    std::array<Entry, kEntriesPerShard> entries;  // guarded by mutex
  };
  Shard& shard_of(const Key& key) { return shards_[static_cast<unsigned char>(key[0])]; }

  // constant after construction
  KeyedDigest digest_;
  std::chrono::seconds ttl_;
  const Clock& clock_;
  // each synchronizes itself
  std::array<Shard, kShards> shards_;
};

}  // namespace rest_fcgi::auth
