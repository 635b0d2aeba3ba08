// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

/// Decides which keyword arguments are passed to the master's runners and wheels.
namespace rest_fcgi::salt {

/// Returns whether a keyword argument is passed to a runner. salt-api loads the master's runners and drops
/// arguments for which a runner has no parameter. This function instead uses a table of the runners of Salt
/// 3006 to 3008. The table has only the keys of clients (`lowstate::is_client_key`). Other keys, and all keys
/// of runners outside the table, are passed.
[[nodiscard]] bool runner_gets_keyword(std::string_view runner, std::string_view key);

/// Returns whether a keyword argument is passed to a wheel, by the same rules as for runners.
[[nodiscard]] bool wheel_gets_keyword(std::string_view wheel, std::string_view key);

}  // namespace rest_fcgi::salt
