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

/// A descriptor for the end of all waiting.
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

/// For a while the calling thread has no more rights than anybody: files see the user `nobody` where it is
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

/// A TCP port of this host that accepts no connection.
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

  /// Until the system accepts none for it either.
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

TEST_CASE("what is written to a unix socket is read from it") {
  const TempDir dir;
  FakeEventBus bus(dir / "bus.ipc");
  const Stop stop;
  auto socket = EventSocket::connect({.path = dir / "bus.ipc"}, stop.fd.get());
  REQUIRE(socket);
  bus.send_bytes("abc");
  const auto bytes = socket->read(kPatience);
  REQUIRE(bytes);
  CHECK(*bytes == "abc");
}

TEST_CASE("what is written to a TCP port is read from it") {
  FakeEventBus bus("");
  const Stop stop;
  auto socket = EventSocket::connect({.port = bus.port()}, stop.fd.get());
  REQUIRE(socket);
  bus.send_bytes("abc");
  const auto bytes = socket->read(kPatience);
  REQUIRE(bytes);
  CHECK(*bytes == "abc");
}

TEST_CASE("nothing is read where nothing comes in time") {
  const TempDir dir;
  const FakeEventBus bus(dir / "bus.ipc");
  const Stop stop;
  auto socket = EventSocket::connect({.path = dir / "bus.ipc"}, stop.fd.get());
  REQUIRE(socket);
  const auto bytes = socket->read(std::chrono::milliseconds(1));
  REQUIRE(bytes);
  CHECK(bytes->empty());
}

TEST_CASE("a wait for bytes ends when it is told to") {
  const TempDir dir;
  const FakeEventBus bus(dir / "bus.ipc");
  const Stop stop;
  auto socket = EventSocket::connect({.path = dir / "bus.ipc"}, stop.fd.get());
  REQUIRE(socket);
  stop.now();
  const auto begun = std::chrono::steady_clock::now();
  CHECK(socket->read(kPatience));
  CHECK(std::chrono::steady_clock::now() - begun < kPatience);
}

TEST_CASE("a connection that the master closes is lost, after all that came before") {
  const TempDir dir;
  FakeEventBus bus(dir / "bus.ipc");
  const Stop stop;
  auto socket = EventSocket::connect({.path = dir / "bus.ipc"}, stop.fd.get());
  REQUIRE(socket);
  bus.send_bytes("abc");
  bus.stop();
  CHECK(socket->read(kPatience));
  const auto end = socket->read(kPatience);
  REQUIRE_FALSE(end);
  CHECK(end.error().kind == ErrorKind::unavailable);
  CHECK(end.error().message == "the master closed it");
}

TEST_CASE("a socket that is not there, or that nobody listens to, means that the master is not there") {
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

TEST_CASE("a TCP port that nobody listens to means that the master is not there") {
  FakeEventBus bus("");
  bus.stop();
  const Error error = refusal({.port = bus.port()});
  CHECK(error.kind == ErrorKind::unavailable);
  CHECK(error.message.starts_with("tcp_master_pub_port " + std::to_string(bus.port()) +
                                  " of 127.0.0.1: Connection refused"));
}

TEST_CASE("a connection that is reset is lost") {
  Unanswering master;
  const Stop stop;
  auto socket = EventSocket::connect({.port = master.port()}, stop.fd.get());
  REQUIRE(socket);
  master.close();
  const auto end = socket->read(kPatience);
  REQUIRE_FALSE(end);
  CHECK(end.error().kind == ErrorKind::unavailable);
  CHECK(end.error().message == "Connection reset by peer");
}

TEST_CASE("a host that does not answer is not waited for any longer than it is told to") {
  Unanswering master;
  master.fill();
  const Stop stop;
  stop.now();
  const auto socket = EventSocket::connect({.port = master.port()}, stop.fd.get());
  REQUIRE_FALSE(socket);
  CHECK(socket.error().kind == ErrorKind::unavailable);
  CHECK(socket.error().message.ends_with(" of 127.0.0.1: Connection timed out"));
}

TEST_CASE("a process that has no descriptor left says so") {
  const Stop stop;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{0, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const auto socket = EventSocket::connect({.path = "/bus.ipc"}, stop.fd.get());
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  REQUIRE_FALSE(socket);
  CHECK(socket.error().message == "/bus.ipc: Too many open files");
}

TEST_CASE("a path that is on the way through a file is refused with the system's reason alone") {
  const TempDir dir;
  const std::string file = dir.write("file", "");
  CHECK(refusal({.path = file + "/bus.ipc"}).message == file + "/bus.ipc: Not a directory");
}

TEST_CASE("a path that is too long for a unix socket is a mistake in the configuration") {
  const Error error = refusal({.path = "/" + std::string(107, 'x')});
  CHECK(error.kind == ErrorKind::configuration);
  CHECK(error.message ==
        "sock_dir: /" + std::string(107, 'x') + " has 108 bytes; the path of a unix socket has 107 at most");
  CHECK(refusal({.path = "/" + std::string(106, 'x')}).kind == ErrorKind::unavailable);
}

TEST_CASE("an address that is none is a mistake in the configuration") {
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

TEST_CASE("an IPv6 address is one") {
  CHECK(refusal({.host = "::1", .port = 1}).kind == ErrorKind::unavailable);
}

TEST_CASE("a socket that this process may not connect to is refused with its owner, group and mode") {
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

TEST_CASE("a folder that this process may not search is refused with its owner, group and mode") {
  const TempDir dir;
  REQUIRE(::mkdir((dir / "sock").c_str(), 0700) == 0);
  const FakeEventBus bus(dir / "sock/bus.ipc");
  REQUIRE(::chmod(dir.path().c_str(), 0755) == 0);
  REQUIRE(::chmod((dir / "sock").c_str(), 0) == 0);
  {
    const AsNobody nobody;
    const Error error = refusal({.path = dir / "sock/bus.ipc"});
    CHECK(error.kind == ErrorKind::authorization);
    CHECK(error.message.starts_with("no permission to search the folder " + dir / "sock" +
                                    ", which has mode 0000, "));
  }
  REQUIRE(::chmod((dir / "sock").c_str(), 0700) == 0);
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

TEST_CASE("a socket that the group may use names the group that the responder needs") {
  const std::string text = refused_socket("/s/bus.ipc", status_of(S_IFSOCK | 0660, 0, 0));
  CHECK(text.starts_with(
      "no permission to connect to /s/bus.ipc, which has mode 0660, owner root, group root: the "
      "responder's user "));
  CHECK(text.ends_with(" needs to be in the group root"));
}

TEST_CASE("a socket that is closed to its group says what a master opens it for") {
  CHECK(refused_socket("/s/bus.ipc", status_of(S_IFSOCK | 0600, 0, 0)) ==
        "no permission to connect to /s/bus.ipc, which has mode 0600, owner root, group root: a master opens "
        "it to its "
        "group only where its configuration has external_auth or publisher_acl");
}

TEST_CASE("a folder that may not be searched names the right that is missing") {
  const std::string text = refused_folder("/s", status_of(S_IFDIR | 0750, 0, 0));
  CHECK(text.starts_with(
      "no permission to search the folder /s, which has mode 0750, owner root, group root: the "
      "responder's user "));
  CHECK(text.ends_with(" needs that right (x), say by the group root"));
}

TEST_CASE("a user or group without a name is named by its number") {
  CHECK(refused_socket("/s", status_of(S_IFSOCK | 0600, 3999999999, 3999999998))
            .find("owner 3999999999, group 3999999998") != std::string::npos);
}

TEST_CASE("the folder that is next on the way to what cannot be looked at is the one that is named") {
  const TempDir dir;
  const std::string file = dir.write("bus.ipc", "");
  CHECK(refused_path(file).starts_with("no permission to connect to " + file + ", "));
  CHECK(refused_path(dir / "no/such/bus.ipc")
            .starts_with("no permission to search the folder " + dir.path().string() +
                         ", which has mode 0700"));
}

TEST_CASE("a relative path of which nothing can be looked at is named itself") {
  CHECK(refused_path("no/such/bus.ipc") == "no permission to look at no/such/bus.ipc");
}

}  // namespace
