// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "client/gatherer.h"
#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/core/result.h"

/// Salt's LocalClient: execution functions on minions, under the names of its methods.
namespace rest_fcgi::client {

/// Runs `local` and waits for the returns. The reply is a map by minion; minions that did not return come
/// last, with Salt's sentence. Errors: timeout and reply_too_large, with the jid; the master's. After some
/// returns the error is in the reply.
[[nodiscard]] Result<Reply> cmd(const Call& call);

/// Runs `local_async`: returns the jid and the minions.
[[nodiscard]] Result<Reply> run_job(const Call& call);

/// Runs `local_subset`: as `local`, on some random minions that have the function.
[[nodiscard]] Result<Reply> cmd_subset(const Call& call);

/// Runs `local_batch`: pings all minions, then runs the job on a limited number of them at a time; the next
/// one starts when one has returned. The reply has an item for each return, in order, and `{}` for a minion
/// that did not return. Minions that did not answer the ping are left out. Errors: as those of `cmd`, with
/// all jids.
[[nodiscard]] Result<Reply> cmd_batch(const Call& call);

/// Returns the number of minions of a batch that work at a time. A percentage is rounded down, to one at
/// least.
[[nodiscard]] std::size_t window_size(const lowstate::BatchSize& batch, std::size_t minions);

/// Writes the return code, or for a compound call the map by function if there is one.
void write_retcode(JsonWriter& writer, const master::Return& ret);

}  // namespace rest_fcgi::client
