// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

/// Which keyword arguments are passed to the master's runners and wheels.
namespace rest_fcgi::salt {

/// Returns whether a runner gets the keyword argument. salt-api loads the master's runners and drops
/// arguments for which they have no parameter. This function uses a table of the runners of Salt 3006 to 3008
/// for the keys of clients (`lowstate::is_client_key`). Other keys, and all keys of other runners, are
/// passed.
[[nodiscard]] bool runner_gets_keyword(std::string_view runner, std::string_view key);

/// Returns whether a wheel gets the keyword argument.
[[nodiscard]] bool wheel_gets_keyword(std::string_view wheel, std::string_view key);

}  // namespace rest_fcgi::salt
