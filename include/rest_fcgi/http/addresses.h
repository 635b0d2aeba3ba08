// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/result.h"

namespace rest_fcgi::http {

/// Addresses of hosts and networks, IPv4 and IPv6. An IPv4 address inside IPv6 is the same as by itself.
/// Immutable; thread-safe.
class Addresses {
 public:
  /// `192.0.2.7`, `2001:db8::/32`, or `*` for all. Errors: configuration, naming what is none of these.
  [[nodiscard]] static Result<Addresses> make(const std::vector<std::string>& texts);

  [[nodiscard]] bool has(std::string_view address) const;

  /// Is this the address of a host?
  [[nodiscard]] static bool is_one(std::string_view text) { return bytes_of(text).has_value(); }

  /// Returns the usual text of an address, that of IPv4 where it is one inside IPv6; std::nullopt if
  /// `address` is none.
  [[nodiscard]] static std::optional<std::string> normalized(std::string_view address);

 private:
  struct Network {
    std::array<unsigned char, 16> bytes;  // IPv4 as ::ffff:a.b.c.d
    unsigned bits;
  };
  [[nodiscard]] static std::optional<std::array<unsigned char, 16>> bytes_of(std::string_view address);

  bool all_ = false;
  std::vector<Network> networks_;
};

/// Returns the address of the client whose request `peer` passes on. If `peer` is one of `proxies`, that is
/// the last address in `forwarded_for` (the header X-Forwarded-For) that is not one of them; if that header
/// has no address at its end, it is the address in `real_ip` (X-Real-IP). In all other cases it is `peer`. An
/// address may have a port, and one of IPv6 brackets.
[[nodiscard]] std::string client_behind(const Addresses& proxies, std::string_view peer,
                                        std::string_view forwarded_for, std::string_view real_ip);

/// Returns whether a server that listens on `host` is reached from this host alone: it is `localhost` or an
/// address of loopback.
[[nodiscard]] bool is_loopback(std::string_view host);

/// The networks of loopback.
inline constexpr std::string_view kLoopback[] = {"127.0.0.0/8", "::1"};

}  // namespace rest_fcgi::http
