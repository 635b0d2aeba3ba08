// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "client/gatherer.h"
#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/client/options.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/master.h"

namespace rest_fcgi::client {

/// How many minions work at a time: a percentage is cut to a whole number, but is never less than one.
[[nodiscard]] std::size_t window_size(const lowstate::BatchSize& batch, std::size_t minions);

/// One `local_batch` call: asks who is there, then keeps at most so many minions at work, one starting as
/// soon as another has returned. Lives for one call. Not synchronized.
class Batch {
 public:
  Batch(master::Master& master, const master::Permit& permit, const Options& options);

  /// One item for each return, in order. Minions that are not there have none; one that was there and did not
  /// return has `{}`. Errors: timeout and the master's, with the ids of all jobs so far; a failure within the
  /// reply where it has items already.
  Result<Reply> run();

 private:
  Result<void> ping();
  Result<void> work();
  Result<void> fill_window();
  void take_in(const Arrival& arrival);
  void take_silent(const std::string& minion);
  void forget_old_places();
  [[nodiscard]] bool may_start() const noexcept { return !failed_ && started_ < minions_.size(); }

  const master::Permit& permit_;
  const lowstate::LocalCall& call_;
  Gatherer gatherer_;
  std::vector<std::string> minions_;  ///< that answered the ping
  std::size_t started_ = 0;           ///< how many of them, from the front
  std::size_t at_work_ = 0;           ///< started and not returned
  std::size_t window_ = 1;
  std::deque<SteadyTime>
      kept_places_;      ///< of minions that returned: when others may have them (`batch_wait`)
  bool failed_ = false;  ///< and `failhard` is set: start no more
  Reply reply_;
};

}  // namespace rest_fcgi::client
