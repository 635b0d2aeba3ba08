// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace rest_fcgi::test {

struct HttpAnswer {
  int status = 0;  ///< 0 without an answer
  std::string body;
};

struct HttpRequest {
  std::string method;
  std::string path;
  std::string headers{};  ///< whole lines with CRLF
  std::string body{};
};

/// Sends one request to 127.0.0.1 over its own connection. Returns within 10 s.
HttpAnswer loopback_http(std::uint16_t port, const HttpRequest& request);

/// Returns a free port on 127.0.0.1. It lies below the kernel's range for connections, so that it stays free
/// while a server restarts.
std::uint16_t unused_port();

}  // namespace rest_fcgi::test
