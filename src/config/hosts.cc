// SPDX-License-Identifier: MIT
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>

#include <string>
#include <string_view>

#include "config/reader.h"
#include "config/sections.h"
#include "rest_fcgi/config/config.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::config {
namespace {

/// Errors: configuration, where the name has no address for certain. A name server that does not answer says
/// nothing about a name.
Result<void> check_host(std::string_view key, const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error == 0) ::freeaddrinfo(found);
  if (error != EAI_NONAME && error != EAI_NODATA) return {};
  const bool is_network_interface = ::if_nametoindex(host.c_str()) != 0;
  return Error{
      ErrorKind::configuration,
      format("{}: found {}, {}, expected {}", key, in_quotes(host),
             is_network_interface ? "which is a network interface of this host" : "a name without an address",
             kHostExpected)};
}

}  // namespace

Result<void> check_hosts(const Settings& settings) {
  for (const gateway::HttpOptions& port : settings.gateway.http) {
    const bool is_tornado = port.name == netapi::name_of(netapi::Module::rest_tornado);
    const std::string key = format("{}: {}", port.name, is_tornado ? "address" : "host");
    if (auto checked = check_host(key, port.host); !checked) return checked;
  }
  return settings.engine == Engine::salt ? check_host("interface", settings.salt.interface) : Result<void>();
}

}  // namespace rest_fcgi::config
