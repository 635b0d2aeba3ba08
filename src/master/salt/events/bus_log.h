// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <utility>

#include "master/salt/events/event.h"
#include "master/salt/events/job_owners.h"
#include "rest_fcgi/master/events.h"

namespace rest_fcgi::salt {

/// Writes what the master's bus says into the log that listeners read: each event as JSON, without what
/// `Redaction` hides, and with the user whose job it is about. Where nobody listens it looks at three tags
/// alone. One that cannot be JSON is there with an `error` as its data: no event is left out. Used by one
/// thread.
class BusLog {
 public:
  explicit BusLog(std::shared_ptr<master::EventLog> log) : log_(std::move(log)) {}

  void hear(const Event& event);

  /// Events may be missed from now on.
  void lost();

 private:
  const std::shared_ptr<master::EventLog> log_;
  JobOwners owners_;
};

}  // namespace rest_fcgi::salt
