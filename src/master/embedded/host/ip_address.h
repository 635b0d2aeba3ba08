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
  /// Absent where `text` is no address.
  [[nodiscard]] static std::optional<IpAddress> parse(std::string_view text);
  /// Of 4 or 16 bytes in network order; absent for any other number of them.
  [[nodiscard]] static std::optional<IpAddress> of_bytes(std::string_view bytes);
  /// The netmask of that many bits.
  [[nodiscard]] static IpAddress mask(int version, unsigned prefix);

  [[nodiscard]] int version() const noexcept { return version_; }
  [[nodiscard]] unsigned bits() const noexcept { return version_ == 4 ? 32 : 128; }
  [[nodiscard]] std::string text() const;

  [[nodiscard]] IpAddress operator&(const IpAddress& mask) const;
  [[nodiscard]] IpAddress operator~() const;
  /// How many bits are set before the first that is not; absent where a set one follows.
  [[nodiscard]] std::optional<unsigned> prefix_of_mask() const;

  auto operator<=>(const IpAddress&) const = default;

 private:
  [[nodiscard]] std::uint8_t byte(std::size_t at) const { return bytes_[at]; }

  int version_ = 4;
  std::array<std::uint8_t, 16> bytes_{};  // IPv4: the first four
};

/// A network, as Python's `ipaddress.ip_network`. Value type; sorts by address, then by size.
struct IpNetwork {
  IpAddress address;  ///< its first
  unsigned prefix = 0;

  /// Reads `10.0.0.0/8`, `10.0.0.0/255.0.0.0`, or a single address. Absent where `text` is none of these, or
  /// where the address is not the network's first.
  [[nodiscard]] static std::optional<IpNetwork> parse(std::string_view text);
  /// The network of an address.
  [[nodiscard]] static IpNetwork of(const IpAddress& address, unsigned prefix);

  [[nodiscard]] bool contains(const IpAddress& other) const;

  auto operator<=>(const IpNetwork&) const = default;
};

}  // namespace rest_fcgi::embedded
