// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "master/salt/events/event.h"
#include "master/salt/packed/packed.h"
#include "rest_fcgi/master/events.h"
#include "rest_fcgi/master/secrets.h"

/// Writes the master's events to the log that listeners read.
namespace rest_fcgi::salt {

/// Hides secrets in an event, for all listeners. Salt puts refused calls on its bus with the caller's
/// password and the master's root key, as well as arguments of runners, private keys of `wheel.key.gen`, and
/// session headers of salt-api's `/hook`. The rules:
///
/// 1. Returns of minions are shown unchanged: `return` and `retcode` of `salt/job/J/ret/M` and of the tag
/// `J`, `data.return` and `data.ret` of `salt/job/J/prog/...`. The other rules apply to everything else,
/// including returns of runners and wheels.
///
/// 2. The value of a member at any depth is hidden if its name is that of a secret (`master::secrecy_of`).
///
/// 3. In a text, the value after such a name is hidden, as in `password=x`, `"token": "x"`, `--password x`.
/// Arguments have this form, and a hook's body is one text.
///
/// 4. `key` and `eauth` are secrets only in the errors `salt/job/error`, `salt/job/J/error` and
/// `_salt_error`, and `payload` only in `cluster/...`.
///
/// A secret without a name, such as a password as second argument, is not hidden. Immutable.
class EventRedactor final : public Redactor {
 public:
  /// `data`: the packed event; the headers of a hook say what its body is.
  explicit EventRedactor(std::string_view tag, std::string_view data = {});

  [[nodiscard]] Verdict of_member(std::string_view key, std::size_t depth) const override;
  [[nodiscard]] std::optional<std::string> shown(std::string_view text) const override;

 private:
  enum class Kind : std::uint8_t { any, job_return, progress, error, cluster };
  [[nodiscard]] static Kind kind_of(std::string_view tag) noexcept;
  const Kind kind_;
  const master::TextKind texts_;
};

/// The owners of jobs, from the `user` of `salt/job/J/new`, `salt/run/J/new` and `salt/wheel/J/new`. Used by
/// one thread.
///
/// A minion may fire an event with any tag, to make a job look like another user's. Therefore: an event with
/// a minion's `cmd`, `_minion_event`, does not change the owner. In a list of events a minion chooses
/// everything, but it learns a job id after the master's own `new`, so the first `new` counts; after another
/// one with a different user the job has no owner. An event with a different `user` of its own has no owner.
/// Of events that a minion fires alone, only `salt/job/J/prog/M/...` with the minion's own id belong to the
/// job.
///
/// Remaining limitation: if the `new` of a job was missed, or is older than `most` others, a minion can
/// choose the owner of progress events without `user`.
class JobOwners {
 public:
  explicit JobOwners(std::size_t most = 50'000) : most_(most) {}

  /// Called with every event, before `owner_of`.
  void note(const Event& event);

  /// Returns the owner; empty: none.
  [[nodiscard]] std::string owner_of(const Event& event) const;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  const std::size_t most_;
  std::unordered_map<std::string, std::string, Hash, std::equal_to<>> owners_;  ///< by job; empty: no owner
  std::deque<std::string_view> order_;  ///< keys of owners_, oldest first
};

/// Writes the master's events to the log that listeners read, as JSON without secrets, and with the owner of
/// the job. Without listeners it only keeps track of owners. An event that is not valid JSON is logged with
/// an `error` as data. Used by one thread.
class BusLog {
 public:
  explicit BusLog(std::shared_ptr<master::EventLog> log) : log_(std::move(log)) {}

  void on_event(const Event& event);

  /// Reports that events may be missing from here on.
  void on_loss();

 private:
  const std::shared_ptr<master::EventLog> log_;
  JobOwners owners_;
};

}  // namespace rest_fcgi::salt
