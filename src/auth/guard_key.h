// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace rest_fcgi::auth {

/// What counts as one address: an IPv4 address, or the 64-bit network of an IPv6 address, which its owner can
/// fill as they like. A text that is no address stands for itself.
[[nodiscard]] std::string network_of(std::string_view remote);

}  // namespace rest_fcgi::auth
