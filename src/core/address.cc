// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/address.h"

#include <arpa/inet.h>

#include <algorithm>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

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
  if (::inet_pton(AF_INET6, terminated.c_str(), address.bytes_.data()) == 1) return address;
  address.version_ = 4;
  std::copy(kMapped.begin(), kMapped.end(), address.bytes_.begin());
  if (::inet_pton(AF_INET, terminated.c_str(), &address.bytes_[kMapped.size()]) == 1) return address;
  return std::nullopt;
}

std::optional<IpAddress> IpAddress::of_bytes(std::string_view bytes) {
  if (bytes.size() != 4 && bytes.size() != 16) return std::nullopt;
  IpAddress address;
  address.version_ = bytes.size() == 4 ? 4 : 6;
  std::copy(kMapped.begin(), kMapped.end(), address.bytes_.begin());
  std::transform(bytes.rbegin(), bytes.rend(), address.bytes_.rbegin(),
                 [](char c) { return static_cast<std::uint8_t>(c); });
  return address;
}

std::string IpAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_ipv4 = version_ == 4;
  ::inet_ntop(is_ipv4 ? AF_INET : AF_INET6, &bytes_[is_ipv4 ? kMapped.size() : 0], text.data(), text.size());
  return text.data();
}

IpAddress IpAddress::mapped() const {
  IpAddress mapped = *this;
  mapped.version_ = 6;
  return mapped;
}

IpAddress IpAddress::unmapped() const {
  IpAddress unmapped = *this;
  if (std::equal(kMapped.begin(), kMapped.end(), bytes_.begin())) unmapped.version_ = 4;
  return unmapped;
}

IpAddress IpAddress::masked(unsigned prefix) const {
  IpAddress masked = *this;
  for (unsigned bit = 128 - bits() + prefix; bit < 128; ++bit) {
    std::uint8_t& byte = masked.bytes_[bit / 8];
    byte = static_cast<std::uint8_t>(byte & ~(0x80U >> (bit % 8)));
  }
  return masked;
}

std::optional<unsigned> IpAddress::prefix_of_mask() const {
  IpAddress ones = *this;
  std::fill(ones.bytes_.end() - bits() / 8, ones.bytes_.end(), std::uint8_t{0xFF});
  for (unsigned prefix = 0; prefix <= bits(); ++prefix) {
    if (*this == ones.masked(prefix)) return prefix;
  }
  return std::nullopt;
}

std::optional<IpNetwork> IpNetwork::parse(std::string_view text) {
  const auto network = around(text);
  return network && IpAddress::parse(text.substr(0, text.find('/'))) == network->address ? network
                                                                                         : std::nullopt;
}

std::optional<IpNetwork> IpNetwork::around(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = IpAddress::parse(without_brackets(text.substr(0, slash)));
  if (!address) return std::nullopt;
  const auto prefix =
      slash == std::string_view::npos ? address->bits() : parse_prefix(text.substr(slash + 1), *address);
  return prefix ? std::optional(IpNetwork{address->masked(*prefix), *prefix}) : std::nullopt;
}

std::string_view without_brackets(std::string_view host) noexcept {
  const bool is_ipv6 = host.starts_with('[') && host.ends_with(']') && host.find(':') != std::string::npos;
  return is_ipv6 ? host.substr(1, host.size() - 2) : host;
}

bool is_host(std::string_view host) {
  constexpr std::string_view kLetters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-_";
  if (host.find(':') != std::string_view::npos)
    return IpAddress::parse(host.substr(0, host.find('%'))).has_value();
  // The resolver reads a name as an IPv4 address if the part after the last dot is a number. Without a dot,
  // `rfind(...) + 1` is 0, so the whole host is checked.
  const bool is_number = only_digits(host.substr(host.rfind('.') + 1));
  return is_number ? IpAddress::parse(host).has_value() : only_of(host, kLetters);
}

std::optional<HostPort> parse_host_port(std::string_view text) {
  const std::size_t colon = std::min(text.rfind(':'), text.size());
  const std::string_view host = without_brackets(text.substr(0, colon));
  const auto port = parse_port(text.substr(std::min(colon + 1, text.size())));
  const bool has_brackets = host.size() < colon;
  const bool is_ipv6 = host.find(':') != std::string_view::npos;
  if (!port || has_brackets != is_ipv6 || !is_host(host)) return std::nullopt;
  return HostPort{host, *port};
}

std::string host_port_text(std::string_view host, std::size_t port) {
  const bool is_ipv6 = host.find(':') != std::string_view::npos;
  return is_ipv6 ? format("[{}]:{}", host, port) : format("{}:{}", host, port);
}

}  // namespace rest_fcgi
