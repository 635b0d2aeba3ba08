// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rest_fcgi {

/// An IPv4 or IPv6 address with the text forms of Python's `ipaddress`. Sorts by version and by number.
class IpAddress {
 public:
  [[nodiscard]] static std::optional<IpAddress> parse(std::string_view text);
  /// Reads an address from 4 or 16 bytes in network order. Returns std::nullopt for another number of bytes.
  [[nodiscard]] static std::optional<IpAddress> of_bytes(std::string_view bytes);

  [[nodiscard]] int version() const noexcept { return version_; }
  [[nodiscard]] unsigned bits() const noexcept { return version_ == 4 ? 32 : 128; }
  [[nodiscard]] std::string text() const;
  /// Returns the 4 or 16 bytes in network order.
  [[nodiscard]] std::string bytes() const { return {bytes_.end() - bits() / 8, bytes_.end()}; }

  /// Returns the IPv6 address `::ffff:192.0.2.7` for the IPv4 address 192.0.2.7, and an IPv6 address
  /// unchanged.
  [[nodiscard]] IpAddress mapped() const;
  /// Returns the IPv4 address 192.0.2.7 for `::ffff:192.0.2.7`, and any other address unchanged.
  [[nodiscard]] IpAddress unmapped() const;

  /// Returns the first address of the network that contains this address. `prefix` is the prefix length.
  [[nodiscard]] IpAddress masked(unsigned prefix) const;
  /// Returns the prefix length of a netmask: 24 for 255.255.255.0. Returns std::nullopt for other addresses.
  [[nodiscard]] std::optional<unsigned> prefix_of_mask() const;

  auto operator<=>(const IpAddress&) const = default;

 private:
  int version_ = 6;
  std::array<std::uint8_t, 16> bytes_{};  // An IPv4 address is stored as ::ffff:a.b.c.d.
};

/// An IP network as in Python's `ipaddress.ip_network`. Sorts by address and by size.
struct IpNetwork {
  IpAddress address;  ///< The first address of the network.
  unsigned prefix = 0;

  /// Reads `10.0.0.0/8`, `10.0.0.0/255.0.0.0` or a single address. Returns std::nullopt for other texts, and
  /// for an address that is not the first address of the network.
  [[nodiscard]] static std::optional<IpNetwork> parse(std::string_view text);

  /// Reads a network from any of its addresses, such as `10.1.2.3/8`. An IPv6 address may be in brackets.
  [[nodiscard]] static std::optional<IpNetwork> around(std::string_view text);

  [[nodiscard]] bool contains(const IpAddress& other) const {
    return other.version() == address.version() && other.masked(prefix) == address;
  }

  auto operator<=>(const IpNetwork&) const = default;
};

/// Returns the IPv6 address for `[ADDRESS]`. Returns any other text unchanged.
[[nodiscard]] std::string_view without_brackets(std::string_view host) noexcept;

/// Returns whether `host` is a host name, an IPv4 address, or an IPv6 address without brackets.
[[nodiscard]] bool is_host(std::string_view host);

struct HostPort {
  std::string_view host;  ///< The host without brackets. Borrows from the parsed text.
  std::uint16_t port = 0;
};

/// Reads `HOST:PORT` with brackets around an IPv6 address and a port from 1 to 65535. Returns std::nullopt
/// for any other text.
[[nodiscard]] std::optional<HostPort> parse_host_port(std::string_view text);

/// Returns `HOST:PORT` with brackets around an IPv6 address.
[[nodiscard]] std::string host_port_text(std::string_view host, std::size_t port);

}  // namespace rest_fcgi
