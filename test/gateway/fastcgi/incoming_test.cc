// SPDX-License-Identifier: MIT
#include "gateway/fastcgi/incoming.h"

#include <fcgiapp.h>
#include <fcgios.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include <doctest/doctest.h>

#include "../../support/fcgi_client.h"
#include "../../support/manual_clock.h"
#include "gateway/fastcgi/request.h"
#include "gateway/sys.h"

using rest_fcgi::UniqueFd;
using namespace rest_fcgi::gateway;
using namespace rest_fcgi::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const std::string kLateVariables = "the variables of a request have to come within receive_timeout";
const std::string kLateBody = "a body has to come within receive_timeout and a second for each 4096 bytes";

struct Connection {
  Connection() {
    std::array<int, 2> ends = {};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    ours = UniqueFd(ends[0]);
    peer = UniqueFd(ends[1]);
  }
  void send(std::string_view bytes) const {
    REQUIRE(::send(peer.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  }
  UniqueFd ours;
  UniqueFd peer;
};

/// Bytes that come in while a clock is turned by hand.
struct Turned {
  /// What a read of `bytes` gives; all of them, or an errno.
  std::string read(std::string_view bytes) {
    connection.send(bytes);
    std::array<char, 8192> buffer;
    errno = 0;
    const int got = incoming.read(buffer.data(), buffer.size());
    return got < 0 ? rest_fcgi::errno_text() : std::string(buffer.data(), static_cast<std::size_t>(got));
  }
  /// Is `bytes` what a read of them gives?
  bool passes(std::string_view bytes) { return read(bytes) == bytes; }

  Connection connection;
  ManualClock clock;
  Incoming incoming{connection.ours.get(), seconds(30), clock};
};

}  // namespace

TEST_CASE("a request's bytes are what a read gives, and its connection's end is 0") {
  Turned turned;
  CHECK(turned.passes(post("body")));
  turned.connection.peer.reset();
  char byte = 0;
  CHECK(turned.incoming.read(&byte, 1) == 0);
  CHECK(turned.incoming.problem().empty());
}

TEST_CASE("what came can be wiped, and is where libfcgi must not see it") {
  Turned turned;
  std::array<char, 8192> buffer = {};
  const auto wiped = [&] { return std::all_of(buffer.begin(), buffer.end(), [](char c) { return c == 0; }); };
  turned.connection.send(post("password"));
  CHECK(turned.incoming.read(buffer.data(), buffer.size()) > 0);
  CHECK(!wiped());
  turned.incoming.wipe_buffer();
  CHECK(wiped());
  turned.incoming.begin_request();
  turned.connection.send("password");
  CHECK(turned.incoming.read(buffer.data(), buffer.size()) < 0);
  CHECK(wiped());
}

TEST_CASE("what libfcgi must not see ends the read with EPROTO until the next request begins") {
  Turned turned;
  CHECK(turned.read(record(kGetValues, "", 0)) == rest_fcgi::errno_text(EPROTO));
  CHECK(turned.read(post("fine")) == rest_fcgi::errno_text(EPROTO));
  CHECK(!turned.incoming.problem().empty());
  turned.incoming.begin_request();
  CHECK(turned.incoming.problem().empty());
  CHECK(turned.passes(post("fine")));
}

TEST_CASE("variables that come bit by bit have the receive time-out in all") {
  Turned turned;
  const std::string bytes = begin_request(false) + params({{"NAME", "value"}});
  turned.clock.advance(seconds(1000));
  CHECK(turned.passes(bytes.substr(0, 1)));
  turned.clock.advance(seconds(20));
  CHECK(turned.passes(bytes.substr(1, 1)));
  turned.clock.advance(seconds(10));
  CHECK(turned.passes(bytes.substr(2, 1)));
  CHECK(turned.incoming.problem().empty());
  turned.clock.advance(milliseconds(1));
  CHECK(turned.read(bytes.substr(3, 1)) == rest_fcgi::errno_text(ETIMEDOUT));
  CHECK(turned.incoming.problem() == kLateVariables);
}

TEST_CASE("a body has the receive time-out after the variables came, and a second for each 4096 bytes") {
  Turned turned;
  const std::string head = begin_request(false) + params({});
  CHECK(turned.passes(head.substr(0, 10)));
  turned.clock.advance(seconds(29));
  CHECK(turned.passes(head.substr(10)));
  turned.clock.advance(seconds(29));
  CHECK(turned.passes(record(kStdin, std::string(4095, 'x'))));
  turned.clock.advance(seconds(1));
  SUBCASE("which is over") {
    turned.clock.advance(milliseconds(1));
    CHECK(turned.read(record(kStdin, "").substr(0, 1)) == rest_fcgi::errno_text(ETIMEDOUT));
    CHECK(turned.incoming.problem() == kLateBody);
  }
  SUBCASE("which what came makes longer") {
    CHECK(turned.passes(record(kStdin, std::string(4097, 'x'))));
    turned.clock.advance(seconds(2));
    CHECK(turned.passes(record(kStdin, "x")));
    turned.clock.advance(milliseconds(1));
    CHECK(turned.read(record(kStdin, "x").substr(0, 8)) == rest_fcgi::errno_text(ETIMEDOUT));
  }
}

TEST_CASE("the next request on a connection has its own time") {
  Turned turned;
  CHECK(turned.passes(begin_request(true)));
  turned.clock.advance(seconds(29));
  CHECK(turned.passes(params({}) + stdin_stream("")));
  turned.incoming.begin_request();
  turned.clock.advance(seconds(29));
  CHECK(turned.passes(begin_request(true)));
  turned.clock.advance(seconds(29));
  CHECK(turned.passes(params({})));
}

TEST_CASE("a part of a body that is refused is not left in libfcgi's buffer") {
  const Connection connection;
  Incoming incoming(connection.ours.get(), seconds(60));
  connection.send(begin_request(false) + params({}) + record(kStdin, "secret") + record(kGetValues, "", 0));
  std::array<char, 1000> buffer = {};
  CHECK(incoming.read(buffer.data(), buffer.size()) == -1);
  CHECK(errno == EPROTO);
  CHECK(std::string_view(buffer.data(), buffer.size()) == std::string(buffer.size(), '\0'));
}

TEST_CASE("a silent peer is given up, and that is a problem only in the middle of a request") {
  const Connection connection;
  Incoming incoming(connection.ours.get(), milliseconds(20));
  std::array<char, 100> buffer;
  CHECK(incoming.read(buffer.data(), buffer.size()) == -1);
  CHECK(errno == ETIMEDOUT);
  CHECK(incoming.problem().empty());
  connection.send(begin_request(false));
  CHECK(incoming.read(buffer.data(), buffer.size()) == 16);
  CHECK(incoming.read(buffer.data(), buffer.size()) == -1);
  CHECK(errno == ETIMEDOUT);
  CHECK(incoming.problem() == kLateVariables);
}

TEST_CASE("bytes that come later are waited for") {
  const Connection connection;
  Incoming incoming(connection.ours.get(), seconds(60));
  const std::string bytes = post("late");
  std::thread peer([&] {
    std::this_thread::sleep_for(milliseconds(20));
    ::send(connection.peer.get(), bytes.data(), bytes.size(), 0);
  });
  std::array<char, 1000> buffer;
  CHECK(incoming.read(buffer.data(), buffer.size()) == static_cast<int>(bytes.size()));
  peer.join();
}

TEST_CASE("a descriptor that cannot be read is an error like any other") {
  Incoming incoming(-1, milliseconds(10));
  char byte = 0;
  CHECK(incoming.read(&byte, 1) == -1);
  CHECK(errno == EBADF);
  CHECK(incoming.problem().empty());
}

TEST_CASE("libfcgi's reads go through the innermost Incoming of their thread, and else to the descriptor") {
  const Connection connection;
  CHECK(Incoming::of_this_thread() == nullptr);
  std::array<char, 8> buffer = {};
  connection.send("plain");
  CHECK(OS_Read(connection.ours.get(), buffer.data(), buffer.size()) == 5);
  {
    const Incoming outer(connection.ours.get(), seconds(60));
    CHECK(Incoming::of_this_thread() == &outer);
    {
      const Incoming inner(connection.ours.get(), seconds(60));
      CHECK(Incoming::of_this_thread() == &inner);
      connection.send("GET / HT");
      CHECK(OS_Read(connection.ours.get(), buffer.data(), buffer.size()) == -1);
      CHECK(!inner.problem().empty());
      std::thread([] { CHECK(Incoming::of_this_thread() == nullptr); }).join();
    }
    CHECK(Incoming::of_this_thread() == &outer);
  }
  CHECK(Incoming::of_this_thread() == nullptr);
}

TEST_CASE("libfcgi itself reads through it, and a Request knows why it failed") {
  REQUIRE(init_libfcgi());
  Connection connection;
  connection.send(begin_request(false) + record(kParams, "\xFF\xFF\xFF\xFE" + std::string(1, '\0')));
  Request request(std::move(connection.ours), {seconds(60), seconds(60)});
  CHECK(!request.receive());
  CHECK(request.problem() == "the variables of a request may have 262144 bytes; found 2147483646");
}
