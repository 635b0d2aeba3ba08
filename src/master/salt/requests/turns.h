// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

#include "master/salt/requests/request_pool.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::salt {

/// Who may have a request under way: at most `connections` in all, and of each lane its limit. Who waits gets
/// a turn in the order of arrival, but for those whose lane is full: they keep nobody else up. Thread-safe.
class Turns {
 public:
  struct GiveBack {
    Lane lane;
    bool aside = false;
    void operator()(Turns* turns) const { turns->give_back(*this); }
  };
  /// One request's turn; the next one has it when this goes.
  using Turn = std::unique_ptr<Turns, GiveBack>;

  explicit Turns(const PoolOptions& options);

  /// Waits for a turn. Errors: unavailable, when as many wait as may, or after `end`; timeout.
  [[nodiscard]] Result<Turn> take(Lane lane, SteadyTime deadline);

  /// Lets the next one have what this turn holds, though it goes on: its answer does not come. As many may do
  /// so at a time as `kAside` times the connections; beyond that a turn stays what it is.
  void step_aside(Turn& turn);
  static constexpr std::size_t kAside = 3;

  /// How many wait now.
  [[nodiscard]] std::size_t waiting() const;

  /// Gives no more turns, sends away who waits, and returns when all turns were given back.
  void end();

 private:
  struct Waiter {
    std::uint64_t number;  ///< of arrival
    std::condition_variable woken{};
    bool has_turn = false;
  };
  struct LaneState {
    std::size_t limit = 0;
    bool is_slow = false;  ///< counts for the limit of all slow ones together
    std::size_t max_waiting = 0;
    std::size_t under_way = 0;
    std::list<Waiter*> waiters{};
  };

  LaneState& state(Lane lane) { return lanes_[static_cast<std::size_t>(lane)]; }
  [[nodiscard]] bool has_room(const LaneState& lane) const {
    return under_way_ < connections_ && lane.under_way < lane.limit &&
           (!lane.is_slow || slow_under_way_ < slow_limit_);
  }
  void begin(LaneState& lane);
  void finish(LaneState& lane);
  LaneState* next_lane();
  Result<Turn> wait(Lane lane, SteadyTime deadline, std::unique_lock<std::mutex>& lock);
  void give_back(const GiveBack& turn);
  void wake_next();

  const std::size_t connections_;
  const std::size_t max_waiting_;
  mutable std::mutex mutex_;
  std::condition_variable left_;  ///< somebody gave a turn back, or gave up waiting
  std::array<LaneState, 4> lanes_;
  std::size_t slow_limit_ = 0;
  std::size_t under_way_ = 0;
  std::size_t slow_under_way_ = 0;
  std::size_t aside_ = 0;
  std::size_t waiting_ = 0;
  std::uint64_t next_number_ = 0;
  bool ended_ = false;
};

}  // namespace rest_fcgi::salt
