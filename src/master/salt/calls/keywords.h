// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

/// Decides which keyword arguments are passed to the master's runners and wheels.
namespace rest_fcgi::salt {

/// Returns whether a keyword argument is passed to a runner. salt-api drops a key of a client, such as
/// `timeout` (see `lowstate::is_client_key`). Such a key is passed on only to a runner that takes it in Salt
/// 3006 to 3008, and to every runner of an unknown module. All other keys are passed on.
[[nodiscard]] bool runner_gets_keyword(std::string_view runner, std::string_view key);

[[nodiscard]] bool wheel_gets_keyword(std::string_view wheel, std::string_view key);

}  // namespace rest_fcgi::salt
