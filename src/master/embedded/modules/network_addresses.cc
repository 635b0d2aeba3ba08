// SPDX-License-Identifier: MIT
#include <string>
#include <variant>
#include <vector>

#include "master/embedded/host/ip_address.h"
#include "master/embedded/modules/network_module.h"
#include "master/embedded/modules/replies.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded::network_module {
namespace {

/// Calls `use` with the address that the first argument is.
template <class Use>
Reply with_address(const JsonValue& value, Use use) {
  const auto address = IpAddress::parse(value.is(JsonValue::Kind::string) ? value.text() : "");
  if (address) return Returned{use(*address)};
  return Raised::value_error(format("{} does not appear to be an IPv4 or IPv6 address", value.python_repr()));
}

std::variant<IpNetwork, Raised> network_of(const std::string& text) {
  if (const auto network = IpNetwork::parse(text, false)) return *network;
  return Raised::value_error(format("'{}' does not appear to be an IPv4 or IPv6 network", text));
}

}  // namespace

Reply ip_in_subnet(const Call& call) {
  const auto network = IpNetwork::parse(call.arguments[1].text(), true);
  if (!network) return Returned{Json::boolean(false)};
  std::vector<JsonValue> asked;
  for (const JsonValue one : call.arguments[0].elements()) asked.push_back(one);
  if (!call.arguments[0].is(JsonValue::Kind::array)) asked.push_back(call.arguments[0]);
  for (const JsonValue& value : asked) {
    Reply reply =
        with_address(value, [&network](const IpAddress& a) { return Json::boolean(network->contains(a)); });
    const auto* returned = std::get_if<Returned>(&reply);
    if (returned == nullptr || returned->value == Json::boolean(true)) return reply;
  }
  return Returned{Json::boolean(false)};
}

Reply convert_cidr(const Call& call) {
  auto found = network_of(call.arguments[0].python_str());
  if (auto* raised = std::get_if<Raised>(&found)) return std::move(*raised);
  const auto& network = std::get<IpNetwork>(found);
  return written([&network](JsonWriter& writer) {
    writer.begin_object();
    writer.key("network").string(network.address.text());
    writer.key("netmask").string(network.netmask().text());
    writer.key("broadcast").string(network.broadcast().text());
    writer.end_object();
  });
}

Reply calc_net(const Call& call) {
  std::string text = call.arguments[0].python_str();
  if (!call.arguments[1].is(JsonValue::Kind::null)) text += "/" + call.arguments[1].python_str();
  auto found = network_of(text);
  if (auto* raised = std::get_if<Raised>(&found)) return std::move(*raised);
  return Returned{Json::string(std::get<IpNetwork>(found).text())};
}

Reply is_private(const Call& call) {
  return with_address(call.arguments[0], [](const IpAddress& a) { return Json::boolean(a.is_private()); });
}

Reply is_loopback(const Call& call) {
  return with_address(call.arguments[0], [](const IpAddress& a) { return Json::boolean(a.is_loopback()); });
}

Reply reverse_ip(const Call& call) {
  return with_address(call.arguments[0],
                      [](const IpAddress& a) { return Json::string(a.reverse_pointer()); });
}

Reply iphexval(const Call& call) {
  std::string rest = call.arguments[0].python_str() + ".";
  std::string digits;
  for (std::size_t dot = rest.find('.'); dot != std::string::npos; dot = rest.find('.')) {
    const std::string part = rest.substr(0, dot);
    const auto number = python_int(part);
    if (!number) return Raised::value_error(format("invalid literal for int() with base 10: '{}'", part));
    digits += format("{:02X}", *number);
    rest.erase(0, dot + 1);
  }
  return Returned{Json::string(digits)};
}

}  // namespace rest_fcgi::embedded::network_module
