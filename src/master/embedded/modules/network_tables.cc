// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "master/embedded/host/grains.h"
#include "master/embedded/host/host_text.h"
#include "master/embedded/host/routes.h"
#include "master/embedded/modules/network_module.h"
#include "master/embedded/modules/network_parts.h"
#include "master/embedded/modules/replies.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

/// One end of a connection, as /proc/net/tcp writes it: `0100007F:1F90`.
struct End {
  std::string address;
  std::int64_t port = 0;
};

std::optional<End> end_of(std::string_view word) {
  const auto entry = entry_of(word);
  if (!entry) return std::nullopt;
  End end{address_of_hex(entry->key, true), 0};
  const auto [stop, error] =
      std::from_chars(entry->value.data(), entry->value.data() + entry->value.size(), end.port, 16);
  if (end.address.empty() || error != std::errc() || stop != entry->value.data() + entry->value.size()) {
    return std::nullopt;
  }
  // An IPv4 address in the table of IPv6: behind its prefix there are two groups.
  if (end.address.starts_with("::ffff:") && std::count(end.address.begin(), end.address.end(), ':') == 4) {
    const auto bytes = address_of_hex(entry->key.substr(24), true);
    if (!bytes.empty()) end.address = bytes;
  }
  return end;
}

}  // namespace

namespace network_parts {

void write_connections(JsonWriter& writer, std::string_view tcp, std::string_view tcp6) {
  constexpr std::string_view established = "01";
  std::size_t count = 0;
  writer.begin_object();
  for (const std::string_view table : {tcp, tcp6}) {
    for (const std::string_view line : lines_of(table)) {
      const auto words = words_of(line);
      if (words.size() < 4 || words[3] != established) continue;
      const auto local = end_of(words[1]);
      const auto remote = end_of(words[2]);
      if (!local || !remote) continue;
      writer.key(std::to_string(count++)).begin_object();
      writer.key("local_addr").string(local->address).key("local_port").integer(local->port);
      writer.key("remote_addr").string(remote->address).key("remote_port").integer(remote->port);
      writer.end_object();
    }
  }
  writer.end_object();
}

void write_arp(JsonWriter& writer, std::string_view text) {
  constexpr std::string_view incomplete = "0x0";
  std::set<std::string_view> written_ones;
  writer.begin_object();
  for (const std::string_view line : lines_of(text)) {
    const auto words = words_of(line);
    if (words.size() < 6 || !IpAddress::parse(words[0]) || words[2] == incomplete) continue;
    if (written_ones.insert(words[3]).second) writer.key(words[3]).string(words[0]);
  }
  writer.end_object();
}

void write_routes(JsonWriter& writer, const std::vector<Route>& routes) {
  writer.begin_array();
  for (const Route& route : routes) {
    writer.begin_object();
    writer.key("addr_family").string(route.family);
    writer.key("destination").string(route.destination);
    writer.key("gateway").string(route.gateway);
    writer.key("netmask").string(route.netmask);
    writer.key("flags").string(route.flags);
    writer.key("interface").string(route.interface);
    writer.end_object();
  }
  writer.end_array();
}

}  // namespace network_parts

namespace network_module {
namespace {

/// The routes of the family that the caller gave, or of both.
Reply routes_of_family(const Call& call, bool only_defaults) {
  const JsonValue& family = call.arguments[0];
  const bool both = family.is(JsonValue::Kind::null);
  if (!both && family.text() != "inet" && family.text() != "inet6") {
    return command_error(format("Invalid address family {}", family.python_str()));
  }
  std::vector<Route> found = host_routes();
  std::erase_if(found, [&](const Route& route) {
    return (!both && route.family != family.text()) || (only_defaults && !route.is_default());
  });
  return written([&found](JsonWriter& writer) { network_parts::write_routes(writer, found); });
}

}  // namespace

Reply active_tcp(const Call&) {
  const std::string tcp = read_text("/proc/net/tcp").value_or("");
  const std::string tcp6 = read_text("/proc/net/tcp6").value_or("");
  return written([&](JsonWriter& writer) { network_parts::write_connections(writer, tcp, tcp6); });
}

Reply arp(const Call&) {
  const std::string text = read_text("/proc/net/arp").value_or("");
  return written([&text](JsonWriter& writer) { network_parts::write_arp(writer, text); });
}

Reply default_route(const Call& call) {
  return routes_of_family(call, true);
}

Reply routes(const Call& call) {
  return routes_of_family(call, false);
}

Reply get_hostname(const Call&) {
  return Returned{Json::string(host_name())};
}

Reply get_fqdn(const Call&) {
  return Returned{Json::string(host_names().fqdn)};
}

}  // namespace network_module
}  // namespace rest_fcgi::embedded
