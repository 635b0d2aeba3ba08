// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

/// Decides which keyword arguments are passed to the master's runners and wheels.
namespace rest_fcgi::salt {

/// Returns whether a keyword argument is passed to a runner. Returns false for a client's key
/// (`lowstate::is_client_key`) if the runner has no parameter with this name in Salt 3006 to 3008, because
/// salt-api drops such a key. Returns true for all other keys, and for every key of a runner of an unknown
/// module.
[[nodiscard]] bool runner_gets_keyword(std::string_view runner, std::string_view key);

[[nodiscard]] bool wheel_gets_keyword(std::string_view wheel, std::string_view key);

}  // namespace rest_fcgi::salt
