// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "client/gatherer.h"
#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/core/result.h"

/// The methods of Salt's LocalClient under Salt's names. They run execution functions on minions.
namespace rest_fcgi::client {

/// Runs `local` and returns a map from minion to return. Minions without a return come last, with Salt's text
/// for this case. If an error follows some returns, `Reply::failure` has the error. Errors: timeout and
/// reply_too_large, with the jid; the errors of the master.
Result<Reply> cmd(const ChunkCall& call);

/// Runs `local_async`. Returns the jid and the minions of the job.
Result<Reply> run_job(const ChunkCall& call);

/// Runs `local_subset`: `cmd` on a few random minions that have the function.
Result<Reply> cmd_subset(const ChunkCall& call);

/// Runs `local_batch` on the minions that answer a ping, a limited number at a time. Returns an item for each
/// return in order of arrival, and `{}` for a minion without a return. Errors: the errors of `cmd`. The
/// error has the jids of all started jobs.
Result<Reply> cmd_batch(const ChunkCall& call);

/// Returns how many minions of a batch work at a time. Rounds a percentage down, but returns at least 1.
[[nodiscard]] std::size_t window_size(const lowstate::BatchSize& batch, std::size_t minions);

/// Writes the return code of a return. For a call with several functions, writes a map from function to
/// return code.
void write_retcode(JsonWriter& writer, const master::Return& ret);

}  // namespace rest_fcgi::client
