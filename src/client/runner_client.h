// SPDX-License-Identifier: MIT
#pragma once

#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/client/options.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/master.h"

namespace rest_fcgi::client {

/// Salt's RunnerClient: functions of the master. Borrows what it is made of; lives for one call. Thread-safe.
class RunnerClient {
 public:
  RunnerClient(const Options& options, master::Master& master) : options_(options), master_(master) {}

  /// `runner`: what the function returned, or its whole event. Errors: timeout, with the jid; the runner goes
  /// on.
  Result<Reply> cmd_sync(const master::Permit& permit);

  /// `runner_async`: the job's tag and id.
  Result<Reply> cmd_async(const master::Permit& permit);

 private:
  const Options& options_;
  master::Master& master_;
};

}  // namespace rest_fcgi::client
