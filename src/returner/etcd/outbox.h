// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/store/store.h"
#include "returner/stored.h"

namespace rest_fcgi::returner {

/// One write call of the job cache `etcd`, as a row of the table `outbox`.
struct OutboxRow {
  WallTime stamp;
  JidKey key = 0;
  std::string load{};     ///< `load` is the job's load as JSON, made by `load_text`. May be empty.
  std::string returns{};  ///< `returns` are minions' returns as JSON, made by `returns_json`. May be empty.
  std::string minions{};  ///< `minions` are the minions of `save_minions` as a JSON list. May be empty.
  bool is_placeholder = false;
};

/// The writes that are not yet in etcd, as rows of the table `outbox` of the store. All processes with this
/// store share the table. One process holds a lease. This process writes the rows to etcd in order, deletes
/// written rows, and renews the lease once a second. If this process dies, another process takes the lease
/// after three seconds and may write a row a second time. Thread-safe.
class Outbox {
 public:
  struct Options {
    std::string name;           ///< `name` is the name under which this process takes the lease.
    std::size_t max_bytes = 0;  ///< `max_bytes` is the largest total size of all rows in bytes.
    /// The outbox calls `lost` for each row that does not fit into `max_bytes`. Any thread may make the call.
    std::function<void()> lost;
    /// `deliver` writes rows into etcd in order. After an error, etcd may have some of the rows.
    std::function<Result<void>(const std::vector<OutboxRow>&)> deliver;
  };

  static Result<std::unique_ptr<Outbox>> start(std::shared_ptr<store::Store> store, Options options);

  /// Writes the rows to etcd. If etcd fails, the remaining rows stay in the table for another process or for
  /// the next start.
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Commits a row to the table. Returns false if the outbox is full. Errors: unavailable, if the store
  /// cannot be written.
  Result<bool> append(const OutboxRow& row);

  /// Waits until etcd has all rows that any process appended before this call. Errors: unavailable, if etcd
  /// fails.
  Result<void> flush();

 private:
  Outbox(std::shared_ptr<store::Store> store, Options options);
  bool take_lease();
  void wake(bool is_urgent);
  void note_room(bool has_room, std::int64_t bytes);

  void run();
  void deliver_or_note_failure(SteadyTime deadline);
  Result<void> deliver(SteadyTime deadline);
  [[nodiscard]] bool may_deliver();
  Result<void> note_delivered(std::int64_t last_id);

  const std::shared_ptr<store::Store> store_;
  const Options options_;
  std::atomic<bool> is_delivering_{false};
  bool is_failing_ = false;

  Mutex mutex_;
  std::condition_variable work_;
  std::condition_variable progress_;  // Wakes callers of `flush`.
  std::uint64_t passes_ GUARDED_BY(mutex_) = 0;
  bool is_idle_ GUARDED_BY(mutex_) = false;
  bool has_work_ GUARDED_BY(mutex_) = false;
  bool is_urgent_ GUARDED_BY(mutex_) = false;
  bool is_stopping_ GUARDED_BY(mutex_) = false;
  std::uint64_t lost_ GUARDED_BY(mutex_) = 0;  // The number of rows dropped since the outbox became full.

  store::Store::Registration renewal_;
  // This member is destroyed first, so the thread ends before the other members.
  Thread thread_;
};

}  // namespace rest_fcgi::returner
