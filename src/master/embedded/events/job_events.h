// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/returner/returner.h"

/// The events of a Salt Master of the 3008 line (salt/master.py, salt/minion.py, salt/client/mixins.py), with
/// its tags and keys. Secrets are hidden, as `master::secrecy_of` and `master::without_secrets` tell them;
/// what a minion returned is shown as it is.
namespace rest_fcgi::embedded {

struct EventText {
  std::string tag;
  Json data;
  std::string user{};  ///< whose job it is about; empty: nobody's
};

/// A job is about to run. `missing`: ids that its target names and that do not exist.
[[nodiscard]] EventText job_new_event(const returner::Load& load, const std::vector<std::string>& missing,
                                      WallTime now);

/// One of its minions returned.
[[nodiscard]] EventText job_ret_event(const returner::Load& load, const master::Return& ret, WallTime now);

/// Is it the job of a runner or wheel, of this process or another one? Their functions are called
/// `runner.NAME` and `wheel.NAME`, and return under a master's id alone.
[[nodiscard]] bool is_master_call(const returner::Load& load);

/// A runner or wheel is about to run.
[[nodiscard]] EventText master_new_event(const returner::Load& load, WallTime now);

/// It returned.
[[nodiscard]] EventText master_ret_event(const returner::Load& load, const Json& ret, bool success,
                                         WallTime now);

/// A minion is there, and accepted.
[[nodiscard]] std::vector<EventText> minion_start_events(std::string_view id, WallTime now);

/// As Salt's master tells of a key that was deleted.
[[nodiscard]] EventText minion_gone_event(std::string_view id, WallTime now);

/// What somebody fires: an object, which gets its `_stamp` in place of any that it has.
[[nodiscard]] EventText fired_event(std::string_view tag, const JsonValue& data, WallTime now);

}  // namespace rest_fcgi::embedded
