// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "client/gatherer.h"
#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/core/result.h"

/// The methods of Salt's LocalClient, which run execution functions on minions. The functions have the names
/// of these methods.
namespace rest_fcgi::client {

/// Runs `local` and waits for the returns. The reply is a map from minion to return. Minions that did not
/// return come last, with Salt's sentence for them. Errors: timeout and reply_too_large, with the jid; those
/// of the master. If an error comes after some returns, the reply holds the returns and the error.
[[nodiscard]] Result<Reply> cmd(const Call& call);

/// Runs `local_async`. Returns the jid and the minions of the job.
[[nodiscard]] Result<Reply> run_job(const Call& call);

/// Runs `local_subset`. Works as `cmd`, on a few randomly chosen minions that have the function.
[[nodiscard]] Result<Reply> cmd_subset(const Call& call);

/// Runs `local_batch`. Pings all minions, then runs the job on a limited number of minions at a time. When
/// one minion has returned, the next minion starts. The reply has one item for each return, in the order of
/// arrival, and `{}` for a minion that did not return. Minions that did not answer the ping are left out.
/// Errors: those of `cmd`, with all jids.
[[nodiscard]] Result<Reply> cmd_batch(const Call& call);

/// Returns how many minions of a batch work at the same time. A percentage is rounded down, but the result is
/// at least 1.
[[nodiscard]] std::size_t window_size(const lowstate::BatchSize& batch, std::size_t minions);

/// Writes the return code. For a compound call, writes the map from function to return code if the return has
/// this map.
void write_retcode(JsonWriter& writer, const master::Return& ret);

}  // namespace rest_fcgi::client
