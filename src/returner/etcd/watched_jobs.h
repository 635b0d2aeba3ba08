// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/returner/watch.h"
#include "returner/etcd/layout.h"
#include "returner/etcd/store.h"
#include "returner/etcd/watch.h"

namespace rest_fcgi::returner {

/// Makes jobs and returns of changes in etcd, and tells them to a listener. Salt writes a return key by key:
/// it is told when it is whole, or when no further key came for a second. A return may be in etcd a moment
/// before its load: it waits for the load. Not synchronized.
class WatchedJobs {
 public:
  /// Returns a key's value as it was at a revision; at 0, its value now.
  using LookUp =
      std::function<Result<std::optional<std::string>>(const std::string& key, std::int64_t revision)>;

  /// The listener must outlive this object.
  WatchedJobs(const EtcdOptions& options, ClusterListener& listener, LookUp look_up);

  /// Takes changes that came together, and passes over those that are no job's. `settle` looks loads up again
  /// that could not be looked up.
  void take(const std::vector<EtcdChange>& changes, SteadyTime now);

  /// Tells returns that have waited for long enough. Tells that something is lost where their loads cannot be
  /// looked up.
  void settle(SteadyTime now);

  /// Forgets returns that are not whole, since changes were missed.
  void forget() { pending_.clear(); }

 private:
  using Place = std::pair<std::string, std::string>;  // jid and minion
  struct Pending {
    std::map<std::string, std::string, std::less<>> fields{};  // by name; decoded
    bool differs = false;                                      // from what was there before
    bool whole = false;
    std::int64_t revision = 0;
    SteadyTime first{};
    SteadyTime last{};
  };
  using Returns = std::map<Place, Pending>;

  void take_load(const std::string& jid, const EtcdChange& change);
  /// Tells a return and forgets it, or leaves it where its load is not there. Returns the next one.
  Returns::iterator tell(Returns::iterator pending, bool at_any_rate);
  /// Returns a load; null where etcd has none.
  Result<const Load*> find(const std::string& jid, std::int64_t revision);

  const EtcdLayout layout_;
  const UnicodeErrors unicode_errors_;
  ClusterListener& listener_;
  const LookUp look_up_;
  Returns pending_;
  RecentJobs<std::string, Load> jobs_;
  std::string no_look_up_;  // why a load could not be looked up; empty: all could
  SteadyTime settled_at_{};
};

}  // namespace rest_fcgi::returner
