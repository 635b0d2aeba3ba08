// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/master/events.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/returner/returner.h"

namespace rest_fcgi::embedded {

/// Tells all who listen what becomes of jobs and minions: the events of a Salt Master of the 3008 line
/// (salt/master.py, salt/minion.py and salt/client/mixins.py), under its tags and with its keys. Arguments
/// that are secrets are not shown. Where nobody listens, nothing is written. Thread-safe.
class Announcer {
 public:
  /// `log`: null: nobody listens. `clock` has to outlive it.
  Announcer(std::shared_ptr<master::EventLog> log, const Clock& clock)
      : log_(std::move(log)), clock_(clock) {}

  /// Does anybody listen?
  [[nodiscard]] bool wanted() noexcept { return log_ && log_->wanted(); }

  /// A job is about to run. `missing`: ids that its target names and that do not exist.
  void job_new(const returner::Load& load, const std::vector<std::string>& missing);

  /// One of its minions returned.
  void job_ret(const returner::Load& load, const master::Return& ret);

  /// A runner or wheel is about to run, whose load says `runner.NAME` or `wheel.NAME`.
  void master_new(const returner::Load& load);

  /// It returned.
  void master_ret(const returner::Load& load, const Json& ret, bool success);

  /// A minion is there, and accepted.
  void minion_start(std::string_view id);

  /// What somebody fires: an object, which gets its `_stamp` in place of any that it has.
  void fire(std::string_view tag, const JsonValue& data);

 private:
  [[nodiscard]] std::string stamp() const;
  void tell(std::string_view tag, const Json& data, std::string_view user);

  const std::shared_ptr<master::EventLog> log_;
  const Clock& clock_;
};

}  // namespace rest_fcgi::embedded
