// SPDX-License-Identifier: MIT
#include "auth/verified_cache.h"

#include <algorithm>
#include <utility>

namespace rest_fcgi::auth {

Result<std::unique_ptr<VerifiedCache>> VerifiedCache::make(std::chrono::seconds ttl, const Clock& clock) {
  auto digest = KeyedDigest::make();
  if (!digest) return std::move(digest).error();
  return std::make_unique<VerifiedCache>(*std::move(digest), ttl, clock);
}

VerifiedCache::VerifiedCache(KeyedDigest digest, std::chrono::seconds ttl, const Clock& clock)
    : digest_(std::move(digest)), ttl_(ttl), clock_(clock) {}

std::optional<Groups> VerifiedCache::find(const Key& key) {
  const SteadyTime now = clock_.steady();
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  // Nobody outside can tell how far a guess gets here: which digest a guess has, only this process knows.
  const auto entry = std::find_if(shard.entries.begin(), shard.entries.end(),
                                  [&](const Entry& one) { return one.key == key && now < one.end; });
  if (entry == shard.entries.end()) return std::nullopt;
  return entry->groups;
}

void VerifiedCache::remember(const Key& key, Groups groups) {
  const SteadyTime end = clock_.steady() + ttl_;
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  auto entry =
      std::find_if(shard.entries.begin(), shard.entries.end(), [&](const Entry& e) { return e.key == key; });
  if (entry == shard.entries.end()) {
    entry = std::min_element(shard.entries.begin(), shard.entries.end(),
                             [](const Entry& a, const Entry& b) { return a.end < b.end; });
  }
  *entry = {key, end, std::move(groups)};
}

}  // namespace rest_fcgi::auth
