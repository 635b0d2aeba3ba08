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
#include "returner/jids.h"

namespace rest_fcgi::returner {

/// One call of the job cache, as a row of the table `outbox`. Plain value.
struct OutboxRow {
  WallTime stamp;  ///< of the call
  JidKey key = 0;
  std::string load{};     ///< of a job: its load as etcd keeps it; else empty
  std::string returns{};  ///< a list, as `returns_json` writes it; may be empty
  std::string minions{};  ///< of save_minions: a list; else empty
  bool is_placeholder = false;
};

/// The writes that wait for etcd, in the store's table `outbox`. All processes of the store share it. The
/// thread of one of them delivers the rows in their order, and deletes those that were delivered. That
/// process holds a lease, which it renews once a second while it delivers; when it dies, another process
/// takes the lease over after three seconds. Without rows the lease is not renewed, and nothing is written. A
/// process may die between the delivery of rows and their deletion: the next one delivers these rows again.
/// Thread-safe.
class Outbox {
 public:
  struct Options {
    std::string name;            ///< of this process in the lease, and of no other
    std::size_t max_bytes = 0;   ///< of all rows
    std::function<void()> lost;  ///< is called for each row that finds no room; quick, on any thread
    /// Writes rows into etcd, in their order. Errors: etcd may have some of them.
    std::function<Result<void>(const std::vector<OutboxRow>&)> deliver;
  };

  /// Errors: internal, where no thread can be had.
  [[nodiscard]] static Result<std::unique_ptr<Outbox>> start(std::shared_ptr<store::Store> store,
                                                             Options options);

  /// Delivers what is left, unless etcd fails. The other rows stay for another process, or the next start.
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Commits a row. Returns false where it finds no room, which the log says once. Errors: unavailable, where
  /// the store cannot be written.
  [[nodiscard]] Result<bool> append(const OutboxRow& row);

  /// Waits until all rows that were appended before, by any process, are delivered. Errors: unavailable, with
  /// the cause, where etcd cannot be written.
  [[nodiscard]] Result<void> flush();

 private:
  enum class Haste { none, urgent };

  Outbox(std::shared_ptr<store::Store> store, Options options);
  /// Takes or renews the lease. Returns false where another process holds it.
  bool take_lease();
  void wake(Haste haste);
  void note_room(bool has_room, std::int64_t bytes);

  // On the thread:
  void run();
  void deliver_or_note_failure(SteadyTime deadline);
  [[nodiscard]] Result<void> deliver(SteadyTime deadline);
  [[nodiscard]] bool may_deliver();
  [[nodiscard]] Result<void> note_delivered(std::int64_t last_id);

  const std::shared_ptr<store::Store> store_;
  const Options options_;
  std::atomic<bool> is_delivering_{false};
  bool is_failing_ = false;  // the log says so; only the thread uses it

  std::mutex mutex_;
  std::condition_variable work_;      // for the thread
  std::condition_variable progress_;  // for those that flush
  std::uint64_t passes_ = 0;          // of the thread; guarded by mutex_, as all that follows
  bool is_resting_ = false;           // the thread waits for a row
  bool has_work_ = false;
  bool is_urgent_ = false;  // a caller waits for the delivery
  bool is_stopping_ = false;
  std::uint64_t lost_ = 0;  // rows, since there was no room

  store::Store::Registration renewal_;
  Thread thread_;  // ends first
};

}  // namespace rest_fcgi::returner
