// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rest_fcgi::embedded {

/// An IPv4 or IPv6 address with the text forms of Python's `ipaddress`. Sorts by version and by number.
class IpAddress {
 public:
  [[nodiscard]] static std::optional<IpAddress> parse(std::string_view text);
  /// Reads an address from 4 or 16 bytes in network order. Returns std::nullopt for another number of bytes.
  [[nodiscard]] static std::optional<IpAddress> of_bytes(std::string_view bytes);

  [[nodiscard]] int version() const noexcept { return version_; }
  [[nodiscard]] unsigned bits() const noexcept { return version_ == 4 ? 32 : 128; }
  [[nodiscard]] std::string text() const;

  /// Returns the first address of the network that contains this address. `prefix` is the prefix length.
  [[nodiscard]] IpAddress masked(unsigned prefix) const;
  /// Returns the prefix length of a netmask: 24 for 255.255.255.0. Returns std::nullopt for other addresses.
  [[nodiscard]] std::optional<unsigned> prefix_of_mask() const;

  auto operator<=>(const IpAddress&) const = default;

 private:
  int version_ = 4;
  std::array<std::uint8_t, 16> bytes_{};  // An IPv4 address uses only the first four bytes.
};

/// An IP network as in Python's `ipaddress.ip_network`. Sorts by address and by size.
struct IpNetwork {
  IpAddress address;  ///< The first address of the network.
  unsigned prefix = 0;

  /// Reads `10.0.0.0/8`, `10.0.0.0/255.0.0.0` or a single address. Returns std::nullopt for other texts, and
  /// for an address that is not the first address of the network.
  [[nodiscard]] static std::optional<IpNetwork> parse(std::string_view text);

  [[nodiscard]] bool contains(const IpAddress& other) const {
    return other.version() == address.version() && other.masked(prefix) == address;
  }

  auto operator<=>(const IpNetwork&) const = default;
};

}  // namespace rest_fcgi::embedded
