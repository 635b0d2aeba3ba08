// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace rest_fcgi::test {

struct HttpAnswer {
  int status = 0;
  std::string body;
};

struct HttpRequest {
  std::string method;
  std::string path;
  std::string headers{};  ///< The header lines, each with CRLF.
  std::string body{};
};

/// Sends one request to 127.0.0.1 on a new connection. Returns after at most 10 s.
HttpAnswer loopback_http(std::uint16_t port, const HttpRequest& request);

/// Returns a free port that the kernel does not choose for other connections while a server restarts.
std::uint16_t unused_port();

}  // namespace rest_fcgi::test
