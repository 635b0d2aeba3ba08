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

/// One write call of the job cache etcd.
struct OutboxRow {
  WallTime stamp;  ///< The time of the write call.
  JidKey key = 0;
  std::string load{};     ///< The load of a saved job, made by `load_text`. May be empty.
  std::string returns{};  ///< A list of returns, made by `returns_json`. May be empty.
  std::string minions{};  ///< The minions of a `save_minions` call as a JSON list. May be empty.
  bool is_placeholder = false;
};

/// The writes that wait for etcd, in the table `outbox` of the store. All processes of the store share the
/// table. The process with the lease delivers the rows in order and deletes delivered rows. It renews the
/// lease once a second. If it dies, another process takes the lease after three seconds. A row may be
/// delivered twice if a process dies. Thread-safe.
class Outbox {
 public:
  struct Options {
    std::string name;           ///< The name under which this process takes the lease.
    std::size_t max_bytes = 0;  ///< The largest size of all rows in bytes.
    /// A function that is called on any thread for each row that is lost because the outbox is full.
    std::function<void()> lost;
    /// A function that writes rows into etcd in order. After an error, etcd may have some of the rows.
    std::function<Result<void>(const std::vector<OutboxRow>&)> deliver;
  };

  [[nodiscard]] static Result<std::unique_ptr<Outbox>> start(std::shared_ptr<store::Store> store,
                                                             Options options);

  /// Delivers the rows unless etcd fails. Rows that are left wait for another process or for the next start.
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Commits a row. Returns false if the outbox is full. Fails with `unavailable` if the store cannot be
  /// written.
  [[nodiscard]] Result<bool> append(const OutboxRow& row);

  /// Waits until etcd has all earlier rows of all processes. Fails with `unavailable` if etcd fails.
  [[nodiscard]] Result<void> flush();

 private:
  Outbox(std::shared_ptr<store::Store> store, Options options);
  /// Takes or renews the lease. Returns false if another process holds the lease.
  bool take_lease();
  void wake(bool is_urgent);
  void note_room(bool has_room, std::int64_t bytes);

  void run();
  void deliver_or_note_failure(SteadyTime deadline);
  [[nodiscard]] Result<void> deliver(SteadyTime deadline);
  [[nodiscard]] bool may_deliver();
  [[nodiscard]] Result<void> note_delivered(std::int64_t last_id);

  const std::shared_ptr<store::Store> store_;
  const Options options_;
  std::atomic<bool> is_delivering_{false};
  bool is_failing_ = false;

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable progress_;  // Wakes callers of `flush`.
  // mutex_ guards the members from `passes_` to `lost_`.
  std::uint64_t passes_ = 0;
  bool is_idle_ = false;  // Whether the thread waits for a row.
  bool has_work_ = false;
  bool is_urgent_ = false;  // Whether a caller of `flush` waits.
  bool is_stopping_ = false;
  std::uint64_t lost_ = 0;  // The number of rows that were lost since the outbox became full.

  store::Store::Registration renewal_;
  Thread thread_;  // The thread ends before the other members are destroyed.
};

}  // namespace rest_fcgi::returner
