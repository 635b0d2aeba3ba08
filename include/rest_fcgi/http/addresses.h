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

 private:
  struct Network {
    std::array<unsigned char, 16> bytes;  // IPv4 as ::ffff:a.b.c.d
    unsigned bits;
  };
  [[nodiscard]] static std::optional<std::array<unsigned char, 16>> bytes_of(std::string_view address);

  bool all_ = false;
  std::vector<Network> networks_;
};

/// Whose request it is that `peer` passes on: the last address of `X-Forwarded-For` that is none of the
/// `proxies`, which are believed and nobody else; `peer` itself, where it is none of them or says nothing.
/// Borrows from both texts.
[[nodiscard]] std::string_view client_behind(const Addresses& proxies, std::string_view peer,
                                             std::string_view forwarded_for);

}  // namespace rest_fcgi::http
