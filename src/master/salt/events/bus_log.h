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

/// Hides secrets in an event from listeners. Events of Salt contain refused calls with passwords and the root
/// key, arguments of runners, private keys of `wheel.key.gen`, and session headers of `/hook`.
/// 1. Returns of minions are shown unchanged. They are `return` and `retcode` in events with the tag
/// `salt/job/J/ret/M` or `J`, and `data.return` and `data.ret` in events with a tag `salt/job/J/prog/...`.
/// 2. The value of a member is hidden if its name is the name of a secret (`master::secrecy_of`).
/// 3. In a text, `master::without_secrets` hides the value after the name of a secret, as in `password=x`.
/// 4. `key` and `eauth` are secrets only in the errors `salt/job/error`, `salt/job/J/error` and
/// `_salt_error`. `payload` is a secret only in `cluster/...`.
/// A secret without a name is not hidden, for example a password as the second argument. Immutable.
class EventRedactor final : public Redactor {
 public:
  explicit EventRedactor(std::string_view tag);

  [[nodiscard]] Verdict of_member(std::string_view key, std::size_t depth) const override;
  [[nodiscard]] std::optional<std::string> shown(std::string_view text) const override;

 private:
  enum class Kind : std::uint8_t { any, job_return, progress, error, cluster };
  [[nodiscard]] static Kind kind_of(std::string_view tag) noexcept;
  const Kind kind_;
  const master::TextKind texts_;
};

/// Remembers the owner of each job. The owner is the `user` in the event `new` of the job: `salt/job/J/new`,
/// `salt/run/J/new` or `salt/wheel/J/new`. A minion may fire events with any tag. The following rules stop a
/// minion from choosing the owner:
/// 1. `note` ignores an event `new` with a `cmd`. The master adds a `cmd` to each single event of a minion.
/// 2. The first event `new` sets the owner. A later event `new` with another user removes the owner. In a
/// list of events, a minion chooses all fields, but the minion learns the job id only after the master's
/// event `new`.
/// 3. An event whose `user` is not the owner of its job has no owner.
/// 4. A single event of a minion has an owner only if its tag is `salt/job/J/prog/M/...` with the minion's
/// own id `M`.
/// These rules fail if the master's event `new` was missed, or if the job was forgotten because `max_jobs`
/// jobs are newer. A minion can then choose the owner of progress events without `user`. Used by one thread.
class JobOwners {
 public:
  explicit JobOwners(std::size_t max_jobs = 50'000) : max_jobs_(max_jobs) {}

  /// Remembers the owner if `event` is the event `new` of a job. REQUIRES: the caller passes each event to
  /// `note` before it passes the event to `owner_of`.
  void note(const Event& event);

  [[nodiscard]] std::string owner_of(const Event& event) const;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  const std::size_t max_jobs_;
  /// The owner of each job, or an empty text if the job has no owner.
  std::unordered_map<std::string, std::string, Hash, std::equal_to<>> owners_;
  std::deque<std::string_view> order_;  ///< The keys of `owners_`, oldest first.
};

/// Writes each event as JSON without secrets, with the owner of its job, to the log that listeners read.
/// Without listeners, only remembers the owners of jobs. If an event cannot be written as JSON, its data in
/// the log is an object with the member `error`. Used by one thread.
class BusLog {
 public:
  explicit BusLog(std::shared_ptr<master::EventLog> log) : log_(std::move(log)) {}

  void on_event(const Event& event);

  void on_loss();

 private:
  const std::shared_ptr<master::EventLog> log_;
  JobOwners owners_;
};

}  // namespace rest_fcgi::salt
