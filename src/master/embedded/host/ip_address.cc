// SPDX-License-Identifier: MIT
#include "master/embedded/host/ip_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

constexpr std::array<std::string_view, 14> kPrivate4 = {
    "0.0.0.0/8",      "10.0.0.0/8",     "127.0.0.0/8",    "169.254.0.0/16",    "172.16.0.0/12",
    "192.0.0.0/29",   "192.0.2.0/24",   "192.168.0.0/16", "198.18.0.0/15",     "198.51.100.0/24",
    "192.0.0.170/31", "203.0.113.0/24", "240.0.0.0/4",    "255.255.255.255/32"};
constexpr std::array<std::string_view, 7> kPrivate6 = {"::1/128",       "::/128",   "100::/64", "2001::/23",
                                                       "2001:db8::/32", "fc00::/7", "fe80::/10"};

template <std::size_t N>
bool in_any(const IpAddress& address, const std::array<std::string_view, N>& networks) {
  return std::any_of(networks.begin(), networks.end(), [&address](std::string_view network) {
    return IpNetwork::parse(network, true)->contains(address);
  });
}

struct Run {
  std::size_t begin = 8;
  std::size_t length = 0;
};

/// The first of the longest runs of groups that are 0.
Run longest_run_of_zeros(const std::array<unsigned, 8>& groups) {
  Run best;
  for (std::size_t begin = 0; begin < groups.size(); ++begin) {
    std::size_t end = begin;
    while (end < groups.size() && groups[end] == 0) ++end;
    if (end - begin > best.length) best = {begin, end - begin};
  }
  return best.length > 1 ? best : Run{};
}

/// Not inet_ntop, which writes the end of some addresses as IPv4; Python does not.
std::string text_of_groups(const std::array<unsigned, 8>& groups) {
  const Run zeros = longest_run_of_zeros(groups);
  std::string text;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i == zeros.begin) {
      text += "::";
      i += zeros.length - 1;
      continue;
    }
    if (!text.empty() && !text.ends_with(':')) text += ':';
    text += format("{:x}", groups[i]);
  }
  return text;
}

/// What stands behind the slash: a number of bits, or an IPv4 netmask or its complement.
std::optional<unsigned> prefix_of(std::string_view text, const IpAddress& address) {
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits);
  if (error == std::errc() && end == text.data() + text.size()) {
    if (bits > address.bits()) return std::nullopt;
    return bits;
  }
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
  if (version_ == 4) return format("{}.{}.{}.{}", byte(0), byte(1), byte(2), byte(3));
  std::array<unsigned, 8> groups{};
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = byte(2 * i) * 256U + byte(2 * i + 1);
  return text_of_groups(groups);
}

std::string IpAddress::reverse_pointer() const {
  if (version_ == 4) return format("{}.{}.{}.{}.in-addr.arpa", byte(3), byte(2), byte(1), byte(0));
  std::string name;
  for (std::size_t i = bytes_.size(); i-- > 0;) name += format("{:x}.{:x}.", byte(i) % 16, byte(i) / 16);
  return name + "ip6.arpa";
}

bool IpAddress::is_loopback() const {
  return version_ == 4 ? byte(0) == 127 : *this == *parse("::1");
}

bool IpAddress::is_private() const {
  if (version_ == 6 && IpNetwork::parse("::ffff:0:0/96", true)->contains(*this)) {
    IpAddress mapped;
    std::copy_n(bytes_.begin() + 12, 4, mapped.bytes_.begin());
    return mapped.is_private();
  }
  return version_ == 4 ? in_any(*this, kPrivate4) : in_any(*this, kPrivate6);
}

IpAddress IpAddress::operator&(const IpAddress& mask) const {
  IpAddress result = *this;
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    result.bytes_[i] = static_cast<std::uint8_t>(byte(i) & mask.byte(i));
  }
  return result;
}

IpAddress IpAddress::operator|(const IpAddress& other) const {
  return ~(~*this & ~other);
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

std::optional<IpNetwork> IpNetwork::parse(std::string_view text, bool strict) {
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
  if (strict && network.address != *address) return std::nullopt;
  return network;
}

IpNetwork IpNetwork::of(const IpAddress& address, unsigned prefix) {
  return {address & IpAddress::mask(address.version(), prefix), prefix};
}

bool IpNetwork::contains(const IpAddress& other) const {
  return other.version() == address.version() && (other & netmask()) == address;
}

std::string IpNetwork::text() const {
  return format("{}/{}", address.text(), prefix);
}

}  // namespace rest_fcgi::embedded
