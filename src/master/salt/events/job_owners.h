// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "master/salt/events/event.h"

namespace rest_fcgi::salt {

/// Whose the jobs are whose events come: the `user` of `salt/job/J/new`, `salt/run/J/new` and
/// `salt/wheel/J/new`. Jobs, runners and wheels are told apart. Used by one thread.
///
/// A minion may fire any tag, and whoever has one could so try to make another's job look like his own:
/// - what it fires alone bears its `cmd`, `_minion_event`, and says nothing about who owns a job;
/// - in a list of events it chooses all, as if the master had said it. But a minion learns a job's id after
///   the master's own `new`: the first one counts, and where another names somebody else, the job is nobody's
///   from then on;
/// - an event that names a `user` of its own, as returns do, is nobody's where that is another one;
/// - of the events that a minion fires alone only `salt/job/J/prog/M/...` are about a job, if M is the
///   minion's own id.
/// What remains: of a job whose `new` was not heard, or is among the oldest of more than `most`, a minion can
/// choose the owner of the events that name no user, which is what its minions report as they go.
class JobOwners {
 public:
  explicit JobOwners(std::size_t most = 50'000) : most_(most) {}

  /// To be called with every event, before `owner_of`; quick for all but the three tags.
  void note(const Event& event);

  /// Empty: nobody's.
  [[nodiscard]] std::string owner_of(const Event& event) const;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  const std::size_t most_;
  std::unordered_map<std::string, std::string, Hash, std::equal_to<>> owners_;  ///< by job; empty: nobody
  std::deque<std::string_view> order_;  ///< of the keys of owners_, the oldest first
};

}  // namespace rest_fcgi::salt
