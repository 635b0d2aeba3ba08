// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "master/recording/caches.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/returner/returner.h"

namespace rest_fcgi::recording {

/// One job on its way into the job caches, and on to who waits for it. Hears the master's deliveries from any
/// thread, also before it is known which job they belong to: those wait here. Thread-safe.
class RecordedJob {
 public:
  /// `listener` may be null: nobody waits. Whoever waits no more has let go of it.
  RecordedJob(std::shared_ptr<Caches> caches, const std::shared_ptr<master::Returns>& listener)
      : caches_(std::move(caches)), listener_(listener) {}

  /// Records it, and hands it on.
  void hear(master::Delivery delivery);

  /// The job was published.
  void begin(const returner::Load& load);

  /// Nothing more is expected: all have returned, or no more returns can be heard.
  [[nodiscard]] bool done() const;

 private:
  void record(const master::Delivery& delivery);
  void record_return(const master::Return& ret);
  void record_more(const master::MoreMinions& more);

  const std::shared_ptr<Caches> caches_;
  const std::weak_ptr<master::Returns> listener_;
  mutable std::mutex mutex_;                  // also keeps what is recorded in the order in which it came
  std::string jid_;                           // empty before `begin`; guarded by mutex_, as all that follows
  std::vector<master::Delivery> early_;       // came before `begin`
  std::unordered_set<std::string> expected_;  // minions that have not returned
  std::unordered_set<std::string> returned_;
  bool lost_ = false;  // no more returns can be heard
};

}  // namespace rest_fcgi::recording
