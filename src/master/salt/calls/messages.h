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
// the master for ever, so callers' values are checked before, and only known fields are sent. No load has a
// `jid` that the caller did not choose, since a refused load with a `jid` is shown on the event bus with its
// credentials. No load has the master's root key.

/// The caller in a load: a token, or credentials. Borrows.
struct Caller {
  const auth::Credentials* credentials = nullptr;
  std::string_view user;  ///< checked against the master's `publisher_acl_blacklist`
};

/// The content of a `publish` load. Borrows.
struct PublishLoad {
  /// The target in the master's form, with expanded nodegroups.
  struct Target {
    lowstate::TargetType type = lowstate::TargetType::glob;
    std::variant<std::string, std::vector<std::string>> tgt;  ///< ids for `list`; otherwise an expression
    std::string_view delimiter = ":";
  };
  Target target;
  /// One of our own functions, instead of the chunk's.
  struct Function {
    std::string_view name;
    std::vector<std::string_view> args;
  };
  std::variant<const lowstate::LocalCall*, Function> call;
  std::string ret;       ///< comma-separated returners
  std::string_view jid;  ///< chosen by the caller; empty: the master makes one
  std::optional<JsonValue> metadata;
  std::optional<std::chrono::seconds> to;  ///< timeout for syndics, only with `order_masters`
};

[[nodiscard]] WipedBytes pack_publish(const PublishLoad& load, const Caller& caller);

/// Makes a load that checks credentials without making a token: it publishes a function that everyone may run
/// to no minion. REQUIRES: kind eauth.
[[nodiscard]] WipedBytes login_load(const auth::Credentials& credentials);

/// Makes the load of a runner. Positional texts are read as Salt's runner client reads them: `1` as a number,
/// `name=value` as a keyword argument. Errors: internal.
[[nodiscard]] Result<WipedBytes> runner_load(const lowstate::MasterCall& call, const Caller& caller);

/// Makes the load of a wheel. Arguments are in `arg` and `kwarg`, separate from the load's fields, since a
/// wheel may have parameters such as `user` or `cmd`. `job`: ids of a `wheel_async`, which the master adds to
/// its events; otherwise null.
[[nodiscard]] WipedBytes wheel_load(const lowstate::MasterCall& call, const Caller& caller,
                                    const master::Started* job = nullptr);

/// Makes the load that exchanges credentials for a token, or asks for the owner of a token. REQUIRES: kind
/// eauth or token.
[[nodiscard]] WipedBytes token_load(const auth::Credentials& credentials);

/// Makes the load that the master returns unchanged.
[[nodiscard]] WipedBytes ping_load();

/// Packs the data of an event, with `_stamp` as Salt adds it. REQUIRES: `data` is an object.
[[nodiscard]] WipedBytes pack_event(const JsonValue& data, std::string_view stamp);

// Read the master's replies. Errors of all: authentication and authorization, with the master's text, if it
// refused the load and did nothing; invocation, with Salt's text; internal, for all other replies.
//
// Replies to `publish` have two names for refusals. Those to runners and wheels have one: for a token the
// message tells which one it is, for credentials it counts as authentication.

/// If no minion matched, the Job has no jid. Ids that occur twice are returned once.
[[nodiscard]] Result<master::Job> read_publish_reply(std::string_view bytes);
[[nodiscard]] Result<master::Started> read_runner_reply(std::string_view bytes);
[[nodiscard]] Result<master::WheelReply> read_wheel_reply(std::string_view bytes);

/// The token is copied only to the grant.
[[nodiscard]] Result<auth::Grant> read_mk_token_reply(std::string_view bytes);
[[nodiscard]] Result<auth::Grant> read_get_token_reply(std::string_view bytes);

}  // namespace rest_fcgi::salt
