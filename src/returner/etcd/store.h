// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/etcd/options.h"
#include "rest_fcgi/returner/options.h"
#include "rest_fcgi/returner/returner.h"
#include "rest_fcgi/store/store.h"
#include "returner/etcd/layout.h"
#include "returner/stored.h"

namespace rest_fcgi::returner {

struct OutboxRow;

struct EtcdPair {
  std::string key;
  std::string value;
};

/// Puts under a common condition.
struct EtcdWrite {
  /// When the puts are left out.
  enum class Unless {
    never,
    exists,   ///< the key `guard` exists
    greater,  ///< the value of the key `guard` is greater than `than`, as bytes
  };
  Unless unless = Unless::never;
  std::string guard{};
  std::string than{};
  std::vector<EtcdPair> puts{};
};

/// Which loads to visit, in the order of their jids.
struct EtcdWalk {
  JidKeys keys;
  bool newest_first = false;
  WallTime now;
};

/// The reads and writes of a job cache. Abstract because of API v3, API v2, and tests. Thread-safe. Errors:
/// those of `etcd::Client`. A read takes at most 5 s and a write 4 s, enough for two silent members.
class EtcdStore {
 public:
  using Visitor = std::function<void(const std::string& key, const std::string& value)>;
  /// Takes a jid and its stored load; returns false to end the walk.
  using LoadVisitor = std::function<bool(const std::string& jid, const std::string& stored)>;

  virtual ~EtcdStore() = default;

  /// Returns the values of the keys, in their order; absent for a missing key.
  [[nodiscard]] virtual Result<std::vector<std::optional<std::string>>> get(
      const std::vector<std::string>& keys) = 0;

  /// Visits all keys below `folder`, which ends with a slash, in order.
  [[nodiscard]] virtual Result<void> visit(const std::string& folder, const Visitor& visitor) = 0;

  /// Visits the loads of jobs. For a job without a load, it visits the result of `load_or_returned`.
  [[nodiscard]] virtual Result<void> walk_loads(const EtcdLayout& layout, const EtcdWalk& walk,
                                                const LoadVisitor& visitor) = 0;

  /// Executes all writes with the store's time to live; in API v3 as one transaction. Each key may be put
  /// once.
  [[nodiscard]] virtual Result<void> write(const std::vector<EtcdWrite>& writes) = 0;

  /// Puts a pair for a time, unless its key or `taken_by` exists. Returns whether the key has this value now.
  [[nodiscard]] virtual Result<bool> claim(const EtcdPair& claim, const std::string& taken_by,
                                           std::chrono::seconds ttl) = 0;

  /// Puts a pair if the key has the value `before`. Returns whether it had.
  [[nodiscard]] virtual Result<bool> replace(const EtcdPair& pair, const std::string& before) = 0;
};

/// Returns the stored load of a job. Without a load, it is the result of `load_of_return` for its first
/// return. Absent without either. Errors: those of the store.
[[nodiscard]] Result<std::optional<std::string>> load_or_returned(EtcdStore& store, const EtcdLayout& layout,
                                                                  const std::string& jid);

/// Opens no connection. `ttl` 0: for ever. Errors: configuration.
[[nodiscard]] Result<std::unique_ptr<EtcdStore>> make_etcd_store_v3(const etcd::Options& options,
                                                                    std::chrono::seconds ttl);
[[nodiscard]] Result<std::unique_ptr<EtcdStore>> make_etcd_store_v2(const etcd::Options& options,
                                                                    std::chrono::seconds ttl);

/// Opens the job cache in an etcd cluster, in the layout of Salt's etcd returner. A write is in the outbox
/// when the call returns. A read first waits until etcd has all earlier writes. `save_load`, `save_job` and
/// `prep_jid` refuse jids without a key: invocation. `prep_jid` reserves a jid for an hour. etcd deletes jobs
/// after their time to live. The clock must outlive it. Errors: configuration, internal.
[[nodiscard]] Result<std::unique_ptr<Returner>> open_etcd_returner(const EtcdOptions& options,
                                                                   std::shared_ptr<store::Store> store,
                                                                   const Clock& clock);

/// The same over given stores, for tests.
[[nodiscard]] Result<std::unique_ptr<Returner>> open_etcd_returner_over(const EtcdOptions& options,
                                                                        std::shared_ptr<store::Store> store,
                                                                        const Clock& clock,
                                                                        std::unique_ptr<EtcdStore> writing,
                                                                        std::unique_ptr<EtcdStore> reading);

/// Returns a function that writes rows of the outbox into etcd, in several transactions at once. It may write
/// a row twice. It drops returns without a job in etcd. What etcd refuses is logged, and `lost` is called on
/// any thread. `store` must outlive the function, which is for one thread.
[[nodiscard]] std::function<Result<void>(const std::vector<OutboxRow>&)> make_etcd_delivery(
    EtcdStore& store, const EtcdOptions& options, std::function<void()> lost);

/// A bounded map of the newest jobs. Keys have the order of jids. Not synchronized.
template <class Key, class Known>
class RecentJobs {
 public:
  /// `bytes` is the size of `known`.
  const Known& put(const Key& key, Known known, std::size_t bytes) {
    Entry& entry = jobs_[key];
    bytes_ += bytes - entry.bytes;
    entry = {std::move(known), bytes};
    return entry.known;
  }

  [[nodiscard]] const Known* find(const Key& key) const {
    const auto found = jobs_.find(key);
    return found == jobs_.end() ? nullptr : &found->second.known;
  }

  /// Drops the oldest jobs beyond the bounds.
  void trim() {
    constexpr std::size_t kMost = 4096;
    constexpr std::size_t kMostBytes = 4 * 1024 * 1024;
    for (; jobs_.size() > kMost || bytes_ > kMostBytes; jobs_.erase(jobs_.begin())) {
      bytes_ -= jobs_.begin()->second.bytes;
    }
  }

 private:
  struct Entry {
    Known known{};
    std::size_t bytes = 0;
  };
  std::map<Key, Entry> jobs_;
  std::size_t bytes_ = 0;
};

/// Calls `call(0)` to `call(count - 1)`, at most `most` of them at the same time, and waits for all. Returns
/// the first error; no call starts after it.
template <class Call>
[[nodiscard]] Result<void> at_once(std::size_t count, std::size_t most, const Call& call) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  Result<void> all;
  const auto run_calls = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      Result<void> done = call(i);
      if (done) continue;
      next = count;
      const std::lock_guard lock(mutex);
      if (all) all = std::move(done);
    }
  };
  std::vector<Thread> others;
  for (std::size_t i = 1; i < std::min(count, most); ++i) {
    auto thread = Thread::start("etcd", run_calls);
    if (!thread) break;
    others.push_back(*std::move(thread));
  }
  run_calls();
  others.clear();  // waits for the threads
  return all;
}

}  // namespace rest_fcgi::returner
