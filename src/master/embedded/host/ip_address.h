// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rest_fcgi::embedded {

/// An IPv4 or IPv6 address, read and written as Python's `ipaddress` does. Value type; sorts by version, then
/// by number.
class IpAddress {
 public:
  /// Returns absent for text that is no address.
  [[nodiscard]] static std::optional<IpAddress> parse(std::string_view text);
  /// Reads 4 or 16 bytes in network order. Returns absent for another number of bytes.
  [[nodiscard]] static std::optional<IpAddress> of_bytes(std::string_view bytes);

  [[nodiscard]] int version() const noexcept { return version_; }
  [[nodiscard]] unsigned bits() const noexcept { return version_ == 4 ? 32 : 128; }
  [[nodiscard]] std::string text() const;

  /// Returns the first address of its network of that prefix length.
  [[nodiscard]] IpAddress masked(unsigned prefix) const;
  /// Returns the prefix length that this address is the netmask of; absent if it is no netmask.
  [[nodiscard]] std::optional<unsigned> prefix_of_mask() const;

  auto operator<=>(const IpAddress&) const = default;

 private:
  int version_ = 4;
  std::array<std::uint8_t, 16> bytes_{};  // IPv4: the first four
};

/// A network, as Python's `ipaddress.ip_network`. Value type; sorts by address, then by size.
struct IpNetwork {
  IpAddress address;  ///< the first of the network
  unsigned prefix = 0;

  /// Reads `10.0.0.0/8`, `10.0.0.0/255.0.0.0` or a single address. Returns absent for other text, and if the
  /// address is not the first of the network.
  [[nodiscard]] static std::optional<IpNetwork> parse(std::string_view text);

  [[nodiscard]] bool contains(const IpAddress& other) const {
    return other.version() == address.version() && other.masked(prefix) == address;
  }

  auto operator<=>(const IpNetwork&) const = default;
};

}  // namespace rest_fcgi::embedded
