// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

/// Decides which keyword arguments are passed to the master's runners and wheels.
namespace rest_fcgi::salt {

/// Returns whether a keyword argument is passed to a runner. salt-api drops arguments that the runner has no
/// parameter for. This function knows the clients' keys (`lowstate::is_client_key`) that runners of Salt 3006
/// to 3008 have as parameters. All other keys are passed, and unknown runners get all keys.
[[nodiscard]] bool runner_gets_keyword(std::string_view runner, std::string_view key);

[[nodiscard]] bool wheel_gets_keyword(std::string_view wheel, std::string_view key);

}  // namespace rest_fcgi::salt
