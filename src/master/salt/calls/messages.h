// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/auth/logins.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/master/master.h"

/// Messages to and from the master, in the master's client protocol.
namespace rest_fcgi::salt {

// A load is sent as `{"enc": "clear", "load": {...}, "version": 3}`. A malformed load can block a worker of
// the master for ever, so values from callers are checked before sending. If the master refuses a load with a
// `jid`, it shows the load with the credentials on the event bus. A load therefore has a `jid` only if the
// caller chose one. A load never has the master's root key.

/// The token or credentials of the user for whom a load is sent. Borrows the texts.
struct Caller {
  const auth::Credentials* credentials = nullptr;
  std::string_view user;  ///< The user name, which the master looks up in `publisher_acl_blacklist`.
};

struct PublishLoad {
  /// The target in the master's form, with expanded nodegroups.
  struct Target {
    lowstate::TargetType type = lowstate::TargetType::glob;
    /// A list of ids for a list target, or the expression of another target.
    std::variant<std::string, std::vector<std::string>> tgt;
    std::string_view delimiter = ":";
  };
  Target target;
  /// A function that the engine calls in place of the functions of the chunk.
  struct Function {
    std::string_view name;
    std::vector<std::string_view> args;
  };
  std::variant<const lowstate::LocalCall*, Function> call;
  std::string ret;       ///< `ret` has the names of returners, separated by commas.
  std::string_view jid;  ///< `jid` is the job id that the caller chose. If empty, the master makes a job id.
  std::optional<JsonValue> metadata;
  std::optional<std::chrono::seconds> to;  ///< The timeout for syndics, used only with `order_masters`.
};

[[nodiscard]] std::string pack_publish(const PublishLoad& load, const Caller& caller);

/// Returns a load that checks credentials without making a token. The load publishes a function that every
/// user may run (`saltutil.find_job`) to no minion. REQUIRES: the credentials are of the kind eauth.
[[nodiscard]] std::string login_load(const auth::Credentials& credentials);

/// Returns the load of a runner. Salt's runner client converts positional texts: `1` becomes a number, and
/// `name=value` becomes a keyword argument. Fails with `internal`.
Result<std::string> runner_load(const lowstate::MasterCall& call, const Caller& caller);

/// Returns the load of a wheel. The arguments are sent inside `arg` and `kwarg`, because a wheel may have
/// parameters such as `user`. For a `wheel_async`, `job` has the jid and the tag. For other wheels, `job` is
/// null.
[[nodiscard]] std::string wheel_load(const lowstate::MasterCall& call, const Caller& caller,
                                     const master::Started* job = nullptr);

/// For credentials of the kind eauth, returns a load that asks the master for a new token. For the kind
/// token, the load asks for the owner of the token. REQUIRES: the credentials have one of these kinds.
[[nodiscard]] std::string token_load(const auth::Credentials& credentials);

/// Returns the load of a ping. The master sends this load back unchanged.
[[nodiscard]] std::string ping_load();

/// Packs the data of an event with Salt's `_stamp`. REQUIRES: `data` is an object.
[[nodiscard]] std::string pack_event(const JsonValue& data, std::string_view stamp);

// The following functions read replies. A refused load fails with `authentication` or `authorization`:
// - For `publish`, the name of the exception in the reply decides.
// - For a runner or wheel with a token, the message in the reply decides.
// - For a runner or wheel with credentials, each refusal is an `authentication` error.
// A SaltInvocationError fails with `invocation`. Any other failure of Salt, and a malformed reply, fail with
// `internal`.

/// Reads the reply to `publish`. If no minion matched, the Job has no jid. Removes duplicate minion ids.
Result<master::Job> read_publish_reply(std::string_view bytes);
Result<master::Started> read_runner_reply(std::string_view bytes);
Result<master::WheelReply> read_wheel_reply(std::string_view bytes);

/// Reads a reply with a token. The returned Grant is the only copy of the token outside `bytes`.
Result<auth::Grant> read_mk_token_reply(std::string_view bytes);
Result<auth::Grant> read_get_token_reply(std::string_view bytes);

}  // namespace rest_fcgi::salt
