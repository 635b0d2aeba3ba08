// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace rest_fcgi::test {

struct HttpAnswer {
  int status = 0;  ///< HTTP status, or 0 without an answer
  std::string body;
};

struct HttpRequest {
  std::string method;
  std::string path;
  std::string headers{};  ///< header lines, each with a final CRLF
  std::string body{};
};

/// Sends one request to 127.0.0.1 on a new connection. Returns after at most 10 s.
HttpAnswer loopback_http(std::uint16_t port, const HttpRequest& request);

/// Returns a port on 127.0.0.1 that stays free while a server restarts. The kernel does not choose this port
/// for other connections.
std::uint16_t unused_port();

}  // namespace rest_fcgi::test
