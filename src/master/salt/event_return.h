// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "master/salt/events/event.h"
#include "rest_fcgi/master/master.h"

/// Events of the bus into what they say. Any minion may fire an event under any tag, and so none is believed
/// for its tag alone: `cmd`, `id` and `jid`, which the master writes, have to say the same.
namespace rest_fcgi::salt {

/// What a minion returned; absent where the event is no return of that minion for that job. A value that
/// cannot be shown becomes a failed return that says so. `whole`: with the event as it came.
[[nodiscard]] std::optional<master::Return> read_return(const Topic& topic, std::string_view data,
                                                        bool whole);

/// What a runner returned; absent where the event is none of the master's own. `whole`: with the event.
[[nodiscard]] std::optional<master::RunnerReturn> read_runner_return(const Topic& topic,
                                                                     std::string_view data, bool whole);

/// The minions that a syndic passed a job on to; empty where the event is none of a syndic.
[[nodiscard]] std::vector<std::string> read_syndic(std::string_view data);

}  // namespace rest_fcgi::salt
