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
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/master/master.h"

/// Messages to and from the master, in the master's client protocol.
namespace rest_fcgi::salt {

// Loads are sent as `{"enc": "clear", "load": {...}, "version": 3}`. A malformed load can block a worker of
// the master for ever. Therefore the values of callers are checked first, and only known fields are sent. A
// load has a `jid` only if the caller chose one: the master shows a refused load with a `jid` on the event
// bus, with its credentials. A load never has the master's root key.

/// The caller of a load, with a token or credentials. Borrows.
struct Caller {
  const auth::Credentials* credentials = nullptr;
  std::string_view user;  ///< The master checks this name against its `publisher_acl_blacklist`.
};

/// The content of a `publish` load. Borrows.
struct PublishLoad {
  /// The target in the master's form, with expanded nodegroups.
  struct Target {
    lowstate::TargetType type = lowstate::TargetType::glob;
    /// Ids for a target of type `list`; otherwise an expression.
    std::variant<std::string, std::vector<std::string>> tgt;
    std::string_view delimiter = ":";
  };
  Target target;
  /// A function that this engine calls itself, in place of the functions of the chunk.
  struct Function {
    std::string_view name;
    std::vector<std::string_view> args;
  };
  std::variant<const lowstate::LocalCall*, Function> call;
  std::string ret;       ///< The names of returners, separated by commas.
  std::string_view jid;  ///< The job id that the caller chose. If it is empty, the master makes an id.
  std::optional<JsonValue> metadata;
  std::optional<std::chrono::seconds> to;  ///< The timeout for syndics. Used only with `order_masters`.
};

[[nodiscard]] WipedBytes pack_publish(const PublishLoad& load, const Caller& caller);

/// Returns a load that checks credentials without making a token. The load publishes a function that every
/// user may run, to no minion. REQUIRES: the credentials are of the kind eauth.
[[nodiscard]] WipedBytes login_load(const auth::Credentials& credentials);

/// Returns the load of a runner. Positional texts are read as Salt's runner client reads them. For example,
/// `1` becomes a number and `name=value` becomes a keyword argument. Errors: internal.
[[nodiscard]] Result<WipedBytes> runner_load(const lowstate::MasterCall& call, const Caller& caller);

/// Returns the load of a wheel. The arguments are in `arg` and `kwarg`, apart from the fields of the load,
/// since a wheel may have parameters such as `user` or `cmd`. `job` has the ids of a `wheel_async`, which the
/// master adds to its events; otherwise it is null.
[[nodiscard]] WipedBytes wheel_load(const lowstate::MasterCall& call, const Caller& caller,
                                    const master::Started* job = nullptr);

/// Returns the load that exchanges credentials for a token, or asks for the owner of a token. REQUIRES: the
/// credentials are of the kind eauth or token.
[[nodiscard]] WipedBytes token_load(const auth::Credentials& credentials);

/// Returns the load of a ping, which the master sends back unchanged.
[[nodiscard]] WipedBytes ping_load();

/// Packs the data of an event. The packed data has `_stamp`, as Salt adds it. REQUIRES: `data` is an object.
[[nodiscard]] WipedBytes pack_event(const JsonValue& data, std::string_view stamp);

// The next functions read the master's replies. All have these errors: authentication and authorization, with
// the master's message, if the master refused the load and did nothing; invocation, with Salt's message;
// internal, for all other replies.
//
// In replies to `publish`, a refusal has one of two names, for authentication and for authorization. Replies
// to runners and wheels have one name for both. With a token, the message shows which one it is. With
// credentials, the refusal counts as authentication.

/// Reads the reply to `publish`. If no minion matched, the Job has no jid. An id that occurs twice is
/// returned once.
[[nodiscard]] Result<master::Job> read_publish_reply(std::string_view bytes);
[[nodiscard]] Result<master::Started> read_runner_reply(std::string_view bytes);
[[nodiscard]] Result<master::WheelReply> read_wheel_reply(std::string_view bytes);

/// Reads a reply with a token. The token is copied only to the grant.
[[nodiscard]] Result<auth::Grant> read_mk_token_reply(std::string_view bytes);
[[nodiscard]] Result<auth::Grant> read_get_token_reply(std::string_view bytes);

}  // namespace rest_fcgi::salt
