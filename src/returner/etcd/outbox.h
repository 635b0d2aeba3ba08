// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/store/store.h"
#include "returner/stored.h"

namespace rest_fcgi::returner {

/// One write call of the job cache etcd, as a row of the table `outbox`. Plain value.
struct OutboxRow {
  WallTime stamp;  ///< the time of the call
  JidKey key = 0;
  std::string load{};     ///< the load of a saved job, made by `load_text`; empty for other calls
  std::string returns{};  ///< returns as a list, made by `returns_json`; may be empty
  std::string minions{};  ///< the minions of a `save_minions` call, as a JSON list; empty for other calls
  bool is_placeholder = false;
};

/// The writes that wait for etcd, in the table `outbox` of the store. All processes of the store share the
/// table. One process holds a lease. A thread of this process delivers the rows in order and deletes
/// delivered rows. The process renews the lease once a second. Three seconds after the death of the process,
/// another process takes the lease. While there are no rows, the outbox writes nothing. If a process dies
/// between delivery and deletion, the next process delivers the rows again. Thread-safe.
class Outbox {
 public:
  struct Options {
    std::string name;           ///< the name of this process in the lease
    std::size_t max_bytes = 0;  ///< the largest size of all rows
    /// Called for each row that is lost because the outbox is full; must be quick; on any thread.
    std::function<void()> lost;
    /// Writes rows into etcd in order. After an error, etcd may have some of the rows.
    std::function<Result<void>(const std::vector<OutboxRow>&)> deliver;
  };

  /// Starts the outbox and its thread. Errors: internal, if the thread cannot be started.
  [[nodiscard]] static Result<std::unique_ptr<Outbox>> start(std::shared_ptr<store::Store> store,
                                                             Options options);

  /// Delivers the rows, unless etcd fails. Rows that remain wait for another process or for the next start.
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Commits a row to the store. Returns false if the outbox is full; this is logged once. Errors:
  /// unavailable, if the store cannot be written.
  [[nodiscard]] Result<bool> append(const OutboxRow& row);

  /// Waits until etcd has all rows that any process appended before this call. Errors: unavailable, with the
  /// cause, if etcd cannot be written.
  [[nodiscard]] Result<void> flush();

 private:
  Outbox(std::shared_ptr<store::Store> store, Options options);
  /// Takes or renews the lease. Returns false if another process holds the lease.
  bool take_lease();
  void wake(bool is_urgent);
  void note_room(bool has_room, std::int64_t bytes);

  // The following functions run on `thread_`.
  void run();
  void deliver_or_note_failure(SteadyTime deadline);
  [[nodiscard]] Result<void> deliver(SteadyTime deadline);
  [[nodiscard]] bool may_deliver();
  [[nodiscard]] Result<void> note_delivered(std::int64_t last_id);

  const std::shared_ptr<store::Store> store_;
  const Options options_;
  std::atomic<bool> is_delivering_{false};
  bool is_failing_ = false;  // the last delivery failed, and this is logged; used by the thread only

  std::mutex mutex_;
  std::condition_variable work_;      // wakes the thread
  std::condition_variable progress_;  // wakes callers of `flush`
  // Deliveries that the thread tried; guarded by mutex_, as are the following members.
  std::uint64_t passes_ = 0;
  bool is_idle_ = false;  // the thread waits for a row
  bool has_work_ = false;
  bool is_urgent_ = false;  // a caller of `flush` waits for the delivery
  bool is_stopping_ = false;
  std::uint64_t lost_ = 0;  // rows that were lost since the outbox became full

  store::Store::Registration renewal_;
  Thread thread_;  // declared last, so that the thread ends first
};

}  // namespace rest_fcgi::returner
