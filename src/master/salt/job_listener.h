// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "master/salt/events/listener_table.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/master/master.h"

/// Converts events of the bus. A minion may fire an event with any tag, so the tag alone is not trusted. The
/// data must have the `id` and `jid` of the tag, and the `cmd` that the master adds: `_return` for a return,
/// or `_minion_event` for any other event of a minion. In a list of events, a minion chooses all fields, also
/// `cmd`, so this check does not detect forged events there.
namespace rest_fcgi::salt {

/// The functions and the user of a published job. The event of each return has the same values.
struct PublishedCall {
  std::vector<std::string> functions;
  std::string user;
};

struct ReturnOptions {
  bool whole = false;  ///< `whole` says whether the result includes the whole event.
  /// `below_syndic` says whether a syndic may deliver the return. The master adds no `cmd` to such a return.
  bool below_syndic = false;
  /// The published call, or null. A caller may choose the job id of another running job, so a return with
  /// another `fun` or `user` is ignored. A return that comes through a syndic may lack these fields.
  const PublishedCall* own = nullptr;
};

/// Reads the return of a minion. Returns std::nullopt for another event. If a value cannot be shown as JSON,
/// the result is a failed return with the reason.
[[nodiscard]] std::optional<master::Return> read_return(const Topic& topic, std::string_view data,
                                                        ReturnOptions form);

/// Reads the return of a runner. Returns std::nullopt if another sender than the master sent the event.
[[nodiscard]] std::optional<master::RunnerReturn> read_runner_return(const Topic& topic,
                                                                     std::string_view data, bool whole);

/// Returns the minions to which a syndic passed the job. Returns an empty list for another event.
[[nodiscard]] std::vector<std::string> read_syndic(std::string_view data);

/// Passes on the returns of one published job, as long as their Addressee exists. Ignores returns of
/// unexpected minions, returns with another function or user, and repeated returns of a minion.
class JobListener final : public Listener {
 public:
  struct Options {
    bool whole_events = false;  ///< Whether each return includes its event.
    bool has_function =
        /// Whether the job is `sys.list_functions` for one function. Each return is then replaced by a
        /// boolean, which says whether the minion listed the function.
        false;
    /// Whether minions below syndics may return. Returns of unknown minions are then accepted, because a
    /// return may come before the list of minions from its syndic.
    bool syndics = false;
  };

  JobListener(std::weak_ptr<master::Addressee> returns, const std::vector<std::string>& minions,
              PublishedCall own, Options options);

  [[nodiscard]] bool is_needed() const override { return !returns_.expired(); }
  void on_event(const Topic& topic, std::string_view data) override;
  void on_loss(const Error& error) override;

 private:
  void on_return(master::Addressee& returns, const Topic& topic, std::string_view data);

  const std::weak_ptr<master::Addressee> returns_;
  std::unordered_set<std::string> minions_;   ///< The ids of minions that have not returned.
  std::unordered_set<std::string> returned_;  ///< `returned_` is used only with syndics.
  const PublishedCall own_;
  const Options options_;
};

class RunnerListener final : public Listener {
 public:
  RunnerListener(std::weak_ptr<master::RunnerReturns> returns, bool whole_event)
      : returns_(std::move(returns)), whole_event_(whole_event) {}

  [[nodiscard]] bool is_needed() const override { return !returns_.expired(); }
  void on_event(const Topic& topic, std::string_view data) override;
  void on_loss(const Error& error) override;

  enum class Seen {
    nothing,
    begun,  ///< `begun` means that the master has reported the start of the runner.
    ended,  ///< `ended` means that the runner has returned, or that the bus was lost.
  };
  /// Waits for the first event of the runner, but not longer than the time `until`. Thread-safe.
  [[nodiscard]] Seen wait_until(SteadyTime until);

 private:
  void note(Seen seen);

  const std::weak_ptr<master::RunnerReturns> returns_;
  const bool whole_event_;
  Mutex mutex_;
  std::condition_variable changed_;
  Seen seen_ GUARDED_BY(mutex_) = Seen::nothing;
};

}  // namespace rest_fcgi::salt
