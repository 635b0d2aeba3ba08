// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"
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

struct EtcdWrite {
  /// The condition under which etcd skips the puts.
  enum class Unless {
    never,
    exists,  ///< With `exists`, etcd skips the puts if the key `guard` exists.
    /// With `greater`, etcd skips the puts if the value of the key `guard` sorts after the text `than`.
    greater,
  };
  Unless unless = Unless::never;
  std::string guard{};
  std::string than{};
  std::vector<EtcdPair> puts{};
};

struct EtcdWalk {
  JidKeys keys;
  bool newest_first = false;
  WallTime now;
};

/// Reads and writes the keys of a job cache in etcd. Thread-safe. Errors of all calls: those of
/// `etcd::Client`. One read request takes at most 5 s and one write request at most 4 s.
class EtcdStore {
 public:
  using Visitor = std::function<void(const std::string& key, const std::string& value)>;
  /// A function that gets a jid and the stored load of its job, and returns whether it wants the next load.
  using LoadVisitor = std::function<bool(const std::string& jid, const std::string& stored)>;

  virtual ~EtcdStore() = default;

  /// Returns the values in the order of the keys. The value of a missing key is absent.
  virtual Result<std::vector<std::optional<std::string>>> get(const std::vector<std::string>& keys) = 0;

  /// Visits all keys below `folder` in order. `folder` ends with a slash.
  virtual Result<void> visit(const std::string& folder, const Visitor& visitor) = 0;

  /// Calls `visitor` with the load of each job whose jid is in the range `walk.keys`. If a job has no stored
  /// load, `visitor` gets the result of `load_or_returned`.
  virtual Result<void> walk_loads(const EtcdLayout& layout, const EtcdWalk& walk,
                                  const LoadVisitor& visitor) = 0;

  /// Executes all writes, with API v3 of etcd in one transaction. The keys get the time to live of this
  /// store. REQUIRES: no two puts have the same key.
  virtual Result<void> write(const std::vector<EtcdWrite>& writes) = 0;

  /// Puts a pair with the time to live `ttl`. Skips the put if the pair's key or the key `taken_by` exists.
  /// Returns whether the pair is in etcd after the call.
  virtual Result<bool> claim(const EtcdPair& claim, const std::string& taken_by,
                             std::chrono::seconds ttl) = 0;

  /// Puts a pair if its key has the value `before`. Returns whether the pair was put.
  virtual Result<bool> replace(const EtcdPair& pair, const std::string& before) = 0;
};

/// Returns the load of a job. If etcd has no load, makes a load from the first return of the job with
/// `load_of_return`. Returns std::nullopt if etcd has neither a load nor a return.
Result<std::optional<std::string>> load_or_returned(EtcdStore& store, const EtcdLayout& layout,
                                                    const std::string& jid);

/// Makes a store without opening a connection to etcd. etcd deletes keys after `ttl`, or never if `ttl` is 0.
Result<std::unique_ptr<EtcdStore>> make_etcd_store_v3(const etcd::Options& options, std::chrono::seconds ttl);
Result<std::unique_ptr<EtcdStore>> make_etcd_store_v2(const etcd::Options& options, std::chrono::seconds ttl);

/// Opens the job cache in an etcd cluster, in the layout of Salt's etcd returner. A write call returns when
/// the write is in the outbox. A read call first waits until etcd has all earlier writes. `prep_jid` reserves
/// a jid for an hour. The clock must outlive the job cache. Errors: configuration; internal. The functions
/// that write a jid also return the error invocation, for a jid that `key_of` refuses.
Result<std::unique_ptr<Returner>> open_etcd_returner(const EtcdOptions& options,
                                                     std::shared_ptr<store::Store> store, const Clock& clock);

Result<std::unique_ptr<Returner>> open_etcd_returner_over(const EtcdOptions& options,
                                                          std::shared_ptr<store::Store> store,
                                                          const Clock& clock,
                                                          std::unique_ptr<EtcdStore> writing,
                                                          std::unique_ptr<EtcdStore> reading);

/// Returns a function that writes rows of the outbox into etcd. Only one thread at a time may call the
/// function. The function may write a row twice, and drops a return if neither etcd nor the rows have the
/// load of its job. If etcd refuses a load or a return, the function calls `lost`, on any thread. `store`
/// must outlive the function.
[[nodiscard]] std::function<Result<void>(const std::vector<OutboxRow>&)> make_etcd_delivery(
    EtcdStore& store, const EtcdOptions& options, std::function<void()> lost);

/// A cache with facts about jobs. `trim` removes the jobs with the smallest keys, until at most 4096 jobs and
/// 4 MiB of facts are left. Keys must sort like jids, so that these are the oldest jobs. Not synchronized.
template <class Key, class Known>
class RecentJobs {
 public:
  /// Stores the facts `known` about a job. `bytes` is the size of these facts.
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

/// Calls `call(0)` to `call(count - 1)` on several threads. The parameter `most` limits the number of
/// simultaneous calls. Waits until all calls have ended. After an error, starts no further call and returns
/// the first error.
template <class Call>
Result<void> at_once(std::size_t count, std::size_t most, const Call& call) {
  std::atomic<std::size_t> next{0};
  Mutex mutex;
  Result<void> all;
  const auto run_calls = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      Result<void> done = call(i);
      if (done) continue;
      next = count;
      const MutexLock lock(mutex);
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
  others.clear();
  return all;
}

}  // namespace rest_fcgi::returner
