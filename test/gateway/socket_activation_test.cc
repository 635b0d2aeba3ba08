// SPDX-License-Identifier: MIT
#include "gateway/socket_activation.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <linux/vm_sockets.h>

#include "../support/fork_alone.h"
#include "../support/temp_dir.h"

using namespace rest_fcgi;
using namespace rest_fcgi::gateway;
using rest_fcgi::test::TempDir;

namespace {

constexpr int kAway = 200;  // above all that a service manager would use

/// What `body` says in a process that a service manager starts with `given` as descriptors from 3 on, of
/// which -1 is closed. `count` and `pid` are LISTEN_FDS and LISTEN_PID; without `pid` it is that process.
std::string in_service(const std::vector<int>& given, const std::string& count, const char* pid,
                       const std::function<std::string()>& body) {
  std::array<int, 2> ends = {};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  // What is still in the buffers would come out of both processes.
  std::cout << std::flush;
  std::fflush(nullptr);
  const pid_t child = rest_fcgi::test::fork_alone();
  REQUIRE(child >= 0);
  if (child == 0) {
    const int said = ::fcntl(out.get(), F_DUPFD, kAway);
    std::vector<int> away;
    for (const int fd : given) away.push_back(::fcntl(fd, F_DUPFD, kAway));
    ::close_range(3, kAway - 1, 0);
    for (std::size_t at = 0; at < away.size(); ++at) ::dup2(away[at], 3 + static_cast<int>(at));
    ::setenv("LISTEN_FDS", count.c_str(), 1);
    ::setenv("LISTEN_PID", pid != nullptr ? pid : std::to_string(::getpid()).c_str(), 1);
    const std::string text = body();
    ::_exit(::write(said, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  out.reset();
  std::string text(4096, '\0');
  const ssize_t size = ::read(in.get(), text.data(), text.size());
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return text;
}

/// What is wrong with what was handed over; empty where nothing is.
std::string refusal(const std::vector<int>& given, const std::string& count) {
  return in_service(given, count, nullptr, [] {
    const auto taken = SocketActivation::take();
    return taken ? std::string() : taken.error().message;
  });
}
std::string refusal(int fd) {
  return refusal({fd}, "1");
}

template <class Address>
UniqueFd bound(int type, const Address& address, bool listens = true) {
  UniqueFd fd(::socket(reinterpret_cast<const sockaddr&>(address).sa_family, type | SOCK_CLOEXEC, 0));
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  if (listens) REQUIRE(::listen(fd.get(), 1) == 0);
  return fd;
}

sockaddr_un at_path(const std::string& path) {
  sockaddr_un address = {AF_UNIX, {}};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

/// On 127.0.0.1, and a port that is free.
sockaddr_in on_loopback(int fd = -1) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (fd >= 0) REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  return address;
}

const sockaddr& plain(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr&>(address);
}

}  // namespace

TEST_CASE("sockets that were handed over are told by their addresses, and no child inherits them") {
  const TempDir dir;
  const UniqueFd fastcgi = bound(SOCK_STREAM, at_path(dir / "s"));
  const UniqueFd http = bound(SOCK_STREAM, on_loopback());
  const sockaddr_in port = on_loopback(http.get());
  const auto use = [&port]() -> std::string {
    auto taken = SocketActivation::take();
    if (!taken) return taken.error().message;
    const UniqueFd unix_socket = taken->unix_socket();
    const auto on_port = taken->on_port(plain(port));
    if (!unix_socket || !on_port || !*on_port) return "one is not there";
    for (const int fd : {unix_socket.get(), on_port->get()}) {
      if ((::fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0 || (::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0)
        return "flags";
    }
    const auto again = taken->on_port(plain(port));
    if (taken->unix_socket() || !again || *again) return "one is there twice";
    for (int fd = 3; fd < 8; ++fd) {
      const bool is_ours = fd == unix_socket.get() || fd == on_port->get();
      if (!is_ours && ::fcntl(fd, F_GETFD) == 0) return "a child inherits one";
    }
    return taken->check_rest() ? "all went well" : "something is left";
  };
  CHECK(in_service({fastcgi.get(), http.get()}, "2", nullptr, use) == "all went well");
  CHECK(in_service({http.get(), fastcgi.get()}, "2", nullptr, use) == "all went well");
}

TEST_CASE("of two sockets on one port each goes to who asks for its address, in whichever order they come") {
  const UniqueFd first = bound(SOCK_STREAM, on_loopback());
  const sockaddr_in one = on_loopback(first.get());
  sockaddr_in other = one;
  other.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
  const UniqueFd second = bound(SOCK_STREAM, other);
  REQUIRE(second);
  const auto use = [&]() -> std::string {
    auto taken = SocketActivation::take();
    if (!taken) return taken.error().message;
    for (const sockaddr_in& address : {one, other}) {
      const auto fd = taken->on_port(plain(address));
      if (!fd) return fd.error().message;
      if (!*fd || on_loopback(fd->get()).sin_addr.s_addr != address.sin_addr.s_addr) return "another one";
    }
    return taken->check_rest() ? "all went well" : "something is left";
  };
  CHECK(in_service({first.get(), second.get()}, "2", nullptr, use) == "all went well");
  CHECK(in_service({second.get(), first.get()}, "2", nullptr, use) == "all went well");
}

TEST_CASE("what was handed over to another process is left alone") {
  const UniqueFd http = bound(SOCK_STREAM, on_loopback());
  const sockaddr_in port = on_loopback(http.get());
  const auto use = [&port]() -> std::string {
    auto taken = SocketActivation::take();
    if (!taken) return taken.error().message;
    const auto on_port = taken->on_port(plain(port));
    return on_port && !*on_port && ::fcntl(3, F_GETFD) >= 0 ? "left alone" : "taken";
  };
  for (const char* pid : {"1", "", "0", "no number", "99999999999999999999"}) {
    CHECK(in_service({http.get()}, "1", pid, use) == "left alone");
    CHECK(in_service({http.get()}, "no number", pid, use) == "left alone");
  }
  CHECK(in_service({http.get()}, "0", nullptr, use) == "left alone");
}

TEST_CASE("LISTEN_FDS that is no number of sockets is a mistake") {
  for (const char* count : {"", "-1", "17", "2147483647", "4294967297", "99999999999999999999", "1x", " 1"}) {
    CHECK(refusal({}, count) ==
          "LISTEN_FDS: found '" + std::string(count) + "', expected a number of sockets from 0 to 16");
  }
}

TEST_CASE("what is handed over and nobody can connect to is a mistake") {
  const TempDir dir;
  const std::string message = "LISTEN_FDS: file descriptor 3 is not a listening stream socket";
  CHECK(refusal(-1) == message);
  CHECK(refusal(UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)).get()) == message);
  CHECK(refusal(bound(SOCK_STREAM, on_loopback(), false).get()) == message);
  CHECK(refusal(bound(SOCK_DGRAM, on_loopback(), false).get()) == message);
  CHECK(refusal(bound(SOCK_DGRAM, at_path(dir / "datagrams"), false).get()) == message);
  CHECK(refusal(bound(SOCK_SEQPACKET, at_path(dir / "packets")).get()) == message);
  const UniqueFd good = bound(SOCK_STREAM, on_loopback());
  CHECK(refusal({good.get(), -1}, "2") == "LISTEN_FDS: file descriptor 4 is not a listening stream socket");
}

TEST_CASE("a socket of virtual machines is not taken for that of the web server") {
  sockaddr_vm address = {};
  address.svm_family = AF_VSOCK;
  address.svm_cid = VMADDR_CID_ANY;
  address.svm_port = VMADDR_PORT_ANY;
  const UniqueFd fd = bound(SOCK_STREAM, address);
  if (!fd) {
    MESSAGE("skipped: there is no AF_VSOCK here");
    return;
  }
  CHECK(refusal(fd.get()) == "LISTEN_FDS: file descriptor 3 is neither a unix socket nor on a port of TCP");
}

TEST_CASE("a port that was handed over twice is a mistake") {
  const UniqueFd http = bound(SOCK_STREAM, on_loopback());
  const sockaddr_in port = on_loopback(http.get());
  const auto use = [&port]() -> std::string {
    auto taken = SocketActivation::take();
    if (!taken) return taken.error().message;
    const auto on_port = taken->on_port(plain(port));
    const auto rest = taken->check_rest();
    return on_port && *on_port && !rest ? rest.error().message : "taken";
  };
  const std::string message = in_service({http.get(), http.get()}, "2", nullptr, use);
  CHECK(message.starts_with("LISTEN_FDS: a socket on port " + std::to_string(ntohs(port.sin_port)) +
                            " is not used"));
}
