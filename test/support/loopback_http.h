// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace rest_fcgi::test {

struct HttpAnswer {
  int status = 0;  ///< `status` is the HTTP status, or 0 if no answer arrived.
  std::string body;
};

struct HttpRequest {
  std::string method;
  std::string path;
  std::string headers{};  ///< `headers` has the header lines. Each line ends with CRLF.
  std::string body{};
};

/// Sends one request to 127.0.0.1 on a new connection. Returns after at most 10 s.
HttpAnswer loopback_http(std::uint16_t port, const HttpRequest& request);

/// Returns a free port on 127.0.0.1. The port stays free while a server restarts, because the kernel does not
/// choose it for other connections.
std::uint16_t unused_port();

}  // namespace rest_fcgi::test
