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

/// Makes jobs and returns of changes in etcd, and tells them to a listener. Others than ourselves write a
/// return key by key: it is told when it is whole, or when nothing more came for a second. A return may be in
/// etcd a moment before its load: it waits for that. Not synchronized.
class WatchedJobs {
 public:
  /// What a key's value was at a revision; as it is now, at 0.
  using LookUp =
      std::function<Result<std::optional<std::string>>(const std::string& key, std::int64_t revision)>;

  /// Borrows the listener.
  WatchedJobs(const EtcdOptions& options, ClusterListener& listener, LookUp look_up);

  /// Changes that came together; those that are no job's are passed over. A load that cannot be looked up is
  /// tried again by `settle`.
  void take(const std::vector<EtcdChange>& changes, SteadyTime now);

  /// Tells what has waited for long enough; and that something is lost, where the loads of such returns
  /// cannot be looked up: nobody knows whose they are.
  void settle(SteadyTime now);

  /// Changes were missed.
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
  /// Tells it and forgets it, or leaves it where its load is not there. Gives what follows.
  Returns::iterator tell(Returns::iterator pending, bool at_any_rate);
  /// Null where there is none.
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
