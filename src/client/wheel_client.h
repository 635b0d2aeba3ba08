// SPDX-License-Identifier: MIT
#pragma once

#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/master.h"

namespace rest_fcgi::client {

/// Salt's WheelClient: functions that manage the master. Borrows the master; lives for one call. Thread-safe.
class WheelClient {
 public:
  explicit WheelClient(master::Master& master) : master_(master) {}

  /// `wheel`: the master's whole reply, unlike a runner's. A function that failed says so in it.
  Result<Reply> cmd_sync(const master::Permit& permit);

  /// `wheel_async`: the job's tag and id.
  Result<Reply> cmd_async(const master::Permit& permit);

 private:
  master::Master& master_;
};

}  // namespace rest_fcgi::client
