// SPDX-License-Identifier: MIT
#include "master/embedded/host/routes.h"

#include <array>
#include <bit>
#include <charconv>
#include <optional>

#include "master/embedded/host/host_text.h"
#include "master/embedded/host/ip_address.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

std::optional<std::uint32_t> number_of_hex(std::string_view digits) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

struct Flag {
  std::uint32_t bit;
  char letter;
};

/// The letters that netstat shows, in its order (its manual page has the same list).
constexpr std::array<Flag, 6> kFlags4 = {
    {{0x2, 'G'}, {0x4, 'H'}, {0x8, 'R'}, {0x10, 'D'}, {0x20, 'M'}, {0x200, '!'}}};
constexpr std::array<Flag, 6> kFlags6 = {
    {{0x2, 'G'}, {0x4, 'H'}, {0x10000, 'D'}, {0x40000, 'A'}, {0x200000, 'n'}, {0x400000, 'e'}}};
constexpr std::uint32_t kUp = 0x1;
constexpr std::uint32_t kReject = 0x200;

template <std::size_t N>
std::string letters(std::uint32_t flags, const std::array<Flag, N>& known) {
  std::string text;
  for (const Flag& flag : known) {
    if ((flags & flag.bit) != 0) text += flag.letter;
  }
  return text;
}

/// `Iface Destination Gateway Flags RefCnt Use Metric Mask ...`
std::optional<Route> route4(const std::vector<std::string_view>& words) {
  if (words.size() < 8) return std::nullopt;
  const auto flags = number_of_hex(words[3]);
  Route route{
      "inet", address_of_hex(words[1], true), address_of_hex(words[2], true), address_of_hex(words[7], true),
      "",     std::string(words[0])};
  if (!flags || route.destination.empty() || route.gateway.empty() || route.netmask.empty())
    return std::nullopt;
  route.flags = ((*flags & kUp) != 0 ? "U" : "") + letters(*flags, kFlags4);
  return route;
}

/// `destination prefix source prefix gateway metric refcnt use flags device`
std::optional<Route> route6(const std::vector<std::string_view>& words) {
  if (words.size() < 10) return std::nullopt;
  const auto flags = number_of_hex(words[8]);
  const auto prefix = number_of_hex(words[1]);
  const std::string destination = address_of_hex(words[0], false);
  Route route{"inet6", "", address_of_hex(words[4], false), "", "", std::string(words[9])};
  if (!flags || !prefix || destination.empty() || route.gateway.empty()) return std::nullopt;
  route.destination = format("{}/{}", destination, *prefix);
  route.flags = ((*flags & kReject) != 0 ? "!" : "U") + letters(*flags, kFlags6);
  return route;
}

}  // namespace

std::string address_of_hex(std::string_view digits, bool parts_in_host_order) {
  if (digits.size() != 8 && digits.size() != 32) return {};
  std::string bytes;
  for (std::size_t part = 0; part < digits.size(); part += 8) {
    const auto number = number_of_hex(digits.substr(part, 8));
    if (!number) return {};
    const bool swap = parts_in_host_order && std::endian::native == std::endian::little;
    for (unsigned i = 0; i < 4; ++i) {
      bytes += static_cast<char>(*number >> (swap ? 8 * i : 24 - 8 * i) & 0xFFU);
    }
  }
  return IpAddress::of_bytes(bytes)->text();
}

std::vector<Route> parse_routes(std::string_view ipv4, std::string_view ipv6) {
  std::vector<Route> routes;
  for (const std::string_view line : lines_of(ipv4)) {  // the heading has no addresses
    if (auto route = route4(words_of(line))) routes.push_back(*std::move(route));
  }
  for (const std::string_view line : lines_of(ipv6)) {
    if (auto route = route6(words_of(line))) routes.push_back(*std::move(route));
  }
  return routes;
}

std::vector<Route> host_routes() {
  return parse_routes(read_text("/proc/net/route").value_or(""),
                      read_text("/proc/net/ipv6_route").value_or(""));
}

}  // namespace rest_fcgi::embedded
