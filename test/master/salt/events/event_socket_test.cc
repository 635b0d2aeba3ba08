// SPDX-License-Identifier: MIT
#include "master/salt/events/event_socket.h"

#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/fake_event_bus.h"
#include "../../../support/temp_dir.h"
#include "recorder.h"
#include "rest_fcgi/core/access.h"

namespace {

using namespace rest_fcgi;
using namespace rest_fcgi::salt;
using rest_fcgi::test::FakeEventBus;
using rest_fcgi::test::kPatience;
using rest_fcgi::test::TempDir;

/// A file descriptor that a test signals to end every wait.
struct Stop {
  UniqueFd fd{::eventfd(0, EFD_CLOEXEC)};
  void now() const { REQUIRE(::eventfd_write(fd.get(), 1) == 0); }
};

Error refusal(const BusOptions& where) {
  const Stop stop;
  const auto socket = EventSocket::connect(where, stop.fd.get());
  REQUIRE_FALSE(socket);
  return socket.error();
}

/// Gives the calling thread the file permissions of the user `nobody`. Has an effect only if the tests run as
/// root.
class AsNobody {
 public:
  AsNobody() : user_(::geteuid()) {
    if (user_ == 0) ::setfsuid(65534);
  }
  ~AsNobody() {
    if (user_ == 0) ::setfsuid(user_);
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  const uid_t user_;
};

/// A TCP port of this host that answers no connection attempt, because its queue of connections is full.
class Unanswering {
 public:
  Unanswering() {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(fd_.get(), generic, size) == 0);
    REQUIRE(::listen(fd_.get(), 0) == 0);
    REQUIRE(::getsockname(fd_.get(), generic, &size) == 0);
    port_ = ntohs(address.sin_port);
  }

  void fill() {
    for (int i = 0; i < 4; ++i) {
      const sockaddr_in address = loopback(static_cast<in_port_t>(port_));
      fillers_.emplace_back(new_socket());
      ::connect(fillers_.back().get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    }
  }

  void close() { fd_.reset(); }
  [[nodiscard]] unsigned port() const { return port_; }

 private:
  static int new_socket() { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }
  static sockaddr_in loopback(in_port_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
  }

  UniqueFd fd_{new_socket()};
  unsigned port_ = 0;
  std::vector<UniqueFd> fillers_;
};

/// A socket that is connected to an event bus.
struct Connected {
  const TempDir dir;
  FakeEventBus bus{dir / "bus.ipc"};
  const Stop stop;
  Result<EventSocket> socket = EventSocket::connect({.path = dir / "bus.ipc"}, stop.fd.get());

  Connected() { REQUIRE(socket); }
};

TEST_CASE("bytes of a unix socket are read") {
  Connected connected;
  connected.bus.send_bytes("abc");
  const auto bytes = connected.socket->read(kPatience);
  REQUIRE(bytes);
  CHECK(*bytes == "abc");
}

TEST_CASE("read returns nothing after the timeout") {
  Connected connected;
  const auto bytes = connected.socket->read(std::chrono::milliseconds(1));
  REQUIRE(bytes);
  CHECK(bytes->empty());
}

TEST_CASE("read stops when the stop descriptor is readable") {
  Connected connected;
  connected.stop.now();
  const auto begun = std::chrono::steady_clock::now();
  CHECK(connected.socket->read(kPatience));
  CHECK(std::chrono::steady_clock::now() - begun < kPatience);
}

TEST_CASE("a closed connection is an error after its last bytes") {
  Connected connected;
  connected.bus.send_bytes("abc");
  connected.bus.stop();
  CHECK(connected.socket->read(kPatience));
  const auto end = connected.socket->read(kPatience);
  REQUIRE_FALSE(end);
  CHECK(end.error().kind == ErrorKind::unavailable);
  CHECK(end.error().message == "the master closed it");
}

TEST_CASE("a missing socket means that the master does not run") {
  const TempDir dir;
  const Error missing = refusal({.path = dir / "bus.ipc"});
  CHECK(missing.kind == ErrorKind::unavailable);
  CHECK(missing.message ==
        dir / "bus.ipc" +
            ": No such file or directory; is the Salt master running, with this sock_dir and "
            "ipc_mode?");
  dir.write("left", "");
  const Error left = refusal({.path = dir / "left"});
  CHECK(left.kind == ErrorKind::unavailable);
  CHECK(left.message.find("Connection refused; is the Salt master running") != std::string::npos);
}

TEST_CASE("a refused TCP connection means that the master does not run") {
  FakeEventBus bus("");
  bus.stop();
  const Error error = refusal({.port = bus.port()});
  CHECK(error.kind == ErrorKind::unavailable);
  CHECK(error.message.starts_with("tcp_master_pub_port " + std::to_string(bus.port()) +
                                  " of 127.0.0.1: Connection refused"));
}

TEST_CASE("connecting stops when the stop descriptor is readable") {
  Unanswering master;
  master.fill();
  const Stop stop;
  stop.now();
  const auto socket = EventSocket::connect({.port = master.port()}, stop.fd.get());
  REQUIRE_FALSE(socket);
  CHECK(socket.error().kind == ErrorKind::unavailable);
  CHECK(socket.error().message.ends_with(" of 127.0.0.1: Connection timed out"));
}

TEST_CASE("a path through a file has the system's reason") {
  const TempDir dir;
  const std::string file = dir.write("file", "");
  CHECK(refusal({.path = file + "/bus.ipc"}).message == file + "/bus.ipc: Not a directory");
}

TEST_CASE("a path that is too long is a configuration error") {
  const Error error = refusal({.path = "/" + std::string(107, 'x')});
  CHECK(error.kind == ErrorKind::configuration);
  CHECK(error.message ==
        "sock_dir: /" + std::string(107, 'x') + " has 108 bytes; the path of a unix socket has 107 at most");
  CHECK(refusal({.path = "/" + std::string(106, 'x')}).kind == ErrorKind::unavailable);
}

TEST_CASE("a malformed address is a configuration error") {
  const Error name = refusal({.host = "localhost"});
  CHECK(name.kind == ErrorKind::configuration);
  CHECK(name.message ==
        "tcp_master_pub_port 4512 of localhost: accepted are IPv4 and IPv6 addresses, no names");
  for (const unsigned port : {0u, 65536u}) {
    const Error error = refusal({.port = port});
    CHECK(error.kind == ErrorKind::configuration);
    CHECK(error.message == "tcp_master_pub_port " + std::to_string(port) +
                               " of 127.0.0.1: a port is a number from 1 to 65535");
  }
}

TEST_CASE("the error for a refused socket names owner, group and mode") {
  const TempDir dir;
  const FakeEventBus bus(dir / "bus.ipc");
  REQUIRE(::chmod(dir.path().c_str(), 0755) == 0);
  REQUIRE(::chmod((dir / "bus.ipc").c_str(), 0) == 0);
  const AsNobody nobody;
  const Error error = refusal({.path = dir / "bus.ipc"});
  CHECK(error.kind == ErrorKind::authorization);
  CHECK(error.message.starts_with("no permission to connect to " + dir / "bus.ipc" +
                                  ", which has mode 0000, owner "));
}

}  // namespace

namespace {

using namespace rest_fcgi::salt;
using rest_fcgi::test::TempDir;

struct stat status_of(mode_t mode, uid_t owner, gid_t group) {
  struct stat status {};
  status.st_mode = mode;
  status.st_uid = owner;
  status.st_gid = group;
  return status;
}

TEST_CASE("the error for a socket closed to its group explains when a master opens it") {
  CHECK(refused_socket("/s/bus.ipc", status_of(S_IFSOCK | 0600, 0, 0)) ==
        "no permission to connect to /s/bus.ipc, which has mode 0600, owner root, group root: a master opens "
        "it to its "
        "group only where its configuration has external_auth or publisher_acl");
}

TEST_CASE("the error names the first folder without search permission") {
  const TempDir dir;
  const std::string file = dir.write("bus.ipc", "");
  CHECK(refused_path(file).starts_with("no permission to connect to " + file + ", "));
  CHECK(refused_path(dir / "no/such/bus.ipc")
            .starts_with("no permission to search the folder " + dir.path().string() +
                         ", which has mode 0700"));
}

TEST_CASE("a relative path is named itself") {
  CHECK(refused_path("no/such/bus.ipc") == "no permission to look at no/such/bus.ipc");
}

}  // namespace
