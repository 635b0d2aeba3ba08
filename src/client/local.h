// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "client/gatherer.h"
#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/core/result.h"

/// Salt's LocalClient: execution functions on minions, under the names of its methods.
namespace rest_fcgi::client {

/// `local`: waits for the returns. One map by minion; those that did not return come last, with Salt's
/// sentence. Errors: timeout and reply_too_large, with the jid; the master's. A failure within the reply
/// where it has returns already.
[[nodiscard]] Result<Reply> cmd(const Call& call);

/// `local_async`: the job's id and its minions.
[[nodiscard]] Result<Reply> run_job(const Call& call);

/// `local_subset`: as `local`, on a few minions by chance of those that have the function.
[[nodiscard]] Result<Reply> cmd_subset(const Call& call);

/// `local_batch`: asks who is there, then keeps at most so many minions at work, one starting as soon as
/// another has returned. One item for each return, in order. Minions that are not there have none; one that
/// was there and did not return has `{}`. Errors: as those of `cmd`, with the ids of all jobs so far.
[[nodiscard]] Result<Reply> cmd_batch(const Call& call);

/// How many minions of a batch work at a time: a percentage is cut to a whole number, but is never less than
/// one.
[[nodiscard]] std::size_t window_size(const lowstate::BatchSize& batch, std::size_t minions);

/// A return's code; of a compound call a map by function, where the master knows it.
void write_retcode(JsonWriter& writer, const master::Return& ret);

}  // namespace rest_fcgi::client
