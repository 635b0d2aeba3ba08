// SPDX-License-Identifier: MIT
#include "master/embedded/host/ip_address.h"

#include <arpa/inet.h>

#include <algorithm>

#include "master/embedded/text.h"

namespace rest_fcgi::embedded {
namespace {

/// What stands behind the slash: a number of bits, or an IPv4 netmask or its complement.
std::optional<unsigned> prefix_of(std::string_view text, const IpAddress& address) {
  if (const auto bits = parse_number<unsigned>(text)) return *bits <= address.bits() ? bits : std::nullopt;
  const auto mask = IpAddress::parse(text);
  if (!mask || mask->version() != 4 || address.version() != 4) return std::nullopt;
  const auto prefix = mask->prefix_of_mask();
  return prefix ? prefix : (~*mask).prefix_of_mask();
}

}  // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  const std::string terminated(text);
  if (terminated.find('\0') != std::string::npos) return std::nullopt;
  IpAddress address;
  if (::inet_pton(AF_INET, terminated.c_str(), address.bytes_.data()) == 1) return address;
  address.version_ = 6;
  if (::inet_pton(AF_INET6, terminated.c_str(), address.bytes_.data()) == 1) return address;
  return std::nullopt;
}

std::optional<IpAddress> IpAddress::of_bytes(std::string_view bytes) {
  if (bytes.size() != 4 && bytes.size() != 16) return std::nullopt;
  IpAddress address;
  address.version_ = bytes.size() == 4 ? 4 : 6;
  std::transform(bytes.begin(), bytes.end(), address.bytes_.begin(),
                 [](char c) { return static_cast<std::uint8_t>(c); });
  return address;
}

IpAddress IpAddress::mask(int version, unsigned prefix) {
  IpAddress mask;
  mask.version_ = version;
  for (unsigned bit = 0; bit < prefix; ++bit) {
    std::uint8_t& byte = mask.bytes_[bit / 8];
    byte = static_cast<std::uint8_t>(byte | (0x80U >> (bit % 8)));
  }
  return mask;
}

std::string IpAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(version_ == 4 ? AF_INET : AF_INET6, bytes_.data(), text.data(), text.size());
  return text.data();
}

IpAddress IpAddress::operator&(const IpAddress& mask) const {
  IpAddress result = *this;
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    result.bytes_[i] = static_cast<std::uint8_t>(byte(i) & mask.byte(i));
  }
  return result;
}

IpAddress IpAddress::operator~() const {
  IpAddress result = *this;
  for (std::size_t i = 0; i < bits() / 8; ++i) result.bytes_[i] = static_cast<std::uint8_t>(~byte(i));
  return result;
}

std::optional<unsigned> IpAddress::prefix_of_mask() const {
  for (unsigned prefix = 0; prefix <= bits(); ++prefix) {
    if (*this == mask(version_, prefix)) return prefix;
  }
  return std::nullopt;
}

std::optional<IpNetwork> IpNetwork::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = IpAddress::parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  unsigned prefix = address->bits();
  if (slash != std::string_view::npos) {
    const auto given = prefix_of(text.substr(slash + 1), *address);
    if (!given) return std::nullopt;
    prefix = *given;
  }
  const IpNetwork network = of(*address, prefix);
  if (network.address != *address) return std::nullopt;
  return network;
}

IpNetwork IpNetwork::of(const IpAddress& address, unsigned prefix) {
  return {address & IpAddress::mask(address.version(), prefix), prefix};
}

bool IpNetwork::contains(const IpAddress& other) const {
  return other.version() == address.version() &&
         (other & IpAddress::mask(other.version(), prefix)) == address;
}

}  // namespace rest_fcgi::embedded
