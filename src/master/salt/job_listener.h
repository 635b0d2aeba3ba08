// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "master/salt/events/registry.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/master/master.h"

/// Events of the bus into what they say. Any minion may fire an event under any tag, and so none is believed
/// for its tag alone: its data have to say the same in `cmd`, `id` and `jid`. Of a return, and of an event
/// that a minion fires alone, the master writes these (`_return`, `_minion_event`). A minion that fires a
/// list of events chooses all that is in them: where it lies, nothing on the bus shows it.
namespace rest_fcgi::salt {

/// What was published, as the events of its returns repeat it.
struct OwnCall {
  std::vector<std::string> functions;
  std::string user;
};

struct ReturnForm {
  bool whole = false;         ///< with the event as it came
  bool below_syndic = false;  ///< it may have come through a syndic: the master then writes no `cmd`
  /// Null: whatever was published. A caller may choose a job's id, and so that of a job of somebody else's
  /// that runs now. A return repeats `fun` and `user` on all living lines, below a syndic `fun` at most: one
  /// that names others is not this job's.
  const OwnCall* own = nullptr;
};

/// What a minion returned; absent where the event is no return of that minion for that job. A value that
/// cannot be shown becomes a failed return that says so.
[[nodiscard]] std::optional<master::Return> read_return(const Topic& topic, std::string_view data,
                                                        ReturnForm form);

/// What a runner returned; absent where the event is none of the master's own. `whole`: with the event.
[[nodiscard]] std::optional<master::RunnerReturn> read_runner_return(const Topic& topic,
                                                                     std::string_view data, bool whole);

/// The minions that a syndic passed a job on to; empty where the event is none of a syndic.
[[nodiscard]] std::vector<std::string> read_syndic(std::string_view data);

/// Hears the events of one published job and hands returns on, for as long as somebody holds the mailbox.
/// Returns of minions that the job does not expect go nowhere, nor do those that name another function or
/// user than were published, nor what a minion returns after its first return: without an end it could fill
/// the mailbox of somebody who is busy.
class JobListener final : public Listener {
 public:
  struct Options {
    bool whole_events = false;  ///< returns come with their events
    bool has_function = false;  ///< what returns is the list of a function's names: is it there?
    bool syndics = false;       ///< minions of theirs return as well, named by them before or not
  };

  JobListener(std::weak_ptr<master::Addressee> returns, const std::vector<std::string>& minions, OwnCall own,
              Options options);

  [[nodiscard]] bool wanted() const override { return !returns_.expired(); }
  void hear(const Topic& topic, std::string_view data) override;
  void lost(const Error& error) override;

 private:
  void hear_return(master::Addressee& returns, const Topic& topic, std::string_view data);

  const std::weak_ptr<master::Addressee> returns_;
  std::unordered_set<std::string> minions_;   ///< that have not returned
  std::unordered_set<std::string> returned_;  ///< where there are syndics: who has
  const OwnCall own_;
  const Options options_;
};

/// Hears the events of one runner.
class RunnerListener final : public Listener {
 public:
  RunnerListener(std::weak_ptr<master::RunnerReturns> returns, bool whole_event)
      : returns_(std::move(returns)), whole_event_(whole_event) {}

  [[nodiscard]] bool wanted() const override { return !returns_.expired(); }
  void hear(const Topic& topic, std::string_view data) override;
  void lost(const Error& error) override;

  /// What came first of the runner.
  enum class Seen {
    nothing,
    begun,  ///< the master says that it begins
    ended,  ///< its return, or the loss of the bus
  };
  /// Waits until then for something to be seen. Any thread may call it.
  [[nodiscard]] Seen wait_until(SteadyTime until);

 private:
  void note(Seen seen);

  const std::weak_ptr<master::RunnerReturns> returns_;
  const bool whole_event_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Seen seen_ = Seen::nothing;  // guarded by mutex_
};

}  // namespace rest_fcgi::salt
