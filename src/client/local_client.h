// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/client/options.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/master.h"

namespace rest_fcgi::client {

/// Salt's LocalClient: execution functions on minions. Borrows what it is made of; lives for one call.
/// Thread-safe.
class LocalClient {
 public:
  LocalClient(const Options& options, master::Master& master) : options_(options), master_(master) {}

  /// `local`: waits for the returns. One map by minion; those that did not return come last, with Salt's
  /// sentence. Errors: timeout, with the jid; the master's.
  Result<Reply> cmd(const master::Permit& permit);

  /// `local_async`: the job's id and its minions.
  Result<Reply> run_job(const master::Permit& permit);

  /// `local_subset`: as `local`, on a few minions by chance of those that have the function.
  Result<Reply> cmd_subset(const master::Permit& permit);

 private:
  Result<Reply> cmd_on(const master::Permit& permit, const master::Publication& publication);
  Result<std::vector<std::string>> who_has_function(const master::Permit& permit);

  const Options& options_;
  master::Master& master_;
};

}  // namespace rest_fcgi::client
