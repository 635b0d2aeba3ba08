// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::salt {

/// What a request costs the master, and so how many of its kind may be under way at once: the master's
/// workers take what comes round robin, blind to load, so slow work must never hold all of them.
enum class Lane {
  publish,      ///< some milliseconds
  question,     ///< `saltutil.find_job`: a publish that can wait
  runner,       ///< the start of one, a fork: some ten milliseconds
  wheel,        ///< runs in the worker to its end
  wheel_async,  ///< the same, while nobody waits for it
  login,        ///< a wrong password holds a worker for a second
  token,        ///< whose it is: some milliseconds, but anybody can make tokens up and ask
};
inline constexpr std::size_t kLanes = 7;

/// What takes a turn, and the address that it comes from; empty where it is our own.
struct Errand {
  Errand(Lane its_lane, std::string_view its_remote = {}) : lane(its_lane), remote(its_remote) {}
  Lane lane;
  std::string_view remote;
};

struct PoolOptions {
  std::string uri = "tcp://127.0.0.1:4506";  ///< the master's `ret_port`
  std::size_t connections = 16;              ///< at most so many at a time
  std::size_t worker_threads = 5;            ///< Salt's option of that name: the master's workers
  std::size_t max_waiting = 1024;  ///< threads that may wait for a connection; beyond it: unavailable
  std::size_t max_waiting_logins =
      64;  ///< of these for logins, which anybody can make many of; and for tokens
  std::size_t max_answer_size = std::size_t{256} << 20;  ///< bytes; a larger answer breaks the connection
  std::chrono::milliseconds connect_timeout{4000};       ///< a master that refuses is noticed at once
  /// A request other than a login that takes this long has stalled: it met a worker that is busy or lost, or
  /// is a slow wheel itself. It goes on waiting, but the others no longer wait for it, see `Turns::stall`.
  std::chrono::milliseconds slow_after{2000};
};

/// How many requests of a lane may be under way at once, at least 1.
std::size_t lane_limit(Lane lane, const PoolOptions& options);

/// How many logins and wheels together: they leave one of the master's workers alone, where it has more than
/// one.
std::size_t slow_limit(const PoolOptions& options);

/// Who may have a request under way: at most `connections` in all, and of each lane its limit. Who waits gets
/// a turn in the order of arrival, but for those whose lane is full: they keep nobody else up. Thread-safe.
class Turns {
 public:
  struct GiveBack {
    Lane lane;
    bool stalled = false;
    void operator()(Turns* turns) const { turns->give_back(*this); }
  };
  /// One request's turn; the next one has it when this goes.
  using Turn = std::unique_ptr<Turns, GiveBack>;

  explicit Turns(const PoolOptions& options);

  /// Waits for a turn. Errors: unavailable, when as many wait as may, or after `end`; timeout.
  [[nodiscard]] Result<Turn> take(Lane lane, SteadyTime deadline);

  /// This request goes on, but its answer does not come: others may have its place. A wheel keeps its place
  /// in its own lane, since it most likely runs and holds a worker. As many may be stalled at a time as
  /// `kStalled` times the connections; beyond that a turn stays what it is.
  void stall(Turn& turn);
  static constexpr std::size_t kStalled = 3;

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
    bool is_slow = false;      ///< counts for the limit of all slow ones together
    bool keeps_place = false;  ///< in this lane, when it has stalled
    std::size_t under_way = 0;
    std::list<Waiter*> waiters{};
  };

  LaneState& state(Lane lane) { return lanes_[static_cast<std::size_t>(lane)]; }
  [[nodiscard]] bool has_room(const LaneState& lane) const {
    return under_way_ < connections_ && lane.under_way < lane.limit &&
           (!lane.is_slow || slow_under_way_ < slow_limit_);
  }
  void begin(LaneState& lane);
  void leave_shared(const LaneState& lane);
  LaneState* next_lane();
  Result<Turn> wait(Lane lane, Waiter& waiter, SteadyTime deadline, std::unique_lock<std::mutex>& lock);
  void give_back(const GiveBack& turn);
  void wake_next();

  const std::size_t connections_;
  const std::size_t max_waiting_;
  const std::size_t slow_limit_;
  mutable std::mutex mutex_;
  std::condition_variable left_;  ///< somebody gave a turn back, or gave up waiting
  std::array<LaneState, kLanes> lanes_;
  std::size_t under_way_ = 0;
  std::size_t slow_under_way_ = 0;
  std::size_t stalled_ = 0;
  std::size_t waiting_ = 0;
  std::uint64_t next_number_ = 0;
  bool ended_ = false;
};

}  // namespace rest_fcgi::salt
