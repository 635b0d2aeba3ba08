// SPDX-License-Identifier: MIT
#include "gateway/listening_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../support/fcgi_client.h"
#include "../support/loopback_http.h"
#include "../support/passed_sockets.h"
#include "../support/temp_dir.h"
#include "gateway/socket_activation.h"
#include "rest_fcgi/gateway/gateway.h"

using namespace rest_fcgi;
using namespace rest_fcgi::gateway;
using rest_fcgi::test::FcgiClient;
using rest_fcgi::test::run_with_sockets;
using rest_fcgi::test::TempDir;
using rest_fcgi::test::unused_port;

namespace {

Options listening_on(const std::string& where) {
  Options options;
  options.listen = where;
  return options;
}

struct Listener {
  explicit Listener(ListeningSocket its_socket) : socket(std::move(its_socket)) {}
  ListeningSocket socket;
  [[nodiscard]] int fd() const { return socket.fd.get(); }
  [[nodiscard]] UniqueFd accept() const { return UniqueFd(::accept4(fd(), nullptr, nullptr, SOCK_CLOEXEC)); }
};

Result<ListeningSocket> open_socket(const Options& options) {
  SocketActivation none;
  return open_fastcgi_socket(options, none);
}

std::unique_ptr<Listener> open_listener(const Options& options) {
  auto socket = open_socket(options);
  REQUIRE_MESSAGE(socket, socket.error().message);
  return std::make_unique<Listener>(*std::move(socket));
}

std::string refusal_of_start(const Options& options) {
  const auto listener = open_socket(options);
  REQUIRE(!listener);
  CHECK(listener.error().kind == ErrorKind::configuration);
  return listener.error().message;
}

/// Also checks that `check_start` finds the mistake.
std::string refusal(const Options& options) {
  const auto checked = check_start(options);
  REQUIRE(!checked);
  CHECK(checked.error().kind == ErrorKind::configuration);
  return refusal_of_start(options);
}
std::string refusal(const std::string& where) {
  return refusal(listening_on(where));
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

mode_t mode(const std::string& path) {
  struct stat status {};
  ::lstat(path.c_str(), &status);
  return status.st_mode & 07777;
}

int port_of(const Listener& listener) {
  sockaddr_in6 address = {};
  socklen_t size = sizeof address;
  ::getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin6_port);  // sockaddr_in and sockaddr_in6 have the port at the same place.
}

std::unique_ptr<Listener> on_free_port(const std::string& host, bool allow_remote = false) {
  Options options = listening_on("tcp:" + host + ":" + std::to_string(unused_port()));
  options.allow_remote = allow_remote;
  return open_listener(options);
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

}  // namespace

TEST_CASE("listen is unix:, tcp: or fd:0, or a listening socket on descriptor 0") {
  for (const char* where :
       {"udp:127.0.0.1:9000", "/run/salt.sock", "127.0.0.1:9000", "fd:1", "fd:", "Unix:/x"}) {
    const std::string message = refusal(where);
    CHECK(contains(message, "'" + std::string(where) + "'"));
    CHECK(contains(message, "unix:PATH, tcp:HOST:PORT, and fd:0"));
  }
  const std::string message = refusal("");
  CHECK(contains(message, "a listening socket on file descriptor 0"));
  CHECK(contains(message, "unix:PATH, tcp:HOST:PORT"));
  CHECK(check_start(listening_on("fd:0")));  // Only the start knows what descriptor 0 is.
  CHECK(refusal_of_start(listening_on("fd:0")) ==
        "cannot listen on fd:0: file descriptor 0 is not a listening stream socket");
}

TEST_CASE("a unix socket gets socket_mode under every umask") {
  const TempDir dir;
  Options options = listening_on("unix:" + (dir / "s"));
  options.socket_mode = 0666;
  const mode_t old_mask = ::umask(077);
  const auto listener = open_listener(options);
  CHECK(::umask(old_mask) == 077);
  CHECK(mode(dir / "s") == 0666);
  CHECK(FcgiClient::unix_socket(dir / "s").connected());
  CHECK(listener->accept());
}

TEST_CASE("a unix socket's path must have 1 to 107 bytes") {
  CHECK(contains(refusal("unix:"), "found no path"));
  const TempDir dir;
  const std::string base = dir / "";
  const std::string longest = base + std::string(107 - base.size(), 's');
  open_listener(listening_on("unix:" + longest));
  const std::string message = refusal("unix:" + longest + "s");
  CHECK(contains(message, "the path has 108 bytes, expected at most 107"));
}

TEST_CASE("a left-over unix socket is replaced, but not one on which another process listens") {
  const TempDir dir;
  bind_socket(SOCK_STREAM, unix_address(dir / "s"), false)
      .reset();  // A killed process leaves the file of its socket.
  const auto first = open_listener(listening_on("unix:" + (dir / "s")));
  // Only the start knows that another process serves the socket.
  CHECK(check_start(listening_on("unix:" + (dir / "s"))));
  CHECK(contains(refusal_of_start(listening_on("unix:" + (dir / "s"))),
                 "another process is serving this socket"));
  CHECK(FcgiClient::unix_socket(dir / "s").connected());
}

TEST_CASE("a file that is not a left-over stream socket is kept") {
  const TempDir dir;
  dir.write("file", "content");
  CHECK(contains(refusal("unix:" + (dir / "file")), "the path exists and is not a socket"));
  CHECK(dir.read("file") == "content");
  CHECK(contains(refusal("unix:" + dir.path().string()), "the path exists and is not a socket"));
  REQUIRE(::symlink("nowhere", (dir / "link").c_str()) == 0);
  CHECK(contains(refusal("unix:" + (dir / "link")), "the path exists and is not a socket"));
  const UniqueFd datagrams = bind_socket(SOCK_DGRAM, unix_address(dir / "datagrams"), false);
  CHECK(contains(refusal_of_start(listening_on("unix:" + (dir / "datagrams"))),
                 "cannot tell whether a process is serving this socket"));
  CHECK(exists(dir / "datagrams"));
}

TEST_CASE("a unix socket gets its owner and group, or is removed if they are unknown or cannot be set") {
  const TempDir dir;
  Options options = listening_on("unix:" + (dir / "s"));
  options.socket_owner = "nobody.here";
  CHECK(contains(refusal(options), "socket_owner: there is no user 'nobody.here'"));
  options.socket_owner = "daemon";
  options.socket_group = "no.group";
  CHECK(contains(refusal(options), "socket_group: there is no group 'no.group'"));
  CHECK(!exists(dir / "s"));
  options.socket_group = "daemon";
  if (::geteuid() == 0) {
    const auto listener = open_listener(options);
    struct stat status {};
    REQUIRE(::stat((dir / "s").c_str(), &status) == 0);
    CHECK(status.st_uid == 1);
    CHECK(status.st_gid == 1);
  } else {
    CHECK(contains(refusal(options), "cannot set the socket's owner or group: Operation not permitted"));
    CHECK(!exists(dir / "s"));
  }
}

TEST_CASE("a unix socket is removed at the end, unless another process replaced it") {
  const TempDir dir;
  open_listener(listening_on("unix:" + (dir / "s")));
  CHECK(!exists(dir / "s"));

  auto first = open_listener(listening_on("unix:" + (dir / "s")));
  REQUIRE(::rename((dir / "s").c_str(), (dir / "old").c_str()) == 0);
  const auto second = open_listener(listening_on("unix:" + (dir / "s")));
  first.reset();
  CHECK(FcgiClient::unix_socket(dir / "s").connected());
}

TEST_CASE("a loopback address may be IPv4, IPv6 in brackets or localhost") {
  for (const auto& [host, address] : {std::pair("127.0.0.1", "127.0.0.1"),
                                      {"localhost", "127.0.0.1"},
                                      {"127.1.2.3", "127.1.2.3"},
                                      {"[::1]", "::1"}}) {
    const auto listener = on_free_port(host);
    CHECK(FcgiClient::tcp(port_of(*listener), address).connected());
  }
}

TEST_CASE("an address other than loopback requires allow_remote") {
  for (const char* where :
       {"tcp:0.0.0.0:9000", "tcp:[::]:9000", "tcp:192.0.2.1:9000", "tcp:[::ffff:127.0.0.1]:9000"}) {
    const std::string message = refusal(where);
    CHECK(contains(message, where));
    CHECK(contains(message, "allow_remote: true"));
  }
  const auto listener = on_free_port("0.0.0.0", true);
  CHECK(FcgiClient::tcp(port_of(*listener)).connected());
}

TEST_CASE("a malformed TCP address is an error with an example") {
  for (const char* port : {"", "0", "65536", "-1", "80x", "http", " 80"}) {
    const std::string message = refusal("tcp:127.0.0.1:" + std::string(port));
    CHECK(contains(message, "found '127.0.0.1:" + std::string(port) + "'"));
    CHECK(contains(message, "a port from 1 to 65535"));
    CHECK(contains(message, "tcp:[::1]:9000"));
  }
  for (const char* where : {"", "127.0.0.1", "::1:9000", ":9000", "salt.example:9000", "127.0.0:9000",
                            "[localhost]:9000", "[::1:9000", "256.0.0.1:9000"}) {
    const std::string message = refusal("tcp:" + std::string(where));
    CHECK(contains(message, "found '" + std::string(where) + "'"));
    CHECK(contains(message, "such as tcp:127.0.0.1:9000"));
  }
}

TEST_CASE("a port can be opened again at once after a connection on it was closed") {
  auto listener = on_free_port("127.0.0.1");
  const int port = port_of(*listener);
  const FcgiClient client = FcgiClient::tcp(port);
  listener->accept().reset();  // The server closes the connection first, so its port is in TIME_WAIT.
  listener.reset();
  open_listener(listening_on("tcp:127.0.0.1:" + std::to_string(port)));
}

TEST_CASE("take_inherited_socket moves the socket to a new descriptor and opens /dev/null in its place") {
  const TempDir dir;
  const auto other = open_listener(listening_on("unix:" + (dir / "s")));
  const int number = ::dup(other->fd());
  REQUIRE(::fcntl(number, F_SETFL, 0) == 0);
  const auto taken = take_inherited_socket(number);
  const UniqueFd closes(number);
  REQUIRE(taken);
  CHECK(taken->get() > 2);
  CHECK((::fcntl(taken->get(), F_GETFL) & O_NONBLOCK) != 0);
  CHECK((::fcntl(taken->get(), F_GETFD) & FD_CLOEXEC) != 0);
  char byte = 0;
  CHECK(::read(number, &byte, 1) == 0);
}

TEST_CASE("a unix socket named PID.NUMBER is mod_fcgid's and carries no streams") {
  const TempDir dir;
  const auto can_stream = [&](const std::string& name) {
    const auto made = open_listener(listening_on("unix:" + (dir / name)));
    const UniqueFd stdin_of_tests(::dup(0));
    REQUIRE(::dup2(made->fd(), 0) == 0);
    const auto inherited = open_socket(listening_on("fd:0"));
    REQUIRE(::dup2(stdin_of_tests.get(), 0) == 0);
    REQUIRE(inherited);
    CHECK(inherited->is_shared);
    return inherited->carries_streams;
  };
  CHECK_FALSE(can_stream("5173.0"));
  for (const char* name : {"fcgi.sock", "5173", "5173.", ".1", "5173.0.1"}) CHECK(can_stream(name));
}

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
