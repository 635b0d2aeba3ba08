// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace rest_fcgi::test {

struct HttpAnswer {
  int status = 0;  ///< HTTP status; 0 if there was no answer
  std::string body;
};

struct HttpRequest {
  std::string method;
  std::string path;
  std::string headers{};  ///< header lines, each with CRLF at its end
  std::string body{};
};

/// Sends one request to 127.0.0.1 on a new connection. Returns after 10 s at most.
HttpAnswer loopback_http(std::uint16_t port, const HttpRequest& request);

/// Returns a free port on 127.0.0.1. The kernel does not choose this port for other connections, so the port
/// stays free while a server restarts.
std::uint16_t unused_port();

}  // namespace rest_fcgi::test
