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

/// What an engine found out about a chunk when it admitted it, and needs again to run it. Each engine derives
/// its own.
struct Admitted {
  virtual ~Admitted() = default;
};

/// Leave to run one chunk. Only a `Master` makes one, after it looked at the chunk's credentials, and
/// everything that dispatches takes one: there is no way to run a chunk around the check. Borrows the chunk.
class Permit {
 public:
  [[nodiscard]] const lowstate::Chunk& chunk() const noexcept { return *chunk_; }
  [[nodiscard]] const std::string& user() const noexcept { return user_; }
  [[nodiscard]] const std::string& eauth() const noexcept { return eauth_; }

  /// When all that is done under it has to have ended.
  [[nodiscard]] SteadyTime deadline() const noexcept { return deadline_; }

  /// For the engine that made it, which knows what it is. REQUIRES: that engine gave something.
  [[nodiscard]] const Admitted& admitted() const noexcept { return *admitted_; }

  /// The same, ending no later than this.
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
  std::shared_ptr<const Admitted> admitted_;  // null where the engine gave nothing
};

/// What one minion returned: Salt's event `salt/job/<jid>/ret/<minion>`.
struct Return {
  std::string minion;
  Json ret;
  int retcode = 0;
  bool success = true;
  std::string out;                 ///< the outputter that the minion asks for; empty: none
  std::optional<Json> retcodes{};  ///< of a compound call, by function; `retcode` is the worst of them then
  std::optional<Json>
      event{};  ///< the whole event's data; only where the call is `raw`, and its master has one
};

/// Syndics passed the job on to minions of their own. These are expected to return as well; the syndics
/// themselves are not, although the master names them among the job's minions.
struct MoreMinions {
  std::vector<std::string> minions;
  std::vector<std::string> syndics{};  ///< their ids
};

/// What is heard of a publication. An Error: returns may have been missed; those that still come are
/// delivered after it, as long as somebody holds the addressee.
using Delivery = std::variant<Return, MoreMinions, Error>;
using Addressee = Sink<Delivery>;
using Returns = Mailbox<Delivery>;

/// The same error, of a job that was given out already.
[[nodiscard]] inline Error with_jid(Error error, std::string_view jid) {
  error.jid = jid;
  return error;
}

/// What a runner returned: Salt's event `salt/run/<jid>/ret`.
struct RunnerReturn {
  Json ret;
  Json data;  ///< the whole event, for `full_return`
};

/// An Error: the return may have been missed.
using RunnerReturns = Mailbox<Result<RunnerReturn>>;

/// What is published under a permit.
struct Publication {
  enum class What {
    call,          ///< the chunk's own functions
    ping,          ///< who is there? returns true
    has_function,  ///< returns true where the minion has the chunk's function, as far as the engine can tell
    find_job,      ///< does the job `jid` still run? returns an object about it, `{}` where it does not
  };
  What what = What::call;
  std::optional<std::vector<std::string>>
      only;              ///< these minions, some of those the target matched; absent: all
  std::string_view jid;  ///< find_job only
};

/// Holds back a job that was accepted and that its caller does not wait for. The job starts when the last
/// copy is destroyed: after its reply was handed to the peer, or when the reply cannot be handed over. A
/// client hears so of no return before it knows the jid. Null: nothing is held back.
using StartGate = std::shared_ptr<const void>;

/// A job that was published.
struct Job {
  std::string jid;                   ///< empty where nobody matched: then nothing was published
  std::vector<std::string> minions;  ///< who is expected to return
  std::vector<std::string> missing;  ///< ids of a list target that do not exist
  /// What had come when the job was published: returns of the first of `minions`, in their order. Of these
  /// nothing is delivered any more.
  std::vector<Return> returned{};
  StartGate gate{};  ///< of `publish_async` alone
};

/// A runner or wheel that was started.
struct Started {
  std::string jid;
  std::string tag;          ///< `salt/run/<jid>` or `salt/wheel/<jid>`
  StartGate gate{};         ///< of `runner_async` and `wheel_async` alone
  bool is_accepted = true;  ///< false: it was sent, and the master has not said yet whether the caller may
};

/// What a wheel gave: Salt's whole reply, `{"tag": ..., "data": {...}}`.
struct WheelReply {
  std::string jid;
  Json reply;
};

/// What a call of the client `ssh` gave: Salt's map of what each host returned, by its id in the roster.
struct SshReply {
  std::string jid;
  Json reply;
};

/// Somebody who is logged in. There is nothing else to it: a session is a token of the master's, which the
/// master alone keeps, so that it is the same for all processes and lives through a restart.
struct Session {
  Secret token;
  WallTime start;
  WallTime expire;
  std::string user;
  std::string eauth;
  Json perms;  ///< the user's entries of `external_auth`, as Salt shows them after a login; none: `{}`
  auth::EventScope events = auth::EventScope::nothing;
};

/// The interface between Salt's clients and the engines that carry their calls out. There are two: the
/// embedded engine, whose minions live in this process (`master/embedded/embedded.h`), and a real Salt master
/// over ZeroMQ (`master/salt/salt.h`). Thread-safe: all calls may come from many threads at once. Failures of
/// every call: unavailable where the master is not there, timeout where it does not answer, internal.
class Master {
 public:
  virtual ~Master() = default;

  /// Returns whether this engine has the client, also one that the configuration turns off.
  [[nodiscard]] virtual bool has(lowstate::Client /*client*/) const noexcept { return true; }

  /// May this chunk run, in a request that has to end by `deadline`? With the embedded engine: are its
  /// credentials good, and do they permit this function with these arguments on these minions. A real master
  /// decides that itself when the call reaches it. Errors: authentication; throttled; authorization, naming
  /// who it was; invocation for what can be seen never to run. Runs nothing.
  ///
  /// `before`: what another chunk of the same request got from this; null: there is none. Where both bring
  /// the same credentials, those need not be judged again.
  [[nodiscard]] virtual Result<Permit> admit(const lowstate::Chunk& chunk, SteadyTime deadline,
                                             const Permit* before = nullptr) = 0;

  /// Starts functions on minions. Returns that do not come with the Job go to `returns`, from any thread,
  /// also before this call comes back, for as long as the caller holds it; a duplicate is possible. A
  /// publication that matches nobody is a Job without a jid, not an error. REQUIRES: the permit's chunk is a
  /// local one.
  [[nodiscard]] virtual Result<Job> publish(const Permit& permit, const Publication& publication,
                                            std::shared_ptr<Addressee> returns) = 0;

  /// Accepts functions on minions, which return to the job cache alone. They start as the job's `gate` says;
  /// so do the asynchronous runners and wheels.
  [[nodiscard]] virtual Result<Job> publish_async(const Permit& permit) = 0;

  /// Starts a runner; its return goes to `returns`, from any thread, as long as the caller holds it.
  [[nodiscard]] virtual Result<Started> runner(const Permit& permit,
                                               std::shared_ptr<RunnerReturns> returns) = 0;
  [[nodiscard]] virtual Result<Started> runner_async(const Permit& permit) = 0;

  /// Runs a wheel function to its end. A function that fails is a reply with `success` false, not an error.
  [[nodiscard]] virtual Result<WheelReply> wheel(const Permit& permit) = 0;
  [[nodiscard]] virtual Result<Started> wheel_async(const Permit& permit) = 0;

  /// Runs the chunk's function on hosts of the master's roster, to its end. A host that fails says so in the
  /// reply. Errors, with the jid where it had begun: timeout; reply_too_large beyond `max_bytes`;
  /// unavailable, where there is no salt-ssh or it cannot run. REQUIRES: the permit's chunk is for the client
  /// ssh.
  [[nodiscard]] virtual Result<SshReply> ssh(const Permit& permit, std::size_t max_bytes) = 0;

  /// Makes a new token for good credentials. Errors: authentication; throttled; invocation, where there are
  /// no tokens. REQUIRES: credentials of kind eauth.
  [[nodiscard]] virtual Result<Session> login(const auth::Credentials& credentials, SteadyTime deadline) = 0;

  /// Who holds this token now. One that nobody holds is not counted as a guess of a password: a client that
  /// comes back with an old token may log in. Errors: authentication, where nobody does.
  [[nodiscard]] virtual Result<Session> session(SecretView token, SteadyTime deadline) = 0;

  /// Ends a token wherever that can be done. Once this succeeded, `session` and `admit` refuse it in all
  /// processes of this host within a second, also after a restart. Errors: authentication, where nobody holds
  /// it; unavailable, where no more can be remembered: then it still is good.
  [[nodiscard]] virtual Result<void> logout(SecretView token, SteadyTime deadline) = 0;

  /// Puts an event on the master's event bus, where `_stamp` is added to its data. Whether the caller may is
  /// for who calls this to say. `caller`: who asks for it, null where the request needs no session; a real
  /// master may have to be asked with the caller's own rights. Errors: invocation, for what `check_event`
  /// refuses; unavailable, where it cannot be fired now. The message is for callers: the log has the details.
  [[nodiscard]] virtual Result<void> fire_event(std::string_view tag, Json data, const Session* caller,
                                                SteadyTime deadline) = 0;

  /// What happens at this master, from now on or behind the event with the id `after`, as far as the permit
  /// goes. The reader outlives a reload. Errors: unavailable, where this process does not hear of it; those
  /// of `EventLog::reader`.
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
