// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "rest_fcgi/auth/logins.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/master.h"

/// What the master answers to its loads. Errors of all: authentication and authorization, with the master's
/// own sentence, where it refused the call and did nothing; invocation, where Salt says so; internal, with
/// Salt's own words in it, for all else that is not what the call should give. Source: the master's client
/// protocol.
///
/// Replies to `publish` have two names for a refusal. Those to runners and wheels have one name for both; of
/// a token the message tells them apart, of credentials inline nothing does: it counts as authentication.
namespace rest_fcgi::salt {

/// Nobody matched: a Job without a jid. An id that stands twice in the reply is there once.
[[nodiscard]] Result<master::Job> read_publish_reply(std::string_view bytes);
[[nodiscard]] Result<master::Started> read_runner_reply(std::string_view bytes);
[[nodiscard]] Result<master::WheelReply> read_wheel_reply(std::string_view bytes);

/// What the bytes hold of secrets is copied to the grant alone.
[[nodiscard]] Result<auth::Grant> read_mk_token_reply(std::string_view bytes);
[[nodiscard]] Result<auth::Grant> read_get_token_reply(std::string_view bytes);

}  // namespace rest_fcgi::salt
