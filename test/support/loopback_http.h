// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace rest_fcgi::test {

struct HttpAnswer {
  int status = 0;  ///< 0: there was none
  std::string body;
};

struct HttpRequest {
  std::string method;
  std::string path;
  std::string headers{};  ///< whole lines, each with CRLF
  std::string body{};
};

/// One request to 127.0.0.1, on a connection of its own; comes back after 10 s at the latest.
HttpAnswer loopback_http(std::uint16_t port, const HttpRequest& request);

/// A port where nobody listens now, on 127.0.0.1. Below those that the kernel gives to connections, so that
/// it is still free when a server that was stopped comes back.
std::uint16_t unused_port();

}  // namespace rest_fcgi::test
