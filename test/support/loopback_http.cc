// SPDX-License-Identifier: MIT
#include "loopback_http.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cstdlib>
#include <random>
#include <stdexcept>

#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::test {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

UniqueFd tcp_socket() {
  return UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

std::string read_all(int fd) {
  std::string all;
  std::array<char, 16384> buffer{};
  for (ssize_t size = 0; (size = ::recv(fd, buffer.data(), buffer.size(), 0)) > 0;) {
    all.append(buffer.data(), static_cast<std::size_t>(size));
  }
  return all;
}

}  // namespace

HttpAnswer loopback_http(std::uint16_t port, const HttpRequest& request) {
  const UniqueFd connection = tcp_socket();
  const timeval patience{10, 0};
  ::setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const sockaddr_in address = loopback(port);
  if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return {};
  const std::string text =
      request.method + " " + request.path +
      " HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: " + std::to_string(request.body.size()) + "\r\n" +
      request.headers + "\r\n" + request.body;
  if (::send(connection.get(), text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
    return {};
  const std::string answer = read_all(connection.get());
  const std::size_t head = answer.find("\r\n\r\n");
  if (head == answer.npos || answer.size() < 12) return {};
  return {std::atoi(answer.substr(9, 3).c_str()), answer.substr(head + 4)};
}

std::uint16_t unused_port() {
  std::random_device random;
  std::uniform_int_distribution<std::uint16_t> any(20000, 31999);
  for (int tries = 0; tries < 100; ++tries) {
    const sockaddr_in address = loopback(any(random));
    const UniqueFd probe = tcp_socket();
    if (::bind(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      return ntohs(address.sin_port);
    }
  }
  throw std::runtime_error("no port on 127.0.0.1 is free");
}

}  // namespace rest_fcgi::test
