// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/master/master.h"

namespace rest_fcgi::client {

/// `{"<minion>": <ret>}`, an item of `local_batch`.
[[nodiscard]] Json by_minion(std::string_view minion, const Json& ret);

/// The same as the event that Salt's bus carries, `{"data": {...}, "tag": "salt/job/<jid>/ret/<minion>"}`: an
/// item of `local_batch` with `raw`.
[[nodiscard]] Json return_event(const master::Return& ret, std::string_view jid,
                                const master::Permit& permit);

}  // namespace rest_fcgi::client
