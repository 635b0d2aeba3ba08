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

/// What an engine keeps from a chunk's authorization until the chunk runs. Each engine derives its own class.
struct Admitted {
  virtual ~Admitted() = default;
};

/// The right to run one chunk. Only a `Master` makes a Permit, after the check of the chunk's credentials.
/// Every function that runs a chunk needs a Permit, so no chunk runs unchecked. Borrows the chunk.
class Permit {
 public:
  [[nodiscard]] const lowstate::Chunk& chunk() const noexcept { return *chunk_; }
  [[nodiscard]] const std::string& user() const noexcept { return user_; }
  [[nodiscard]] const std::string& eauth() const noexcept { return eauth_; }

  /// Returns the time at which all work with this permit has to end.
  [[nodiscard]] SteadyTime deadline() const noexcept { return deadline_; }

  /// Returns the engine's data. Only the engine that made this permit may call `admitted`. REQUIRES: the
  /// engine has set the data.
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
  std::shared_ptr<const Admitted> admitted_;  // data of the engine; null if the engine has set none
};

/// A minion's return, as in Salt's event `salt/job/<jid>/ret/<minion>`.
struct Return {
  std::string minion;
  Json ret;
  int retcode = 0;
  bool success = true;
  std::string out;  ///< Salt's outputter for this return; may be empty
  /// The return codes of a compound call by function. `retcode` is the worst of these.
  std::optional<Json> retcodes{};
  std::optional<Json> event{};  ///< whole data of the event; set for a `raw` call with a real master
};

/// A message that syndics passed the job on to their own minions. These minions are expected to return. The
/// syndics themselves do not return, although the master names them among the job's minions.
struct MoreMinions {
  std::vector<std::string> minions;
  std::vector<std::string> syndics{};  ///< ids of the syndics
};

/// A message about a published job. An Error means that some returns may have been missed. Later returns are
/// still delivered as long as the Addressee exists.
using Delivery = std::variant<Return, MoreMinions, Error>;
using Addressee = Sink<Delivery>;
using Returns = Mailbox<Delivery>;

/// Returns the error with the jid of the job that was started before it.
[[nodiscard]] inline Error with_jid(Error error, std::string_view jid) {
  error.jid = jid;
  return error;
}

/// A runner's return, as in Salt's event `salt/run/<jid>/ret`.
struct RunnerReturn {
  Json ret;
  Json data;  ///< whole data of the event, for `full_return`
};

/// The queue for a runner's return. An Error in the queue means that the return may have been missed.
using RunnerReturns = Mailbox<Result<RunnerReturn>>;

/// A message to the minions of a permit's chunk.
struct Publication {
  enum class What {
    call,          ///< each minion runs the chunk's functions
    ping,          ///< each minion returns true
    has_function,  ///< each minion returns whether it has the chunk's functions, as far as the engine knows
    find_job,  ///< each minion returns an object about the job `jid`, or `{}` if the job does not run there
  };
  What what = What::call;
  /// The ids of those matched minions that get the message. Absent means all matched minions.
  std::optional<std::vector<std::string>> only;
  std::string_view jid;  ///< id of the job to find; set for find_job only
};

/// An object that delays the start of an accepted asynchronous job. The job starts when the last copy is
/// destroyed. This happens after the reply was sent to the client or could not be sent. So the client knows
/// the jid before the first return arrives. Null means no delay.
using StartGate = std::shared_ptr<const void>;

/// A published job.
struct Job {
  std::string jid;  ///< id of the job; empty if no minion matched, because no job was published then
  std::vector<std::string> minions;  ///< expected to return
  std::vector<std::string> missing;  ///< ids in a list target that no minion has
  /// The returns that are known already. They belong to the first minions in `minions`, in the same order.
  /// They are not put into the addressee again.
  std::vector<Return> returned{};
  StartGate gate{};  ///< delays the job's start; set only by `publish_async`
};

/// A started runner or wheel.
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

/// Salt's reply to a call of the client `ssh`: a map with the return of each host. The keys are the hosts'
/// ids in the roster.
struct SshReply {
  std::string jid;
  Json reply;
};

/// A user who is logged in. A session is a token that the master stores, so all processes share the session,
/// and it survives a restart.
struct Session {
  Secret token;
  WallTime start;
  WallTime expire;
  std::string user;
  std::string eauth;
  Json perms;  ///< the user's entries of `external_auth`, as Salt's login shows them; `{}` if there are no
               ///< entries
  auth::EventScope events = auth::EventScope::nothing;
};

/// The interface between Salt's clients and the two engines. The engine `embedded` has minions in this
/// process (`master/embedded/embedded.h`). The engine `salt` uses a real Salt master over ZeroMQ
/// (`master/salt/salt.h`). Thread-safe. Errors of all functions: unavailable, if the master cannot be
/// reached; timeout; internal.
class Master {
 public:
  virtual ~Master() = default;

  /// Returns whether this engine supports the client. The configuration may still disable it.
  [[nodiscard]] virtual bool has(lowstate::Client /*client*/) const noexcept { return true; }

  /// Authorizes a chunk without running it. `deadline` is the end of the chunk's request. The embedded engine
  /// checks the credentials and the rules. A real master checks them itself when it gets the call. `before`
  /// is the permit of another chunk of the same request, or null. Credentials that are equal to those of
  /// `before` are not checked again. Errors: authentication; throttled; authorization, with the user;
  /// invocation, for a chunk that can never run.
  [[nodiscard]] virtual Result<Permit> admit(const lowstate::Chunk& chunk, SteadyTime deadline,
                                             const Permit* before = nullptr) = 0;

  /// Starts functions on minions. Some returns may already be in the Job. All others are put into `returns`
  /// from any thread, possibly before this function returns, as long as the caller owns `returns`. The same
  /// return may come twice. If no minion matches, the Job has no jid. REQUIRES: the permit's chunk has a
  /// local client.
  [[nodiscard]] virtual Result<Job> publish(const Permit& permit, const Publication& publication,
                                            std::shared_ptr<Addressee> returns) = 0;

  /// Accepts a job whose minions return only to the job cache. The job starts when its `gate` is destroyed.
  /// Asynchronous runners and wheels start in the same way.
  [[nodiscard]] virtual Result<Job> publish_async(const Permit& permit) = 0;

  /// Starts a runner. Its return is put into `returns` from any thread, as long as the caller owns `returns`.
  [[nodiscard]] virtual Result<Started> runner(const Permit& permit,
                                               std::shared_ptr<RunnerReturns> returns) = 0;
  [[nodiscard]] virtual Result<Started> runner_async(const Permit& permit) = 0;

  /// Runs a wheel and waits until it has ended. For a wheel that fails, returns a reply with `"success":
  /// false` and no Error.
  [[nodiscard]] virtual Result<WheelReply> wheel(const Permit& permit) = 0;
  [[nodiscard]] virtual Result<Started> wheel_async(const Permit& permit) = 0;

  /// Runs the chunk's function on hosts of the master's roster, and waits until it has ended. Failures of
  /// single hosts are in the reply. Errors, with the jid if the call was started: timeout; reply_too_large,
  /// if the reply exceeds `max_bytes`; unavailable, if salt-ssh cannot run. REQUIRES: the permit's chunk has
  /// the client ssh.
  [[nodiscard]] virtual Result<SshReply> ssh(const Permit& permit, std::size_t max_bytes) = 0;

  /// Checks credentials and makes a token for their user. Errors: authentication; throttled; invocation, if
  /// the engine has no tokens. REQUIRES: the credentials are of the kind eauth.
  [[nodiscard]] virtual Result<Session> login(const auth::Credentials& credentials, SteadyTime deadline) = 0;

  /// Returns the session of a token. An unknown token does not count as a failed login, so that a client with
  /// an expired token can log in again. Errors: authentication, for an unknown token.
  [[nodiscard]] virtual Result<Session> session(SecretView token, SteadyTime deadline) = 0;

  /// Revokes a token. Within a second after success, `session` and `admit` refuse the token in all processes
  /// of this host. This survives a restart. Errors: authentication, for an unknown token; unavailable, if the
  /// revocation cannot be saved, and the token stays valid then.
  [[nodiscard]] virtual Result<void> logout(SecretView token, SteadyTime deadline) = 0;

  /// Fires an event on the master's event bus and adds `_stamp` to the event's data. REQUIRES: the caller has
  /// checked that the user may fire events. `caller` is the session that fires the event, or null. A real
  /// master may check the rights of this session. Errors: invocation, if `check_event` refuses the event;
  /// unavailable. The log has the details.
  [[nodiscard]] virtual Result<void> fire_event(std::string_view tag, Json data, const Session* caller,
                                                SteadyTime deadline) = 0;

  /// Returns a reader of the events that `permit` allows. The reader begins after the event with the id
  /// `after`, or with the next event if `after` is empty. The reader stays valid after a reload. Errors:
  /// unavailable, if this process gets no events; those of `EventLog::reader`.
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
