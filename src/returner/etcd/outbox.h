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

/// One call of the job cache, as a row of the table `outbox`. Plain value.
struct OutboxRow {
  WallTime stamp;  ///< of the call
  JidKey key = 0;
  std::string load{};     ///< of a job: its load as etcd keeps it; else empty
  std::string returns{};  ///< a list, as `returns_json` writes it; may be empty
  std::string minions{};  ///< of save_minions: a list; else empty
  bool is_placeholder = false;
};

/// The writes that wait for etcd, in the store's table `outbox`. All processes of the store share it. A
/// thread of the process that holds the lease delivers the rows in order, and deletes delivered rows. It
/// renews the lease once a second; three seconds after its death another process takes the lease. Without
/// rows nothing is written. If a process dies between delivery and deletion, the next process delivers the
/// rows again. Thread-safe.
class Outbox {
 public:
  struct Options {
    std::string name;            ///< of this process, in the lease
    std::size_t max_bytes = 0;   ///< of all rows
    std::function<void()> lost;  ///< called for each row without room; must be quick; on any thread
    /// Writes rows into etcd, in order. After an error etcd may have some of them.
    std::function<Result<void>(const std::vector<OutboxRow>&)> deliver;
  };

  /// Errors: internal, without a thread.
  [[nodiscard]] static Result<std::unique_ptr<Outbox>> start(std::shared_ptr<store::Store> store,
                                                             Options options);

  /// Delivers the rows, unless etcd fails. Other rows stay for another process, or the next start.
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Commits a row. Returns false without room, which is logged once. Errors: unavailable, if the store
  /// cannot be written.
  [[nodiscard]] Result<bool> append(const OutboxRow& row);

  /// Waits until all earlier rows of all processes are delivered. Errors: unavailable, with the cause, if
  /// etcd cannot be written.
  [[nodiscard]] Result<void> flush();

 private:
  Outbox(std::shared_ptr<store::Store> store, Options options);
  /// Takes or renews the lease. Returns false if another process holds it.
  bool take_lease();
  void wake(bool is_urgent);
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
  bool is_failing_ = false;  // and logged; of the thread

  std::mutex mutex_;
  std::condition_variable work_;      // for the thread
  std::condition_variable progress_;  // for `flush`
  std::uint64_t passes_ = 0;          // of the thread; guarded by mutex_, as the following members
  bool is_idle_ = false;              // the thread waits for a row
  bool has_work_ = false;
  bool is_urgent_ = false;  // a caller waits for the delivery
  bool is_stopping_ = false;
  std::uint64_t lost_ = 0;  // rows without room, since the outbox was full

  store::Store::Registration renewal_;
  Thread thread_;  // ends first
};

}  // namespace rest_fcgi::returner
