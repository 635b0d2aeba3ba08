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
#include "returner/jids.h"

namespace rest_fcgi::returner {

struct OutboxRow;

struct EtcdPair {
  std::string key;
  std::string value;
};

/// Puts that belong together, and are left out where a guard says so. Plain value.
struct EtcdWrite {
  enum class Unless {
    never,
    exists,   ///< left out where there is the key `guard`
    greater,  ///< left out where the value of the key `guard` is greater than `than`, as bytes compare
  };
  Unless unless = Unless::never;
  std::string guard{};
  std::string than{};
  std::vector<EtcdPair> puts{};
};

/// Which loads to walk over, in the order of their jids.
struct EtcdWalk {
  JidKeys keys;
  bool newest_first = false;
  WallTime now;  ///< hardly any job is newer
};

/// What the returner needs of etcd. Abstract because a cluster has two APIs, each with data of its own: v3,
/// with transactions and leases, and v2; and for tests. Thread-safe. Errors are those of `etcd::Client`; each
/// request has 5 s for reading, 4 s for writing, which is time for two members that do not answer.
class EtcdStore {
 public:
  using Visitor = std::function<void(const std::string& key, const std::string& value)>;
  /// Gets a jid and its stored load; returns false to end the walk.
  using LoadVisitor = std::function<bool(const std::string& jid, const std::string& stored)>;

  virtual ~EtcdStore() = default;

  /// The values of these keys, in their order; absent where there is no such key.
  [[nodiscard]] virtual Result<std::vector<std::optional<std::string>>> get(
      const std::vector<std::string>& keys) = 0;

  /// Visits all keys below `folder`, which ends with a slash, in their order.
  [[nodiscard]] virtual Result<void> visit(const std::string& folder, const Visitor& visitor) = 0;

  /// Visits the loads of jobs. A job of which there are only returns has what `load_or_returned` gives.
  [[nodiscard]] virtual Result<void> walk_loads(const EtcdLayout& layout, const EtcdWalk& walk,
                                                const LoadVisitor& visitor) = 0;

  /// All of it, in as few transactions as there are: in v3 in one. No key is put twice in it. What is written
  /// goes after the store's time to live.
  [[nodiscard]] virtual Result<void> write(const std::vector<EtcdWrite>& writes) = 0;

  /// Puts it where there is neither that key nor `taken_by`, for a time. Says whether it is there now, with
  /// this value.
  [[nodiscard]] virtual Result<bool> claim(const EtcdPair& claim, const std::string& taken_by,
                                           std::chrono::seconds ttl) = 0;

  /// Puts it where the key's value is `before`. Says whether it was.
  [[nodiscard]] virtual Result<bool> replace(const EtcdPair& pair, const std::string& before) = 0;
};

/// Returns the stored load of a job; or where there is none, what `load_of_return` makes of the first of its
/// returns, with all minions that returned; absent where there is neither. Errors: those of the store.
[[nodiscard]] Result<std::optional<std::string>> load_or_returned(EtcdStore& store, const EtcdLayout& layout,
                                                                  const std::string& jid);

/// Opens no connection. `ttl` 0: for ever. Errors: configuration.
[[nodiscard]] Result<std::unique_ptr<EtcdStore>> make_etcd_store_v3(const etcd::Options& options,
                                                                    std::chrono::seconds ttl);
[[nodiscard]] Result<std::unique_ptr<EtcdStore>> make_etcd_store_v2(const etcd::Options& options,
                                                                    std::chrono::seconds ttl);

/// The job cache in an etcd cluster, in the layout of Salt's own etcd returner. Each write is a row of the
/// store's outbox before the call returns. Every read waits until etcd has the rows that were there before,
/// and finds what others have in etcd. Jids are 20 digits and begin with a year from 1100 to 2899;
/// `save_load`, `save_job` and `prep_jid` refuse others: invocation. A claim of `prep_jid` lasts for an hour,
/// or until the job is gone. Jobs go by their time to live, which etcd looks after. The clock must outlive
/// it. Errors: configuration, internal.
[[nodiscard]] Result<std::unique_ptr<Returner>> open_etcd_returner(const EtcdOptions& options,
                                                                   std::shared_ptr<store::Store> store,
                                                                   const Clock& clock);

/// The same over given clients of etcd; for tests.
[[nodiscard]] Result<std::unique_ptr<Returner>> open_etcd_returner_over(const EtcdOptions& options,
                                                                        std::shared_ptr<store::Store> store,
                                                                        const Clock& clock,
                                                                        std::unique_ptr<EtcdStore> writing,
                                                                        std::unique_ptr<EtcdStore> reading);

/// Returns a function that writes rows of the outbox into etcd, several transactions at once. What is written
/// twice is the same as once. A return whose job etcd does not have is dropped. What etcd refuses is left
/// out: the log says so, and `lost` is called, on any thread. `store` must outlive the function, which only
/// one thread may call.
[[nodiscard]] std::function<Result<void>(const std::vector<OutboxRow>&)> make_etcd_delivery(
    EtcdStore& store, const EtcdOptions& options, std::function<void()> lost);

/// What is known of the jobs of late, by what names them and sorts as their jids do. Not synchronized.
template <class Key, class Known>
class RecentJobs {
 public:
  /// `bytes`: what it takes.
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

  /// Drops the oldest jobs beyond what is kept in mind.
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

/// Calls `call(0)` to `call(count - 1)`, at most `most` of them at a time, and comes back when none is under
/// way. Returns the first error, after which none begins any more.
template <class Call>
[[nodiscard]] Result<void> at_once(std::size_t count, std::size_t most, const Call& call) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  Result<void> all;
  const auto one_after_the_other = [&] {
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
    auto thread = Thread::start("etcd", one_after_the_other);
    if (!thread) break;
    others.push_back(*std::move(thread));
  }
  one_after_the_other();
  others.clear();  // which waits for them
  return all;
}

}  // namespace rest_fcgi::returner
