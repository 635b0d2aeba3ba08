// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>

#include "auth/digest.h"
#include "rest_fcgi/auth/logins.h"
#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::auth {

/// What good credentials were given, for a while: at most `ttl` and the grant's own `keep`, or to the end of
/// the request that they came with, and no longer than the grant itself lasts. Bounded: where it is full, a
/// new grant displaces the one that ends first. Each is given up, and wiped with its last holder, when it has
/// ended and anything is remembered after it. Not synchronized.
class GrantTable {
 public:
  using Key = KeyedDigest::Value;
  static constexpr std::size_t kMaxGrants = 4096;

  /// `clock` has to outlive it. A `ttl` of 0: nothing is remembered but for a request.
  GrantTable(std::chrono::seconds ttl, const Clock& clock) : ttl_(ttl), clock_(clock) {}

  /// For a request that has to end by `deadline`. Null where there is none.
  [[nodiscard]] std::shared_ptr<const Grant> find(const Key& key, SteadyTime deadline) const {
    const auto found = entries_.find(key);
    return found != entries_.end() && is_good(found->second, now(), deadline) ? found->second.grant : nullptr;
  }

  /// Whatever `ttl` is, it is there for the request that has to end by `deadline`, and for a moment for those
  /// that have to end earlier: most of them came with it, and waited for it.
  void remember(const Key& key, std::shared_ptr<const Grant> grant, SteadyTime deadline) {
    const Now at = now();
    std::erase_if(entries_, [&](const auto& entry) { return !may_be_good(entry.second, at); });
    const auto keep = std::min(ttl_, grant->keep);
    const Entry entry{std::move(grant), at.steady + keep, at.steady + kForOthers, deadline};
    if (!may_be_good(entry, at)) return;
    if (entries_.size() >= kMaxGrants && !entries_.contains(key)) {
      entries_.erase(std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
        return a.second.end < b.second.end;
      }));
    }
    entries_.insert_or_assign(key, entry);
  }

  /// Forgets this very grant; a newer one stays.
  void forget(const Key& key, const Grant& grant) {
    const auto found = entries_.find(key);
    if (found != entries_.end() && found->second.grant.get() == &grant) entries_.erase(found);
  }

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  static constexpr std::chrono::seconds kForOthers{5};
  struct Entry {
    std::shared_ptr<const Grant> grant;
    SteadyTime end;         // for whoever asks
    SteadyTime end_others;  // for requests that have to end before `deadline`
    SteadyTime deadline;    // of the request that it stays for
  };
  struct Now {
    SteadyTime steady;
    WallTime wall;
  };
  [[nodiscard]] Now now() const { return {clock_.steady(), clock_.wall()}; }
  /// The calendar may jump, so the grant's own end is looked at whenever it is asked for.
  [[nodiscard]] static bool is_good(const Entry& entry, const Now& now, SteadyTime deadline) {
    const bool is_for = now.steady < entry.end || deadline == entry.deadline ||
                        (deadline < entry.deadline && now.steady < entry.end_others);
    return is_for && now.wall < entry.grant->expire;
  }
  /// For whoever may still ask: a request whose deadline is over does not.
  [[nodiscard]] static bool may_be_good(const Entry& entry, const Now& now) {
    return (now.steady < entry.end || now.steady <= entry.deadline) && now.wall < entry.grant->expire;
  }

  const std::chrono::seconds ttl_;
  const Clock& clock_;
  std::unordered_map<Key, Entry, DigestHash> entries_;
};

}  // namespace rest_fcgi::auth
