// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/master/events.h"
#include "rest_fcgi/master/mailbox.h"

namespace rest_fcgi::master {

/// An engine's result of a chunk's authorization. Each engine derives its own class.
struct Admitted {
  virtual ~Admitted() = default;
};

/// The right to run one chunk. Only a `Master` makes a Permit, after the check of the chunk's credentials.
/// Borrows the chunk.
class Permit {
 public:
  [[nodiscard]] const lowstate::Chunk& chunk() const noexcept { return *chunk_; }
  [[nodiscard]] const std::string& user() const noexcept { return user_; }
  [[nodiscard]] const std::string& eauth() const noexcept { return eauth_; }

  [[nodiscard]] SteadyTime deadline() const noexcept { return deadline_; }

  /// Returns the engine's data. REQUIRES: the caller is the engine that has set the data.
  [[nodiscard]] const Admitted& admitted() const noexcept { return *admitted_; }

  /// Returns a copy whose deadline is at most `end`.
  [[nodiscard]] Permit ending_by(SteadyTime end) const {
    return {*chunk_, user_, eauth_, std::min(end, deadline_), admitted_};
  }

 private:
  friend class Master;
  Permit(const lowstate::Chunk& chunk, std::string user, std::string eauth, SteadyTime deadline,
         std::shared_ptr<const Admitted> admitted)
      : chunk_(&chunk),
        user_(std::move(user)),
        eauth_(std::move(eauth)),
        deadline_(deadline),
        admitted_(std::move(admitted)) {}

  const lowstate::Chunk* chunk_;
  std::string user_;
  std::string eauth_;
  SteadyTime deadline_;
  std::shared_ptr<const Admitted> admitted_;  // data of the engine; may be null
};

/// A minion's return, as in Salt's event `salt/job/<jid>/ret/<minion>`.
struct Return {
  std::string minion;
  Json ret;
  int retcode = 0;
  bool success = true;
  std::string out;  ///< Salt's outputter for the return; may be empty
  /// The return codes of a compound call by function. `retcode` is the worst of them.
  std::optional<Json> retcodes{};
  std::optional<Json> event{};  ///< whole data of the event; set for a `raw` call with a real master
};

/// A message that syndics passed a job on to their own minions. These minions are expected to return, and the
/// syndics are not.
struct MoreMinions {
  std::vector<std::string> minions;
  std::vector<std::string> syndics{};
};

/// A message about a published job. An Error means that returns may have been missed. Later returns are still
/// delivered to the Addressee.
using Delivery = std::variant<Return, MoreMinions, Error>;
using Addressee = Sink<Delivery>;
using Returns = Mailbox<Delivery>;

[[nodiscard]] inline Error with_jid(Error error, std::string_view jid) {
  error.jid = jid;
  return error;
}

/// A runner's return, as in Salt's event `salt/run/<jid>/ret`.
struct RunnerReturn {
  Json ret;
  Json data;  ///< whole data of the event, for `full_return`
};

/// The queue for a runner's return. An Error means that the return may have been missed.
using RunnerReturns = Mailbox<Result<RunnerReturn>>;

/// A message to the minions of a permit's chunk.
struct Publication {
  enum class What {
    call,          ///< each minion runs the chunk's functions
    ping,          ///< each minion returns true
    has_function,  ///< each minion returns whether it has the chunk's functions
    find_job,  ///< each minion returns an object about the job `jid`, or `{}` if the job does not run there
  };
  What what = What::call;
  /// The ids of the matched minions that get the message. Absent means all matched minions.
  std::optional<std::vector<std::string>> only;
  std::string_view jid;  ///< id of the job to find, for `find_job`
};

/// An object that delays the start of an asynchronous job until its last copy is destroyed. The HTTP server
/// destroys it after the reply. The client then knows the jid before the first return. Null means no delay.
using StartGate = std::shared_ptr<const void>;

struct Job {
  std::string jid;                   ///< id of the job; empty if the target matched no minion
  std::vector<std::string> minions;  ///< ids of the minions that are expected to return
  std::vector<std::string> missing;  ///< ids in a list target that no minion has
  /// The returns that are known already, of the first minions in `minions`. The addressee does not get them.
  std::vector<Return> returned{};
  StartGate gate{};  ///< delays the job's start; set only by `publish_async`
};

struct Started {
  std::string jid;
  std::string tag;          ///< tag of the events: `salt/run/<jid>` or `salt/wheel/<jid>`
  StartGate gate{};         ///< delays the start; set only by `runner_async` and `wheel_async`
  bool is_accepted = true;  ///< whether the master has authorized the caller already
};

/// Salt's reply to a wheel call, `{"tag": ..., "data": {...}}`.
struct WheelReply {
  std::string jid;
  Json reply;
};

/// Salt's reply to a call of the client `ssh`: a map from a host's id in the roster to its return.
struct SshReply {
  std::string jid;
  Json reply;
};

/// A user who is logged in. The session is a token that the master stores, and all processes share it.
struct Session {
  Secret token;
  WallTime start;
  WallTime expire;
  std::string user;
  std::string eauth;
  Json perms;  ///< the user's entries of `external_auth`, as Salt's login shows them; may be `{}`
  auth::EventScope events = auth::EventScope::nothing;
};

/// The interface between Salt's clients and the two engines. The engine `embedded` has minions in this
/// process. The engine `salt` uses a real Salt master over ZeroMQ. Thread-safe. All functions may fail with
/// `unavailable`, `timeout` or `internal`.
class Master {
 public:
  virtual ~Master() = default;

  /// Returns whether the engine supports the client. The configuration may still disable the client.
  [[nodiscard]] virtual bool has(lowstate::Client /*client*/) const noexcept { return true; }

  /// Authorizes a chunk without running it. A real master checks the credentials later, when it gets the
  /// call. Credentials equal to those of `before`, the permit of an earlier chunk or null, are not checked
  /// again. `deadline` is the end of the request. Fails with `authentication`, `throttled`, `authorization`
  /// or `invocation`.
  [[nodiscard]] virtual Result<Permit> admit(const lowstate::Chunk& chunk, SteadyTime deadline,
                                             const Permit* before = nullptr) = 0;

  /// Starts functions on minions. Some returns may already be in the Job. Other returns are put into
  /// `returns` from any thread, perhaps twice and before `publish` returns, as long as the caller owns
  /// `returns`. REQUIRES: the permit's chunk has a local client.
  [[nodiscard]] virtual Result<Job> publish(const Permit& permit, const Publication& publication,
                                            std::shared_ptr<Addressee> returns) = 0;

  /// Accepts a job whose minions return only to the job cache. The job starts when its `gate` is destroyed,
  /// as asynchronous runners and wheels do.
  [[nodiscard]] virtual Result<Job> publish_async(const Permit& permit) = 0;

  /// Starts a runner. Its return is put into `returns` from any thread, as long as the caller owns `returns`.
  [[nodiscard]] virtual Result<Started> runner(const Permit& permit,
                                               std::shared_ptr<RunnerReturns> returns) = 0;
  [[nodiscard]] virtual Result<Started> runner_async(const Permit& permit) = 0;

  /// Runs a wheel and waits until it has ended. A failed wheel has a reply with `"success": false`.
  [[nodiscard]] virtual Result<WheelReply> wheel(const Permit& permit) = 0;
  [[nodiscard]] virtual Result<Started> wheel_async(const Permit& permit) = 0;

  /// Runs the chunk's function on hosts of the master's roster, and waits. Failures of single hosts are in
  /// the reply. Fails with `timeout`, with `reply_too_large` above `max_bytes`, or with `unavailable` without
  /// salt-ssh. REQUIRES: the permit's chunk has the client ssh.
  [[nodiscard]] virtual Result<SshReply> ssh(const Permit& permit, std::size_t max_bytes) = 0;

  /// Checks credentials of the kind eauth and makes a token for their user. Fails with `authentication` or
  /// `throttled`, or with `invocation` if the engine has no tokens.
  [[nodiscard]] virtual Result<Session> login(const auth::Credentials& credentials, SteadyTime deadline) = 0;

  /// Returns the session of a token. Fails with `authentication` for an unknown token, which does not count
  /// as a failed login.
  [[nodiscard]] virtual Result<Session> session(SecretView token, SteadyTime deadline) = 0;

  /// Revokes a token. `session` and `admit` refuse the token in all processes of the host within a second,
  /// also after a restart. Fails with `authentication` for an unknown token, and with `unavailable` if the
  /// revocation cannot be saved.
  [[nodiscard]] virtual Result<void> logout(SecretView token, SteadyTime deadline) = 0;

  /// Fires an event and adds `_stamp` to its data. A real master may check the rights of the session
  /// `caller`, which may be null. Fails with `invocation` if `check_event` refuses the event. REQUIRES: the
  /// caller has checked that the user may fire events.
  [[nodiscard]] virtual Result<void> fire_event(std::string_view tag, Json data, const Session* caller,
                                                SteadyTime deadline) = 0;

  /// Returns a reader of the events that `permit` allows, after the event `after`, or of new events if
  /// `after` is empty. The reader stays valid after a reload. Fails with `unavailable` and the errors of
  /// `EventLog::reader`.
  [[nodiscard]] virtual Result<std::unique_ptr<EventReader>> events(const EventPermit& permit,
                                                                    std::string_view after) = 0;

 protected:
  [[nodiscard]] static Permit permit(const lowstate::Chunk& chunk, std::string user, std::string eauth,
                                     SteadyTime deadline,
                                     std::shared_ptr<const Admitted> admitted = nullptr) {
    return {chunk, std::move(user), std::move(eauth), deadline, std::move(admitted)};
  }
};

}  // namespace rest_fcgi::master
