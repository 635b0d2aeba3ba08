// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/auth/logins.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/master.h"

/// What the master answers to its loads. What is neither a refusal nor what the call should give is a failure
/// with Salt's own words in it: of kind invocation where Salt says so, else internal. Source: the master's
/// client protocol.
namespace rest_fcgi::salt {

/// Why the master refused a call. Its replies to `publish` have two names for it. Those to runners and wheels
/// have one name for both, and of a token the message tells them apart; of credentials inline nothing does.
enum class Refusal {
  credentials,  ///< the login or token is not (any more) good; or, of a runner or wheel with a login inline,
                ///< rights
  rights,       ///< it is, without the right to do this
};

/// A refusal, or else what the call gave.
template <class T>
struct Answer {
  std::optional<Refusal> refusal;
  std::string message{};  ///< the master's own, of a refusal
  T value{};              ///< where there is no refusal
};

/// Nobody matched: a Job without a jid. An id that stands twice in the reply is there once.
[[nodiscard]] Result<Answer<master::Job>> read_publish_reply(std::string_view bytes);
[[nodiscard]] Result<Answer<master::Started>> read_runner_reply(std::string_view bytes);
[[nodiscard]] Result<Answer<master::WheelReply>> read_wheel_reply(std::string_view bytes);

/// Refused credentials: a refusal without a message. What the bytes hold of secrets is copied to the grant
/// alone.
[[nodiscard]] Result<Answer<auth::Grant>> read_mk_token_reply(std::string_view bytes);
[[nodiscard]] Result<Answer<auth::Grant>> read_get_token_reply(std::string_view bytes);

}  // namespace rest_fcgi::salt
