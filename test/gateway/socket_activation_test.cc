// SPDX-License-Identifier: MIT
#include "gateway/socket_activation.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../support/passed_sockets.h"
#include "../support/temp_dir.h"

using namespace rest_fcgi;
using namespace rest_fcgi::gateway;
using rest_fcgi::test::run_with_sockets;
using rest_fcgi::test::TempDir;

namespace {

std::string take_error(const std::vector<int>& given, const std::string& count) {
  return run_with_sockets(given, count, nullptr, [] {
    const auto taken = SocketActivation::take();
    return taken ? std::string() : taken.error().message;
  });
}
std::string take_error(int fd) {
  return take_error({fd}, "1");
}

template <class Address>
UniqueFd bind_socket(int type, const Address& address, bool listens = true) {
  UniqueFd fd(::socket(reinterpret_cast<const sockaddr&>(address).sa_family, type | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  if (listens) REQUIRE(::listen(fd.get(), 1) == 0);
  return fd;
}

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address = {AF_UNIX, {}};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

sockaddr_in loopback_address(int fd = -1) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (fd >= 0) REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  return address;
}

const sockaddr& as_sockaddr(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr&>(address);
}

}  // namespace

TEST_CASE("take assigns each activation socket by its address and sets close-on-exec") {
  const TempDir dir;
  const UniqueFd fastcgi = bind_socket(SOCK_STREAM, unix_address(dir / "s"));
  const UniqueFd http = bind_socket(SOCK_STREAM, loopback_address());
  const sockaddr_in port = loopback_address(http.get());
  const auto use = [&port]() -> std::string {
    auto taken = SocketActivation::take();
    if (!taken) return taken.error().message;
    const UniqueFd unix_socket = taken->unix_socket();
    const auto on_port = taken->on_port(as_sockaddr(port));
    if (!unix_socket || !on_port || !*on_port) return "a socket is missing";
    for (const int fd : {unix_socket.get(), on_port->get()}) {
      if ((::fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0 || (::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0)
        return "flags";
    }
    const auto again = taken->on_port(as_sockaddr(port));
    if (taken->unix_socket() || !again || *again) return "a socket was returned twice";
    for (int fd = 3; fd < 8; ++fd) {
      const bool is_ours = fd == unix_socket.get() || fd == on_port->get();
      if (!is_ours && ::fcntl(fd, F_GETFD) == 0) return "a child inherits a socket";
    }
    return taken->check_rest() ? "ok" : "a socket is left";
  };
  CHECK(run_with_sockets({fastcgi.get(), http.get()}, "2", nullptr, use) == "ok");
  CHECK(run_with_sockets({http.get(), fastcgi.get()}, "2", nullptr, use) == "ok");
}

TEST_CASE("take ignores sockets if LISTEN_PID is not this process") {
  const UniqueFd http = bind_socket(SOCK_STREAM, loopback_address());
  const sockaddr_in port = loopback_address(http.get());
  const auto use = [&port]() -> std::string {
    auto taken = SocketActivation::take();
    if (!taken) return taken.error().message;
    const auto on_port = taken->on_port(as_sockaddr(port));
    return on_port && !*on_port && ::fcntl(3, F_GETFD) >= 0 ? "ignored" : "taken";
  };
  for (const char* pid : {"1", "", "0", "no number", "99999999999999999999"}) {
    CHECK(run_with_sockets({http.get()}, "1", pid, use) == "ignored");
    CHECK(run_with_sockets({http.get()}, "no number", pid, use) == "ignored");
  }
  CHECK(run_with_sockets({http.get()}, "0", nullptr, use) == "ignored");
}

TEST_CASE("take refuses a LISTEN_FDS that is not a number from 0 to 16") {
  for (const char* count : {"", "-1", "17", "2147483647", "4294967297", "99999999999999999999", "1x", " 1"}) {
    CHECK(take_error({}, count) ==
          "LISTEN_FDS: found '" + std::string(count) + "', expected a number of sockets from 0 to 16");
  }
}

TEST_CASE("take refuses descriptors that are not listening stream sockets") {
  const TempDir dir;
  const std::string message = "LISTEN_FDS: file descriptor 3 is not a listening stream socket";
  CHECK(take_error(-1) == message);
  CHECK(take_error(UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)).get()) == message);
  CHECK(take_error(bind_socket(SOCK_STREAM, loopback_address(), false).get()) == message);
  CHECK(take_error(bind_socket(SOCK_DGRAM, loopback_address(), false).get()) == message);
  CHECK(take_error(bind_socket(SOCK_DGRAM, unix_address(dir / "datagrams"), false).get()) == message);
  CHECK(take_error(bind_socket(SOCK_SEQPACKET, unix_address(dir / "packets")).get()) == message);
  const UniqueFd good = bind_socket(SOCK_STREAM, loopback_address());
  CHECK(take_error({good.get(), -1}, "2") ==
        "LISTEN_FDS: file descriptor 4 is not a listening stream socket");
}

TEST_CASE("check_rest refuses a second socket for the same port") {
  const UniqueFd http = bind_socket(SOCK_STREAM, loopback_address());
  const sockaddr_in port = loopback_address(http.get());
  const auto use = [&port]() -> std::string {
    auto taken = SocketActivation::take();
    if (!taken) return taken.error().message;
    const auto on_port = taken->on_port(as_sockaddr(port));
    const auto rest = taken->check_rest();
    return on_port && *on_port && !rest ? rest.error().message : "taken";
  };
  const std::string message = run_with_sockets({http.get(), http.get()}, "2", nullptr, use);
  CHECK(message.starts_with("LISTEN_FDS: a socket on port " + std::to_string(ntohs(port.sin_port)) +
                            " is not used"));
}
