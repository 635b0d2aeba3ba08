// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

/// Decides which keyword arguments are passed to the master's runners and wheels.
namespace rest_fcgi::salt {

/// Returns whether a keyword argument is passed to a runner. salt-api drops arguments for which a runner has
/// no parameter. Here a table of the runners of Salt 3006 to 3008 has the keys of clients
/// (`lowstate::is_client_key`). Other keys and runners outside the table get all arguments.
[[nodiscard]] bool runner_gets_keyword(std::string_view runner, std::string_view key);

[[nodiscard]] bool wheel_gets_keyword(std::string_view wheel, std::string_view key);

}  // namespace rest_fcgi::salt
