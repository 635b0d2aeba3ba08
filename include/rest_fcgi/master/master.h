// SPDX-License-Identifier: MIT
#pragma once

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
#include "rest_fcgi/master/permit.h"

namespace rest_fcgi::master {

/// A minion's return, as in Salt's event `salt/job/<jid>/ret/<minion>`.
struct Return {
  std::string minion;
  Json ret;
  int retcode = 0;
  bool success = true;
  std::string out;  ///< `out` is the name of Salt's outputter for the return, or empty.
  /// `retcodes` are the return codes of the functions of a compound call. `retcode` is the worst of them.
  std::optional<Json> retcodes{};
  /// `event` is the data of the whole event, only for a `raw` call with a real master.
  std::optional<Json> event{};
};

/// Tells the Addressee, which receives a job's returns, that syndics passed the job on to the minions below
/// them. The Addressee then expects returns from these minions and not from the syndics.
struct MoreMinions {
  std::vector<std::string> minions;
  std::vector<std::string> syndics{};
};

/// A message to the Addressee, which receives the returns of a published job. An Error means that returns may
/// have been missed. More returns may follow after an Error.
using Delivery = std::variant<Return, MoreMinions, Error>;
using Addressee = Sink<Delivery>;
using Returns = Mailbox<Delivery>;

[[nodiscard]] inline Error with_jid(Error error, std::string_view jid) {
  error.jid = jid;
  return error;
}

/// Returns the error for a started job or runner whose returns may be missing for the reason `error`.
[[nodiscard]] inline Error still_runs(Error error, std::string_view jid) {
  error.message.insert(0, std::string(jid) + " runs; its returns may be missing: ");
  return with_jid(std::move(error), jid);
}

/// A runner's return, as in Salt's event `salt/run/<jid>/ret`.
struct RunnerReturn {
  Json ret;
  Json data;  ///< The data of the whole event, which a call with `full_return` returns.
};

/// The queue for a runner's return. An Error means that the return may have been missed.
using RunnerReturns = Mailbox<Result<RunnerReturn>>;

/// A message to the minions that the target of a permitted chunk matches.
struct Publication {
  enum class What {
    call,          ///< `call` makes each minion run the chunk's functions.
    ping,          ///< `ping` makes each minion return true.
    has_function,  ///< `has_function` asks each minion whether it has the chunk's functions.
    find_job,  ///< `find_job` asks each minion about the job `jid`. A minion without the job returns `{}`.
  };
  What what = What::call;
  /// The ids of the matched minions that get the message. Absent means all matched minions.
  std::optional<std::vector<std::string>> only;
  std::string_view jid;  ///< The id of the job to find, for `find_job`.
};

/// Delays the start of an asynchronous job until the last copy is destroyed. The HTTP server destroys its
/// copy after the reply, so the client knows the jid before the first return. Null means no delay.
using StartGate = std::shared_ptr<const void>;

struct Job {
  std::string jid;                   ///< `jid` is the job's id. Empty if the target matched no minion.
  std::vector<std::string> minions;  ///< `minions` are the ids of the minions that are expected to return.
  std::vector<std::string> missing;  ///< `missing` are the ids in a list target that no minion has.
  /// `returned` has the returns that are already known. They belong to the first ids in `minions`, and the
  /// Addressee does not get them again.
  std::vector<Return> returned{};
  /// `gate` delays the start of the job until the client knows the jid. Only `publish_async` sets `gate`.
  StartGate gate{};
};

struct Started {
  std::string jid;
  std::string tag;  ///< `tag` is the tag of the events: `salt/run/<jid>` or `salt/wheel/<jid>`.
  /// `gate` delays the start of the runner or wheel until the client knows the jid. Only `runner_async` and
  /// `wheel_async` set `gate`.
  StartGate gate{};
  /// Whether the master has already authorized the caller. `is_accepted` is false for a `wheel_async` with a
  /// real master, which authorizes the caller only after this reply.
  bool is_accepted = true;
};

/// Salt's reply to a wheel call, `{"tag": ..., "data": {...}}`.
struct WheelReply {
  std::string jid;
  Json reply;
};

/// Salt's reply to a call of the client `ssh`: a map from host ids in the roster to returns.
struct SshReply {
  std::string jid;
  Json reply;
};

/// A logged-in user. A session is a token in the storage of the master. All processes share this storage.
struct Session {
  Secret token;
  WallTime start;
  WallTime expire;
  std::string user;
  std::string eauth;
  /// The user's entries of `external_auth`, as in Salt's reply to a login; `{}` if there are none.
  Json perms;
  auth::EventScope events = auth::EventScope::nothing;
  bool can_read_metrics = false;
  /// The engine's own form of the user. If it is set, `Credentials::holder` may refer to it.
  std::optional<auth::Identity> identity{};
};

/// The interface of the engines. Salt's clients call the engines through this interface. The engine
/// `embedded` has minions in this process. The engine `salt` uses a real Salt master over ZeroMQ.
/// Thread-safe. All functions may fail with `unavailable`, `timeout` or `internal`.
class Master {
 public:
  virtual ~Master() = default;

  /// Returns whether the engine supports the client. The configuration may disable a supported client.
  [[nodiscard]] virtual bool has(lowstate::Client /*client*/) const noexcept { return true; }

  /// Returns whether a login may have a back end's token, such as an OpenID token, in place of the password.
  [[nodiscard]] virtual bool takes_login_token() const noexcept { return true; }
  /// Returns whether the runner `jobs.list_jobs` takes `status`, `limit` and `before`.
  [[nodiscard]] virtual bool lists_job_status() const noexcept { return false; }

  /// Authorizes a chunk without running it. A real master may make its own checks only when it gets the call.
  /// `before` is the permit of an earlier chunk, or null. Credentials that equal those of `before` are not
  /// checked again. `deadline` is the end of the request. Fails with `authentication`, `throttled`,
  /// `authorization` or `invocation`.
  virtual Result<Permit> admit(const lowstate::Chunk& chunk, SteadyTime deadline,
                               const Permit* before = nullptr) = 0;

  /// Prepares the run of a chunk whose job must be found after the end of this process. Checks the
  /// credentials if `admit` did not check them. Sets the id of the chunk's first job, if the engine can
  /// choose this id. Fails with the errors of `admit`.
  virtual Result<void> prepare(Permit& /*permit*/) { return {}; }

  /// Sends a Publication to minions. Returns that are known at once are in the Job. All other returns are put
  /// into `returns`, from any thread, as long as the caller owns `returns`. A return may be put twice, and
  /// returns may be put before this function ends. REQUIRES: the permit's chunk has a local client.
  virtual Result<Job> publish(const Permit& permit, const Publication& publication,
                              std::shared_ptr<Addressee> returns) = 0;

  /// Accepts a job whose returns go only to the job cache. The job starts as its StartGate says.
  virtual Result<Job> publish_async(const Permit& permit) = 0;

  /// Starts a runner. The runner's return is put into `returns`, from any thread, if the caller still owns
  /// `returns`.
  virtual Result<Started> runner(const Permit& permit, std::shared_ptr<RunnerReturns> returns) = 0;
  virtual Result<Started> runner_async(const Permit& permit) = 0;

  /// Runs a wheel and waits for its end. The reply of a failed wheel has `"success": false`.
  virtual Result<WheelReply> wheel(const Permit& permit) = 0;
  virtual Result<Started> wheel_async(const Permit& permit) = 0;

  /// Runs the chunk's function on hosts of the master's roster, and waits. The reply also shows which hosts
  /// failed and why. Fails with `timeout`, with `reply_too_large` above `max_bytes`, or with `unavailable` if
  /// salt-ssh is missing. REQUIRES: the permit's chunk has the client ssh.
  virtual Result<SshReply> ssh(const Permit& permit, std::size_t max_bytes) = 0;

  /// Checks credentials of the kind eauth and makes a token for their user. Fails with `authentication` or
  /// `throttled`, or with `invocation` if the engine has no tokens.
  virtual Result<Session> login(const auth::Credentials& credentials, SteadyTime deadline) = 0;

  /// Returns the session of a token. Fails with `authentication` for an unknown token. This failure does not
  /// count as a failed login.
  virtual Result<Session> session(SecretView token, SteadyTime deadline) = 0;

  /// Revokes a token. Within a second, `session` and `admit` refuse the token in all processes of the host. A
  /// restart keeps the revocation. Fails with `authentication` for an unknown token, and with `unavailable`
  /// if the revocation cannot be saved.
  virtual Result<void> logout(SecretView token, SteadyTime deadline) = 0;

  /// Fires an event and adds `_stamp` to its data. A real master may check the permissions of the session
  /// `caller`; `caller` may be null. Fails with `invocation` if `check_event` refuses the event. REQUIRES:
  /// the caller has checked that the user may fire events.
  virtual Result<void> fire_event(std::string_view tag, Json data, const Session* caller,
                                  SteadyTime deadline) = 0;

  /// Returns a reader of the permitted events after the event `after`. `permit` decides which events are
  /// permitted. If `after` is empty, the reader gets only new events. The reader stays valid after a reload.
  /// Fails with `unavailable` and the errors of `EventLog::reader`.
  virtual Result<std::unique_ptr<EventReader>> events(const EventPermit& permit, std::string_view after) = 0;

 protected:
  [[nodiscard]] static Permit permit(const lowstate::Chunk& chunk, std::string user, std::string eauth,
                                     SteadyTime deadline,
                                     std::shared_ptr<const Admitted> admitted = nullptr) {
    return {chunk, std::move(user), std::move(eauth), deadline, std::move(admitted)};
  }
};

}  // namespace rest_fcgi::master
