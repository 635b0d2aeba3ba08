// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/address.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::http {

/// A set of IPv4 and IPv6 addresses and networks. An IPv4 address mapped into IPv6 (`::ffff:192.0.2.7`)
/// counts as the IPv4 address. The set is immutable and thread-safe.
class Addresses {
 public:
  /// Makes the set from texts such as `192.0.2.7` and `2001:db8::/32`. The text `*` means all addresses.
  /// Errors: configuration, with the malformed text.
  static Result<Addresses> make(const std::vector<std::string>& texts);

  [[nodiscard]] bool has(std::string_view address) const;

  /// Returns the standard text of an address, such as `192.0.2.7` for `::ffff:192.0.2.7`. Returns
  /// std::nullopt if `address` is malformed.
  [[nodiscard]] static std::optional<std::string> normalized(std::string_view address);

 private:
  bool all_ = false;
  std::vector<IpNetwork> networks_;  // IPv4 networks are stored as networks in ::ffff:0:0/96.
};

/// Returns the client's address. If `peer` is a proxy, returns the last address in `forwarded_for`
/// (X-Forwarded-For) that is not a proxy. If `forwarded_for` has no address, returns `real_ip` (X-Real-IP).
/// Otherwise returns `peer`.
[[nodiscard]] std::string client_behind(const Addresses& proxies, std::string_view peer,
                                        std::string_view forwarded_for, std::string_view real_ip);

/// Returns the network that counts as one client: an IPv4 address, or the 64-bit network of an
/// IPv6 address. IPv6 addresses in ::ffff:0:0/96 and 64:ff9b::/96 (NAT64, RFC 6052) stand for IPv4 addresses.
/// Returns other texts unchanged.
[[nodiscard]] std::string network_of(std::string_view remote);

/// Returns whether `host` is `localhost` or a loopback address, which other hosts cannot reach.
[[nodiscard]] bool is_loopback(std::string_view host);

inline constexpr std::string_view kLoopback[] = {"127.0.0.0/8", "::1"};

}  // namespace rest_fcgi::http
