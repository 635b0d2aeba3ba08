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

/// What listeners get to see of the master's bus.
namespace rest_fcgi::salt {

/// What no listener gets to see of an event, whoever that is: Salt puts a refused call as a whole on its bus,
/// with the caller's password and the master's root key, and so are there a runner's arguments, the private
/// keys that `wheel.key.gen` makes, and the session of whoever posted to salt-api's `/hook`. The rule:
///
/// 1. What a minion returned is shown as it is: `return` and `retcode` of `salt/job/J/ret/M` and of the bare
///    `J`, `data.return` and `data.ret` of `salt/job/J/prog/...`. All that follows is about all else, also
///    about what runners and wheels return.
/// 2. The value of a member, at any depth, is hidden where the member's name says that it is a secret
///    (`master::secrecy_of`).
/// 3. In a text, the value that follows such a name, as in `password=x`, `"token": "x"`, `--password x`, is
///    hidden: arguments are sent like that, and a hook has its caller's whole body as one text.
/// 4. `key` and `eauth` are secrets in the errors `salt/job/error`, `salt/job/J/error` and `_salt_error`
///    alone, and `payload` in `cluster/...`: elsewhere these names mean other things.
///
/// A secret that nothing names, such as a password that is a function's second argument, is not seen. Borrows
/// nothing. Source: the loads and events of all three lines. Immutable.
class Redaction final : public Discretion {
 public:
  /// `data`: the event, packed; the headers of a hook say what its body is.
  explicit Redaction(std::string_view tag, std::string_view data = {});

  [[nodiscard]] Verdict of_member(std::string_view key, std::size_t depth) const override;
  [[nodiscard]] std::optional<std::string> shown(std::string_view text) const override;

 private:
  enum class Kind : std::uint8_t { any, job_return, progress, error, cluster };
  [[nodiscard]] static Kind kind_of(std::string_view tag) noexcept;
  const Kind kind_;
  const master::TextKind texts_;
};

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

/// Writes what the master's bus says into the log that listeners read: each event as JSON, without what
/// `Redaction` hides, and with the user whose job it is about. Where nobody listens it looks at three tags
/// alone. One that cannot be JSON is there with an `error` as its data: no event is left out. Used by one
/// thread.
class BusLog {
 public:
  explicit BusLog(std::shared_ptr<master::EventLog> log) : log_(std::move(log)) {}

  void hear(const Event& event);

  /// Events may be missed from now on.
  void lost();

 private:
  const std::shared_ptr<master::EventLog> log_;
  JobOwners owners_;
};

}  // namespace rest_fcgi::salt
