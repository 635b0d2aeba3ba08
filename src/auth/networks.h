// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace rest_fcgi::auth {

/// Returns what counts as one address: an IPv4 address, or the 64-bit network of an IPv6 address. An IPv6
/// address that stands for an IPv4 address (::ffff:0:0/96, and 64:ff9b::/96 of NAT64) is that one. A text
/// that is no address stands for itself.
[[nodiscard]] std::string network_of(std::string_view remote);

/// Returns the 48-bit network of an IPv6 address, which one customer may have; empty for all others.
[[nodiscard]] std::string site_of(std::string_view remote);

/// Returns whose line a check from this address waits in: the site's, else the network's.
[[nodiscard]] std::string line_of(std::string_view remote);

}  // namespace rest_fcgi::auth
