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

/// Converts events of the bus. A minion may fire an event with any tag, so the tag alone is not trusted: the
/// data must have the same `id` and `jid`, and the `cmd` that the master adds (`_return`, or `_minion_event`
/// for an event of a minion). In a list of events a minion chooses everything, and the bus does not show it.
namespace rest_fcgi::salt {

/// What was published. Events of its returns repeat it.
struct PublishedCall {
  std::vector<std::string> functions;
  std::string user;
};

struct ReturnOptions {
  bool whole = false;         ///< include the whole event
  bool below_syndic = false;  ///< it may come through a syndic, in which case the master adds no `cmd`
  /// What was published, or null. A caller may choose the job id of another caller's running job. Returns
  /// repeat `fun` and `user` (below a syndic at most `fun`), so a return with other values belongs to another
  /// job.
  const PublishedCall* own = nullptr;
};

/// Returns the return of a minion; absent if the event is not this minion's return for this job. A value that
/// is not valid JSON becomes a failed return with the reason.
[[nodiscard]] std::optional<master::Return> read_return(const Topic& topic, std::string_view data,
                                                        ReturnOptions form);

/// Returns the return of a runner; absent if the master did not send it. `whole`: with the event.
[[nodiscard]] std::optional<master::RunnerReturn> read_runner_return(const Topic& topic,
                                                                     std::string_view data, bool whole);

/// Returns the minions to which a syndic passed the job; empty if the event is not a syndic's.
[[nodiscard]] std::vector<std::string> read_syndic(std::string_view data);

/// Passes the returns of one published job on, as long as the mailbox exists. Ignores returns of unexpected
/// minions, returns that name another function or user, and all but the first return of a minion, so that a
/// minion cannot fill the mailbox.
class JobListener final : public Listener {
 public:
  struct Options {
    bool whole_events = false;  ///< returns include their events
    bool has_function =
        false;  ///< the job is sys.list_functions: a minion's result is whether its list has a function
    bool syndics = false;  ///< minions of syndics return as well, before or after the syndic names them
  };

  JobListener(std::weak_ptr<master::Addressee> returns, const std::vector<std::string>& minions,
              PublishedCall own, Options options);

  [[nodiscard]] bool is_needed() const override { return !returns_.expired(); }
  void on_event(const Topic& topic, std::string_view data) override;
  void on_loss(const Error& error) override;

 private:
  void on_return(master::Addressee& returns, const Topic& topic, std::string_view data);

  const std::weak_ptr<master::Addressee> returns_;
  std::unordered_set<std::string> minions_;   ///< minions that have not returned yet
  std::unordered_set<std::string> returned_;  ///< only with syndics: minions that have returned
  const PublishedCall own_;
  const Options options_;
};

/// Receives the events of one runner.
class RunnerListener final : public Listener {
 public:
  RunnerListener(std::weak_ptr<master::RunnerReturns> returns, bool whole_event)
      : returns_(std::move(returns)), whole_event_(whole_event) {}

  [[nodiscard]] bool is_needed() const override { return !returns_.expired(); }
  void on_event(const Topic& topic, std::string_view data) override;
  void on_loss(const Error& error) override;

  /// The first event of the runner.
  enum class Seen {
    nothing,
    begun,  ///< the master reports its start
    ended,  ///< it has returned, or the bus was lost
  };
  /// Waits for an event until `until`. Any thread may call it.
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
