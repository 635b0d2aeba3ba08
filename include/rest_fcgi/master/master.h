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

/// What an engine keeps of a chunk's authorization to run it. Each engine derives its own.
struct Admitted {
  virtual ~Admitted() = default;
};

/// The right to run one chunk. Only a `Master` makes one, after it checked the chunk's credentials, and every
/// function that runs a chunk takes one. So no chunk runs without the check. Borrows the chunk.
class Permit {
 public:
  [[nodiscard]] const lowstate::Chunk& chunk() const noexcept { return *chunk_; }
  [[nodiscard]] const std::string& user() const noexcept { return user_; }
  [[nodiscard]] const std::string& eauth() const noexcept { return eauth_; }

  /// When everything done with this permit has to end.
  [[nodiscard]] SteadyTime deadline() const noexcept { return deadline_; }

  /// Only for the engine that made it. REQUIRES: that engine set it.
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
  std::shared_ptr<const Admitted> admitted_;  // null if the engine set none
};

/// A minion's return: Salt's event `salt/job/<jid>/ret/<minion>`.
struct Return {
  std::string minion;
  Json ret;
  int retcode = 0;
  bool success = true;
  std::string out;                 ///< outputter; empty: none
  std::optional<Json> retcodes{};  ///< of a compound call, by function; `retcode` is the worst of them
  std::optional<Json> event{};     ///< data of the whole event, for a `raw` call of a real master
};

/// Syndics passed the job on to their own minions, which are expected to return as well. The syndics are not,
/// although the master names them among the job's minions.
struct MoreMinions {
  std::vector<std::string> minions;
  std::vector<std::string> syndics{};  ///< their ids
};

/// A message about a publication. An Error means that returns may have been missed. Later returns are still
/// delivered while the addressee lives.
using Delivery = std::variant<Return, MoreMinions, Error>;
using Addressee = Sink<Delivery>;
using Returns = Mailbox<Delivery>;

/// Returns the error with the jid of a job that was started.
[[nodiscard]] inline Error with_jid(Error error, std::string_view jid) {
  error.jid = jid;
  return error;
}

/// A runner's return: Salt's event `salt/run/<jid>/ret`.
struct RunnerReturn {
  Json ret;
  Json data;  ///< the whole event, for `full_return`
};

/// An Error means that the return may have been missed.
using RunnerReturns = Mailbox<Result<RunnerReturn>>;

/// A message to the minions of a permit's chunk.
struct Publication {
  enum class What {
    call,          ///< the chunk's own functions
    ping,          ///< each minion returns true
    has_function,  ///< returns whether the minion has the chunk's functions, as far as the engine knows
    find_job,      ///< returns an object about the job `jid`, or `{}` if it does not run
  };
  What what = What::call;
  std::optional<std::vector<std::string>> only;  ///< some of the matched minions; absent: all
  std::string_view jid;                          ///< find_job only
};

/// Delays an accepted asynchronous job until the last copy is destroyed: after the reply was sent to the
/// client, or could not be sent. So a client gets no return before it knows the jid. Null: no delay.
using StartGate = std::shared_ptr<const void>;

/// A published job.
struct Job {
  std::string jid;                   ///< empty if no minion matched: nothing was published
  std::vector<std::string> minions;  ///< expected to return
  std::vector<std::string> missing;  ///< ids of a list target that no minion has
  std::vector<Return>
      returned{};    ///< of the first of `minions`, in their order; they are not delivered again
  StartGate gate{};  ///< set by `publish_async` only
};

/// A started runner or wheel.
struct Started {
  std::string jid;
  std::string tag;          ///< `salt/run/<jid>` or `salt/wheel/<jid>`
  StartGate gate{};         ///< set by `runner_async` and `wheel_async` only
  bool is_accepted = true;  ///< false: the master has not authorized the caller yet
};

/// Salt's reply of a wheel, `{"tag": ..., "data": {...}}`.
struct WheelReply {
  std::string jid;
  Json reply;
};

/// Salt's reply of the client `ssh`: a map of returns by the host's id in the roster.
struct SshReply {
  std::string jid;
  Json reply;
};

/// A user who is logged in. A session is a token that the master keeps, so all processes share it and it
/// survives a restart.
struct Session {
  Secret token;
  WallTime start;
  WallTime expire;
  std::string user;
  std::string eauth;
  Json perms;  ///< the user's entries of `external_auth`, as Salt shows them after a login; or `{}`
  auth::EventScope events = auth::EventScope::nothing;
};

/// The interface between Salt's clients and the two engines: the embedded engine with minions in this process
/// (`master/embedded/embedded.h`), and a real Salt master over ZeroMQ (`master/salt/salt.h`). Thread-safe.
/// Errors of all functions: unavailable, if the master cannot be reached; timeout; internal.
class Master {
 public:
  virtual ~Master() = default;

  /// Returns whether this engine has the client, whatever the configuration enables.
  [[nodiscard]] virtual bool has(lowstate::Client /*client*/) const noexcept { return true; }

  /// Authorizes a chunk of a request that ends by `deadline`. Runs nothing. The embedded engine checks the
  /// credentials and the rules; a real master checks them itself when the call reaches it. `before`: the
  /// permit of another chunk of the same request, or null; the same credentials are not checked again.
  /// Errors: authentication; throttled; authorization, with the user; invocation, for a chunk that can never
  /// run.
  [[nodiscard]] virtual Result<Permit> admit(const lowstate::Chunk& chunk, SteadyTime deadline,
                                             const Permit* before = nullptr) = 0;

  /// Starts functions on minions. Returns that do not come with the Job go to `returns` from any thread, even
  /// before this function returns, while the caller holds it. A return may come twice. If no minion matches,
  /// the Job has no jid. REQUIRES: the permit's chunk is a local one.
  [[nodiscard]] virtual Result<Job> publish(const Permit& permit, const Publication& publication,
                                            std::shared_ptr<Addressee> returns) = 0;

  /// Accepts functions on minions that return only to the job cache. They start when the job's `gate` is
  /// destroyed, as do asynchronous runners and wheels.
  [[nodiscard]] virtual Result<Job> publish_async(const Permit& permit) = 0;

  /// Starts a runner. Its return goes to `returns` from any thread, while the caller holds it.
  [[nodiscard]] virtual Result<Started> runner(const Permit& permit,
                                               std::shared_ptr<RunnerReturns> returns) = 0;
  [[nodiscard]] virtual Result<Started> runner_async(const Permit& permit) = 0;

  /// Runs a wheel and waits for it. A failed wheel is a reply with `success` false, not an error.
  [[nodiscard]] virtual Result<WheelReply> wheel(const Permit& permit) = 0;
  [[nodiscard]] virtual Result<Started> wheel_async(const Permit& permit) = 0;

  /// Runs the chunk's function on hosts of the master's roster and waits for it. The reply has the failures
  /// of hosts. Errors, with the jid if it was started: timeout; reply_too_large beyond `max_bytes`;
  /// unavailable, if salt-ssh cannot run. REQUIRES: the permit's chunk is for the client ssh.
  [[nodiscard]] virtual Result<SshReply> ssh(const Permit& permit, std::size_t max_bytes) = 0;

  /// Makes a token for valid credentials. Errors: authentication; throttled; invocation, if the engine has no
  /// tokens. REQUIRES: credentials of kind eauth.
  [[nodiscard]] virtual Result<Session> login(const auth::Credentials& credentials, SteadyTime deadline) = 0;

  /// Returns the session of a token. An unknown token does not count as a failed login, so a client with an
  /// expired token can log in. Errors: authentication, for an unknown token.
  [[nodiscard]] virtual Result<Session> session(SecretView token, SteadyTime deadline) = 0;

  /// Revokes a token. After success `session` and `admit` refuse it in all processes of this host within a
  /// second, also after a restart. Errors: authentication, for an unknown token; unavailable, if the
  /// revocation cannot be saved; the token stays valid then.
  [[nodiscard]] virtual Result<void> logout(SecretView token, SteadyTime deadline) = 0;

  /// Fires an event on the master's event bus with a `_stamp` in its data. The caller of this function checks
  /// the permission. `caller`: the session that fires it, or null; a real master may need the session's own
  /// rights. Errors: invocation, for what `check_event` refuses; unavailable. The log has the details.
  [[nodiscard]] virtual Result<void> fire_event(std::string_view tag, Json data, const Session* caller,
                                                SteadyTime deadline) = 0;

  /// Returns a reader of the events that the permit allows, from now on or after the event with the id
  /// `after`. The reader outlives a reload. Errors: unavailable, if this process gets no events; those of
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
