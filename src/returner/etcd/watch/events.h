// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/returner/watch.h"
#include "returner/etcd/store.h"

namespace rest_fcgi::returner {

/// Tells events that are no job's to the other listeners of a cluster, through one key of its own whose
/// values are batches of events: who watches that key sees each of them. Looks at most once a second whether
/// anybody listens; where nobody does, nothing is written. Thread-safe; its thread starts with the first
/// event.
class EtcdEvents {
 public:
  /// `store`'s time to live is that of its keys, and has to be longer than what is between two calls of
  /// `listen`. `name` is nobody else's.
  EtcdEvents(std::unique_ptr<EtcdStore> store, const EtcdLayout& layout, const std::string& name);
  ~EtcdEvents();
  EtcdEvents(const EtcdEvents&) = delete;
  EtcdEvents& operator=(const EtcdEvents&) = delete;

  /// Waits for nothing. What cannot be told, since too much waits already or etcd refuses it, the listeners
  /// are told to have missed.
  void publish(std::string_view tag, const Json& data, std::string_view user);

  /// An event that should have been published is lost: the listeners are told so.
  void drop();

  /// From now on, and for a time to live, the others know that somebody listens here.
  [[nodiscard]] Result<void> listen();

  /// Tells the listener what a value of anybody's key says.
  static void tell(std::string_view value, ClusterListener& listener);

 private:
  void start();  // REQUIRES: mutex_
  void run(const std::stop_token& stop);
  /// Sends what waits, or some of it. Errors: it waits still, and is sent again as it was: etcd may have put
  /// it without saying so, and who watches passes over a value that does not change.
  [[nodiscard]] Result<void> send();
  [[nodiscard]] std::string next_batch();
  [[nodiscard]] Result<bool> somebody_listens();
  /// Later values are greater, as bytes compare.
  [[nodiscard]] std::string numbered(std::string_view rest_of_object);
  /// Puts what is numbered in place of any older value, however late.
  [[nodiscard]] Result<void> put(const std::string& key, const std::string& value);

  const std::unique_ptr<EtcdStore> store_;
  const EtcdLayout layout_;
  const std::string name_;
  std::mutex mutex_;                 // guards what follows, up to the next empty line
  std::deque<std::string> waiting_;  // events, as JSON
  std::size_t bytes_ = 0;            // of waiting_
  bool dropped_ = false;             // since the last batch was made

  std::atomic<std::uint64_t> puts_{0};
  std::string batch_;                    // being sent; of the thread alone, as is the next one
  std::optional<SteadyTime> nobody_at_;  // when it was seen
  std::condition_variable_any came_;
  std::stop_source ending_;
  Thread thread_;  // guarded by mutex_
};

}  // namespace rest_fcgi::returner
