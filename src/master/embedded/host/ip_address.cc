// SPDX-License-Identifier: MIT
#include "master/embedded/host/ip_address.h"

#include <arpa/inet.h>

#include <algorithm>

#include "rest_fcgi/core/text.h"

namespace rest_fcgi::embedded {
namespace {

std::optional<unsigned> parse_prefix(std::string_view text, const IpAddress& address) {
  if (const auto bits = parse_number<unsigned>(text)) return *bits <= address.bits() ? bits : std::nullopt;
  const auto mask = IpAddress::parse(text);
  if (!mask || mask->version() != 4 || address.version() != 4) return std::nullopt;
  return mask->prefix_of_mask();
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

std::string IpAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(version_ == 4 ? AF_INET : AF_INET6, bytes_.data(), text.data(), text.size());
  return text.data();
}

IpAddress IpAddress::masked(unsigned prefix) const {
  IpAddress masked = *this;
  for (unsigned bit = prefix; bit < bits(); ++bit) {
    std::uint8_t& byte = masked.bytes_[bit / 8];
    byte = static_cast<std::uint8_t>(byte & ~(0x80U >> (bit % 8)));
  }
  return masked;
}

std::optional<unsigned> IpAddress::prefix_of_mask() const {
  IpAddress ones;
  ones.version_ = version_;
  std::fill_n(ones.bytes_.begin(), bits() / 8, std::uint8_t{0xFF});
  for (unsigned prefix = 0; prefix <= bits(); ++prefix) {
    if (*this == ones.masked(prefix)) return prefix;
  }
  return std::nullopt;
}

std::optional<IpNetwork> IpNetwork::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = IpAddress::parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  const auto prefix =
      slash == std::string_view::npos ? address->bits() : parse_prefix(text.substr(slash + 1), *address);
  if (!prefix || address->masked(*prefix) != *address) return std::nullopt;
  return IpNetwork{*address, *prefix};
}

}  // namespace rest_fcgi::embedded
