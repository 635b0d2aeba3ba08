// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/returner/options.h"
#include "rest_fcgi/returner/returner.h"
#include "returner/etcd_delivery.h"
#include "returner/etcd_store.h"
#include "returner/spool.h"
#include "returner/trouble.h"

namespace rest_fcgi::returner {

/// The one thread of a process that writes into etcd. Records wait in a spool, which outlives the process,
/// until they are in etcd; while the cluster cannot be written they stay there, and are tried again after
/// pauses. Thread-safe.
class EtcdWriter {
 public:
  /// Opens the spool; whether the cluster is there shows later. Errors: unavailable.
  [[nodiscard]] static Result<std::unique_ptr<EtcdWriter>> start(const Options& options, const Clock& clock,
                                                                 std::unique_ptr<EtcdStore> store);

  /// Writes what is left; what cannot be written stays in the spool for the next process.
  ~EtcdWriter();
  EtcdWriter(const EtcdWriter&) = delete;
  EtcdWriter& operator=(const EtcdWriter&) = delete;

  /// Keeps a record. `grouped`: soon, and what finds no room because the cluster cannot be written is counted
  /// as lost. `durable`: it is in etcd when this comes back, or where that takes too long, on the disk.
  /// Errors: unavailable, for `durable` alone; then it is not kept.
  [[nodiscard]] Result<void> append(std::string_view record, Durability durability);

  /// Readers find all that was appended before, and what a process left that died a second ago or earlier.
  /// Errors: unavailable.
  [[nodiscard]] Result<void> flush();

  /// What was told before is in etcd when this comes back, or where that takes too long, on the disk.
  /// Errors: unavailable.
  [[nodiscard]] Result<void> settle();

  /// Claims a jid: see `EtcdStore::claim`. At once, on the caller's thread.
  [[nodiscard]] Result<bool> claim(const EtcdPair& claim, const std::string& taken_by,
                                   std::chrono::seconds ttl) {
    return delivery_.store().claim(claim, taken_by, ttl, call_deadline());
  }

  /// What to tell a caller whom `cause` kept from reading.
  [[nodiscard]] Error failure(const Error& cause) const { return trouble_.error(cause); }

 private:
  using Time = std::chrono::steady_clock::time_point;

  EtcdWriter(const Options& options, const Clock& clock, std::unique_ptr<EtcdStore> store,
             std::unique_ptr<Spool> spool);

  /// Later than any before, however often the clock is asked, or set back.
  [[nodiscard]] WallTime next_stamp();
  [[nodiscard]] bool append_within_patience(std::unique_lock<std::mutex>& lock, std::string_view record);
  /// Waits until it is in etcd up to there, or on the disk.
  [[nodiscard]] Result<void> make_durable(std::unique_lock<std::mutex>& lock, std::uint64_t end);
  /// Did a process die with records in its spool? Looks at most once a second. On any thread.
  [[nodiscard]] bool is_anything_left_behind();

  void loop();
  void wait_for_work(std::unique_lock<std::mutex>& lock);
  void attempt(std::unique_lock<std::mutex>& lock, bool look_around);
  void note(const Result<void>& written);  // REQUIRES: mutex_

  /// On the writer's thread, without the mutex, as all that follows.
  [[nodiscard]] Result<void> deliver(Spool& spool, std::uint64_t end);
  [[nodiscard]] Result<void> deliver_left_behind();
  void tell_once(const std::string& path, const std::string& line);

  const std::string prefix_;  // of the paths of spools
  const Clock& clock_;
  Trouble trouble_;
  std::atomic<std::int64_t> last_stamp_{0};

  std::mutex mutex_;
  std::condition_variable work_;        // for the writer
  std::condition_variable done_;        // for those that wait for it, or for room
  const std::unique_ptr<Spool> spool_;  // positions guarded by mutex_
  bool stopping_ = false;               // guarded by mutex_, as all that follows
  bool resting_ = false;                // the writer waits for a first record
  bool urgent_ = false;                 // somebody waits
  std::uint64_t looks_wanted_ = 1;      // for what dead processes left: at the start there may be some
  std::uint64_t looks_done_ = 0;        // up to which of them nothing is left any more
  std::uint64_t failures_ = 0;
  Error last_failure_{};
  Time failed_at_{};
  Time due_{};  // when to try what waits
  Time house_due_{};
  Time look_due_{};
  std::chrono::milliseconds pause_{0};  // after a failure

  // The writer's own:
  EtcdDelivery delivery_;
  std::set<std::string> told_of_;  // spools with which something is wrong

  Thread thread_;
};

}  // namespace rest_fcgi::returner
