// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

/// Which keyword arguments go to a master's runners and wheels.
namespace rest_fcgi::salt {

/// Returns whether a keyword argument is passed on to a runner. salt-api loads the master's runners, and
/// leaves out all that they have no parameter for. Here a table of the runners of Salt 3006 to 3008 says
/// which of the keys of clients they take (`lowstate::is_client_key`). Any other key is passed on, and so is
/// every key to a runner that is not in Salt itself.
[[nodiscard]] bool runner_gets_keyword(std::string_view runner, std::string_view key);

/// Same for a wheel.
[[nodiscard]] bool wheel_gets_keyword(std::string_view wheel, std::string_view key);

}  // namespace rest_fcgi::salt
