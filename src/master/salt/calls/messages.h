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

/// What goes to the master and comes back. Source: the master's client protocol.
namespace rest_fcgi::salt {

// Salt's loads, which go to the master as `{"enc": "clear", "load": {...}, "version": 3}`. A malformed one
// can cost the master a worker for good, so all that a caller chose was checked by then, and only fields that
// are known here are sent. None holds a `jid` that is not asked for: a refused load with one is shown on the
// event bus, credentials included. None holds a key of the master's, whose login is root's.

/// Who calls, as a load says it: a token, or credentials inline. Borrows.
struct Caller {
  const auth::Credentials* credentials = nullptr;
  std::string_view user;  ///< the name that the master's `publisher_acl_blacklist` looks at
};

/// What a `publish` load is made of. Borrows.
struct PublishLoad {
  /// The target as the master takes it: nodegroups are expanded by now.
  struct Target {
    lowstate::TargetType type = lowstate::TargetType::glob;
    std::variant<std::string, std::vector<std::string>> tgt;  ///< ids for `list`; else an expression
    std::string_view delimiter = ":";
  };
  Target target;
  /// The functions of the chunk, or one of ours.
  struct Function {
    std::string_view name;
    std::vector<std::string_view> args;
  };
  std::variant<const lowstate::LocalCall*, Function> call;
  std::string ret;       ///< returners, comma-separated
  std::string_view jid;  ///< the caller's own; empty: the master makes one
  std::optional<JsonValue> metadata;
  std::optional<std::chrono::seconds> to;  ///< only with `order_masters`: handed on to syndics
};

[[nodiscard]] WipedBytes pack_publish(const PublishLoad& load, const Caller& caller);

/// Asks whether credentials are good, and makes no token: it publishes to nobody what everybody may run,
/// which a master answers as a publication that matches nobody. REQUIRES: kind eauth.
[[nodiscard]] WipedBytes login_load(const auth::Credentials& credentials);

/// Texts among the positional arguments are read as Salt's runner client reads them: `1` is a number, and
/// `name=value` a keyword argument. Errors: internal, where they cannot be copied.
[[nodiscard]] Result<WipedBytes> runner_load(const lowstate::MasterCall& call, const Caller& caller);

/// Arguments go as `arg` and `kwarg`, not side by side with the load's own fields, as a wheel may take a
/// `user` or `cmd` of its own. `job`: what the client of a `wheel_async` makes up, null else: the master puts
/// it on the events of the function.
[[nodiscard]] WipedBytes wheel_load(const lowstate::MasterCall& call, const Caller& caller,
                                    const master::Started* job = nullptr);

/// Trades credentials for a token, or asks whose one is. REQUIRES: kind eauth, or kind token.
[[nodiscard]] WipedBytes token_load(const auth::Credentials& credentials);

/// The data of an event, which is no load: `data` with `_stamp` as Salt adds it, in place of one that is in
/// it. REQUIRES: an object.
[[nodiscard]] WipedBytes pack_event(const JsonValue& data, std::string_view stamp);

// What the master answers to its loads. Errors of all: authentication and authorization, with the master's
// own sentence, where it refused the call and did nothing; invocation, where Salt says so; internal, with
// Salt's own words in it, for all else that is not what the call should give.
//
// Replies to `publish` have two names for a refusal. Those to runners and wheels have one name for both; of a
// token the message tells them apart, of credentials inline nothing does: it counts as authentication.

/// Nobody matched: a Job without a jid. An id that stands twice in the reply is there once.
[[nodiscard]] Result<master::Job> read_publish_reply(std::string_view bytes);
[[nodiscard]] Result<master::Started> read_runner_reply(std::string_view bytes);
[[nodiscard]] Result<master::WheelReply> read_wheel_reply(std::string_view bytes);

/// What the bytes hold of secrets is copied to the grant alone.
[[nodiscard]] Result<auth::Grant> read_mk_token_reply(std::string_view bytes);
[[nodiscard]] Result<auth::Grant> read_get_token_reply(std::string_view bytes);

}  // namespace rest_fcgi::salt
