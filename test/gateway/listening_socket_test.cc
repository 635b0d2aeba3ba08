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

#include <doctest/doctest.h>

#include "../support/fcgi_client.h"
#include "../support/loopback_http.h"
#include "../support/temp_dir.h"

using namespace rest_fcgi;
using namespace rest_fcgi::gateway;
using rest_fcgi::test::FcgiClient;
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

std::string refusal(const Options& options) {
  const auto listener = open_socket(options);
  REQUIRE(!listener);
  CHECK(listener.error().kind == ErrorKind::configuration);
  return listener.error().message;
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
  return ntohs(address.sin6_port);  // sockaddr_in and sockaddr_in6 have the port at the same place
}

std::unique_ptr<Listener> on_free_port(const std::string& host, bool allow_remote = false) {
  Options options = listening_on("tcp:" + host + ":" + std::to_string(unused_port()));
  options.allow_remote = allow_remote;
  return open_listener(options);
}

UniqueFd bound_socket(const std::string& path, int type = SOCK_STREAM) {
  UniqueFd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  sockaddr_un address = {AF_UNIX, {}};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return fd;
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
  CHECK(refusal("fd:0") == "cannot listen on fd:0: file descriptor 0 is not a listening stream socket");
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

TEST_CASE("opening a unix socket on which another process listens is an error") {
  const TempDir dir;
  const auto first = open_listener(listening_on("unix:" + (dir / "s")));
  CHECK(contains(refusal("unix:" + (dir / "s")), "another process is serving this socket"));
  CHECK(FcgiClient::unix_socket(dir / "s").connected());
}

TEST_CASE("a left-over unix socket is replaced") {
  const TempDir dir;
  bound_socket(dir / "s").reset();  // a killed process leaves the file of its socket
  const auto listener = open_listener(listening_on("unix:" + (dir / "s")));
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
  const UniqueFd datagrams = bound_socket(dir / "datagrams", SOCK_DGRAM);
  CHECK(contains(refusal("unix:" + (dir / "datagrams")),
                 "cannot tell whether a process is serving this socket"));
  CHECK(exists(dir / "datagrams"));
}

TEST_CASE("an unknown owner or group is an error and leaves no socket") {
  const TempDir dir;
  Options options = listening_on("unix:" + (dir / "s"));
  options.socket_owner = "nobody.here";
  CHECK(contains(refusal(options), "socket_owner: there is no user 'nobody.here'"));
  options.socket_owner.clear();
  options.socket_group = "no.group";
  CHECK(contains(refusal(options), "socket_group: there is no group 'no.group'"));
  CHECK(!exists(dir / "s"));
}

TEST_CASE("a unix socket gets its owner and group, or is removed if they cannot be set") {
  const TempDir dir;
  Options options = listening_on("unix:" + (dir / "s"));
  options.socket_owner = "daemon";
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
  auto listener = on_free_port("127.0.0.1");
  CHECK(FcgiClient::tcp(port_of(*listener)).connected());
  listener = on_free_port("localhost");
  CHECK(FcgiClient::tcp(port_of(*listener)).connected());
  listener = on_free_port("127.1.2.3");
  CHECK(FcgiClient::tcp(port_of(*listener), "127.1.2.3").connected());
  listener = on_free_port("[::1]");
  CHECK(FcgiClient::tcp(port_of(*listener), "::1").connected());
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
  CHECK(contains(refusal("tcp:127.0.0.1"), "the port is missing"));
  CHECK(contains(refusal("tcp:"), "the port is missing"));
  for (const char* port : {"", "0", "65536", "-1", "80x", "http", " 80"}) {
    const std::string message = refusal("tcp:127.0.0.1:" + std::string(port));
    CHECK(contains(message, "'" + std::string(port) + "' is not a port from 1 to 65535"));
    CHECK(contains(message, "tcp:[::1]:9000"));
  }
  CHECK(contains(refusal("tcp:::1:9000"), "an IPv6 address has to be in brackets"));
  for (const char* host : {"", "salt.example", "127.0.0", "[localhost]", "[::1", "256.0.0.1"}) {
    const std::string message = refusal("tcp:" + std::string(host) + ":9000");
    CHECK(contains(message, "such as tcp:127.0.0.1:9000"));
  }
}

TEST_CASE("a port can be opened again at once after a connection on it was closed") {
  auto listener = on_free_port("127.0.0.1");
  const int port = port_of(*listener);
  const FcgiClient client = FcgiClient::tcp(port);
  listener->accept().reset();  // the side that closes first leaves the port in TIME_WAIT
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
