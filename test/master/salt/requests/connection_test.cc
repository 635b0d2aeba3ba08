// SPDX-License-Identifier: MIT
#include "master/salt/requests/connection.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <filesystem>
#include <functional>
#include <latch>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <zmq.hpp>

#include "../../../support/fake_ret_port.h"
#include "master/salt/lines.h"
#include "master/salt/requests/request_pool.h"
#include "requests.h"

namespace rest_fcgi::salt {
namespace {

Result<WipedBytes> send_and_receive(Connection& connection, WipedBytes message, SteadyTime deadline) {
  if (auto sent = connection.send(std::move(message), deadline); !sent) return std::move(sent).error();
  return connection.receive(deadline);
}

using std::chrono::milliseconds;
using test::bytes;
using test::late;
using test::text;
using Frames = rest_fcgi::test::FakeRetPort::Frames;
using rest_fcgi::test::FakeRetPort;

constexpr std::size_t kMaxAnswer = 1 << 20;

/// One connection to a fake master.
struct Client {
  UniqueFd stop{::eventfd(0, EFD_CLOEXEC)};
  std::unique_ptr<Connection> connection;

  explicit Client(const std::string& uri) {
    auto made = Connection::make({uri, kMaxAnswer, stop.get()});
    REQUIRE(made);
    connection = *std::move(made);
  }

  std::string ask(std::string_view message) {
    const auto answer = send_and_receive(*connection, bytes(message), late());
    REQUIRE(answer);
    return text(*answer);
  }
};

std::optional<std::string> echo(std::string body) {
  return body;
}

/// A connection that sent one request and was answered with these frames.
Result<WipedBytes> answered_with(const Frames& frames) {
  FakeRetPort master([&](const Frames&) { return frames; });
  Client client(master.uri());
  REQUIRE(client.connection->wait_until_open(late()));
  return send_and_receive(*client.connection, bytes("question"), late());
}

std::set<int> open_files() {
  std::set<int> files;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    files.insert(std::stoi(entry.path().filename()));
  }
  return files;
}

/// A peer that takes one connection and does what `script` says, byte by byte.
class RawPeer {
 public:
  using Script = std::function<void(RawPeer&)>;

  explicit RawPeer(const Script& script) : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(listener_.get(), any, size) == 0);
    REQUIRE(::listen(listener_.get(), 1) == 0);
    REQUIRE(::getsockname(listener_.get(), any, &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, script] {
      peer_.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      script(*this);
      peer_.reset();
    });
  }
  ~RawPeer() { thread_.join(); }
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  [[nodiscard]] std::string uri() const { return "tcp://127.0.0.1:" + std::to_string(port_); }

  /// What comes next; less where the connection ends.
  std::string take(std::size_t count) {
    std::string bytes(count, '\0');
    const ssize_t got = ::recv(peer_.get(), bytes.data(), count, MSG_WAITALL);
    bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return bytes;
  }

  /// In pieces of one byte each, which are read one at a time.
  void give(std::string_view bytes) {
    const int at_once = 1;
    ::setsockopt(peer_.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    for (const char byte : bytes) ::send(peer_.get(), &byte, 1, MSG_NOSIGNAL);
  }

  /// What comes first from the other side.
  static std::string ours() { return greeting() + ready("DEALER"); }

  /// As a master does, until requests may come.
  void greet() {
    give(greeting());
    take(ours().size());
    give(ready("ROUTER"));
  }

  /// Gives no more.
  void finish() { ::shutdown(peer_.get(), SHUT_WR); }

  /// Of the socket of that type, which says no more about itself.
  static std::string ready(const std::string& type) {
    return std::string("\x04\x1C\x05READY\x0BSocket-Type\0\0\0\x06", 24) + type;
  }

  static std::string greeting(char version = 3, std::string_view mechanism = "NULL") {
    std::string bytes = "\xFF" + std::string(8, '\0') + '\x7F' + version + '\0';
    bytes += mechanism;
    bytes.resize(64);
    return bytes;
  }

 private:
  UniqueFd listener_;
  UniqueFd peer_;
  unsigned port_ = 0;
  std::thread thread_;
};

}  // namespace

TEST_CASE("a request is an empty frame and its body, and so is the answer") {
  std::mutex mutex;
  std::vector<Frames> seen;
  FakeRetPort master([&](const Frames& frames) {
    const std::scoped_lock lock(mutex);
    seen.push_back(frames);
    return Frames{"", "answer"};
  });
  Client client(master.uri());
  REQUIRE(client.connection->wait_until_open(late()));
  CHECK(client.ask("question") == "answer");
  CHECK(client.ask("") == "answer");
  const std::scoped_lock lock(mutex);
  CHECK(seen == std::vector<Frames>{{"", "question"}, {"", ""}});
}

TEST_CASE("bodies of all sizes go and come whole") {
  FakeRetPort master(echo);
  Client client(master.uri());
  REQUIRE(client.connection->wait_until_open(late()));
  for (const std::size_t size : {1U, 29U, 33U, 34U, 255U, 256U, 8192U, 8193U, 1U << 20}) {
    CAPTURE(size);
    std::string body(size, 'x');
    body.back() = '\0';
    CHECK(client.ask(body) == body);
  }
}

TEST_CASE("a port where nobody listens is noticed at once") {
  FakeRetPort master(echo);
  master.stop();
  Client client(master.uri());
  CHECK(!client.connection->wait_until_open(late()));
  CHECK(!client.connection->is_open());
}

TEST_CASE("a peer that is no ZeroMQ is not written to") {
  // It takes TCP connections, and says nothing.
  zmq::context_t context;
  zmq::socket_t listener(context, zmq::socket_type::stream);
  listener.bind("tcp://127.0.0.1:*");
  Client client(listener.get(zmq::sockopt::last_endpoint));
  CHECK(!client.connection->wait_until_open(test::in(milliseconds(50))));
  const auto answer = send_and_receive(*client.connection, bytes("question"), late());
  REQUIRE(!answer);
  CHECK(answer.error().kind == ErrorKind::unavailable);
  CHECK(answer.error().message == kMasterNotAvailable);
}

TEST_CASE("the bytes of ZMTP 3.0: a greeting, READY, and messages of an empty frame and a body") {
  const std::string large(256, 'x');
  std::string seen;
  {
    RawPeer peer([&](RawPeer& master) {
      master.give(RawPeer::greeting());
      seen = master.take(RawPeer::ours().size());
      master.give(RawPeer::ready("ROUTER"));
      seen += master.take(2 + 2 + 8);
      master.give(
          std::string_view("\x01\0\0\x06"
                           "answer",
                           10));
      seen += master.take(2 + 9 + large.size());
      master.give(std::string_view("\x01\0\x02\0\0\0\0\0\0\0\x02ok", 13));
    });
    Client client(peer.uri());
    REQUIRE(client.connection->wait_until_open(late()));
    CHECK(client.ask("question") == "answer");
    CHECK(client.ask(large) == "ok");
  }
  CHECK(seen ==
        RawPeer::ours() + std::string("\x01\0\0\x08question\x01\0\x02\0\0\0\0\0\0\x01\0", 23) + large);
}

TEST_CASE("who does not greet as a ZeroMQ that asks for nothing is no master") {
  for (const std::string& greeting :
       {RawPeer::greeting(1), RawPeer::greeting(3, "PLAIN"), RawPeer::greeting(3, "CURVE"),
        "HTTP/1.1 400 Bad Request\r\n" + std::string(64, ' '), std::string("\xFF\0\0", 3)}) {
    CAPTURE(greeting);
    RawPeer peer([&](RawPeer& master) {
      master.give(greeting + RawPeer::ready("ROUTER"));
      master.finish();
      master.take(1000);  // until the other side leaves, too
    });
    Client client(peer.uri());
    REQUIRE(!client.connection->wait_until_open(late()));
    CHECK(client.connection->send(bytes("question"), late()).error().message == kMasterNotAvailable);
  }
}

TEST_CASE("who is not ready after its greeting is no master") {
  for (const std::string_view reply :
       {std::string_view("\x04\x0A\x05"
                         "ERROR\x03"
                         "bad",
                         12),
        std::string_view("\0\x06\x05READY", 8), std::string_view("\x04\x03\x05RE", 5)}) {
    CAPTURE(reply);
    RawPeer peer([&](RawPeer& master) {
      master.give(RawPeer::greeting());
      master.take(RawPeer::ours().size());
      master.give(reply);
    });
    Client client(peer.uri());
    CHECK(!client.connection->wait_until_open(late()));
  }
}

TEST_CASE("a master that asks whether we are there hears so, and other commands are passed over") {
  std::string seen;
  {
    RawPeer peer([&](RawPeer& master) {
      master.greet();
      master.take(12);
      master.give(
          std::string_view("\x04\x0A\x04PING\0\x64"
                           "abc",
                           12));
      seen = master.take(10);
      master.give(std::string_view("\x04\x05\x04WHAT\x01\0\x04\x05\x04WHAT\0\x02ok", 20));
    });
    Client client(peer.uri());
    REQUIRE(client.connection->wait_until_open(late()));
    CHECK(client.ask("question") == "ok");
  }
  CHECK(seen == "\x04\x08\x04PONGabc");
}

TEST_CASE("a frame is not waited for that says it is larger than an answer may be") {
  RawPeer peer([](RawPeer& master) {
    master.greet();
    master.take(12);
    master.give(std::string_view("\x01\0\x02\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 11));
    master.take(1);  // until the other side has had enough
  });
  Client client(peer.uri());
  REQUIRE(client.connection->wait_until_open(late()));
  const auto answer = send_and_receive(*client.connection, bytes("question"), late());
  client.connection.reset();
  REQUIRE(!answer);
  CHECK(answer.error().kind == ErrorKind::unavailable);
}

TEST_CASE("a master that takes no more of a request costs its time and no more") {
  std::latch over(1);
  RawPeer peer([&](RawPeer& master) {
    master.greet();
    over.wait();
  });
  Client client(peer.uri());
  REQUIRE(client.connection->wait_until_open(late()));
  const auto sent = client.connection->send(WipedBytes(64 << 20, 'x'), test::in(milliseconds(100)));
  over.count_down();
  REQUIRE(!sent);
  CHECK(sent.error().kind == ErrorKind::timeout);
}

TEST_CASE("a connection that breaks while a request waits is noticed at once") {
  std::latch arrived(1);
  FakeRetPort master([&](const std::string&) -> std::optional<std::string> {
    arrived.count_down();
    return std::nullopt;
  });
  Client client(master.uri());
  REQUIRE(client.connection->wait_until_open(late()));
  std::optional<Result<WipedBytes>> answer;
  std::thread asking([&] { answer = send_and_receive(*client.connection, bytes("question"), late()); });
  arrived.wait();
  const SteadyTime before = std::chrono::steady_clock::now();
  master.stop();
  asking.join();
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(30));
  REQUIRE(!*answer);
  CHECK(answer->error().kind == ErrorKind::unavailable);
  CHECK(answer->error().message ==
        "Salt Master: the connection broke before the answer came; whether the master carried out the "
        "request is not "
        "known.");
}

TEST_CASE("an answer that came before the connection broke is one") {
  FakeRetPort master(echo);
  Client client(master.uri());
  REQUIRE(client.connection->wait_until_open(late()));
  for (int i = 0; i < 20; ++i) CHECK(client.ask("question") == "question");
  master.stop();
  CHECK(test::soon([&] { return !client.connection->is_open(); }));
}

TEST_CASE("a connection does not come back: what it would send reaches nobody") {
  FakeRetPort master(echo);
  Client client(master.uri());
  REQUIRE(client.connection->wait_until_open(late()));
  master.stop();
  REQUIRE(test::soon([&] { return !client.connection->is_open(); }));
  master.start();
  const auto answer = send_and_receive(*client.connection, bytes("question"), late());
  REQUIRE(!answer);
  CHECK(answer.error().kind == ErrorKind::unavailable);
  CHECK(!client.connection->wait_until_open(test::in(milliseconds(300))));
  CHECK(master.messages() == 0);
}

TEST_CASE("a request that is not answered ends at its deadline") {
  FakeRetPort master([](const std::string&) -> std::optional<std::string> { return std::nullopt; });
  Client client(master.uri());
  REQUIRE(client.connection->wait_until_open(late()));
  const SteadyTime deadline = test::in(milliseconds(50));
  const auto answer = send_and_receive(*client.connection, bytes("question"), deadline);
  CHECK(std::chrono::steady_clock::now() >= deadline);
  REQUIRE(!answer);
  CHECK(answer.error().kind == ErrorKind::timeout);
}

TEST_CASE("an answer that did not come in time may be waited for again") {
  FakeRetPort port([](std::string body) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return std::optional(std::move(body));
  });
  Client client(port.uri());
  REQUIRE(client.connection->wait_until_open(late()));
  REQUIRE(client.connection->send(bytes("question"), late()));
  CHECK(client.connection->receive(std::chrono::steady_clock::now()).error().kind == ErrorKind::timeout);
  const auto answer = client.connection->receive(late());
  REQUIRE(answer);
  CHECK(text(*answer) == "question");
}

TEST_CASE("an answer of other frames than an empty one and a body is none") {
  for (const Frames& frames : std::vector<Frames>{
           {"body"}, {""}, {"x", "body"}, {"", "body", "more"}, {"x", "", "body"}, {"", "", "body"}}) {
    CAPTURE(frames.size());
    const auto answer = answered_with(frames);
    REQUIRE(!answer);
    CHECK(answer.error().kind == ErrorKind::internal);
  }
}

TEST_CASE("an answer may have the largest size, and one byte more breaks the connection") {
  CHECK(answered_with({"", std::string(kMaxAnswer, 'x')}));
  const auto answer = answered_with({"", std::string(kMaxAnswer + 1, 'x')});
  REQUIRE(!answer);
  CHECK(answer.error().kind == ErrorKind::unavailable);
}

TEST_CASE("a connection where something came that nobody asked for is not open") {
  // A second answer would be taken for that of the next request.
  zmq::context_t context;
  zmq::socket_t master(context, zmq::socket_type::router);
  master.bind("tcp://127.0.0.1:*");
  Client client(master.get(zmq::sockopt::last_endpoint));
  REQUIRE(client.connection->wait_until_open(late()));
  std::thread asking([&] { CHECK(client.ask("question") == "first"); });
  zmq::message_t name, empty, body;
  for (zmq::message_t* frame : {&name, &empty, &body}) REQUIRE(master.recv(*frame));
  for (const char* answer : {"first", "second"}) {
    master.send(zmq::buffer(name.to_string()), zmq::send_flags::sndmore);
    master.send(zmq::message_t(), zmq::send_flags::sndmore);
    master.send(zmq::buffer(std::string(answer)), zmq::send_flags::none);
  }
  asking.join();
  CHECK(test::soon([&] { return !client.connection->is_open(); }));
}

TEST_CASE("the end of all ends a request that waits, and the attempt to connect") {
  std::latch arrived(1);
  FakeRetPort master([&](const std::string&) -> std::optional<std::string> {
    arrived.count_down();
    return std::nullopt;
  });
  Client client(master.uri());
  REQUIRE(client.connection->wait_until_open(late()));
  std::optional<Result<WipedBytes>> answer;
  std::thread asking([&] { answer = send_and_receive(*client.connection, bytes("question"), late()); });
  arrived.wait();
  REQUIRE(::eventfd_write(client.stop.get(), 1) == 0);
  asking.join();
  REQUIRE(!*answer);
  CHECK(answer->error().kind == ErrorKind::unavailable);
  CHECK(!client.connection->is_open());
  CHECK(!client.connection->wait_until_open(late()));
  CHECK(send_and_receive(*client.connection, bytes("question"), late()).error().kind ==
        ErrorKind::unavailable);
}

TEST_CASE("an address that is none is named, and so is a name that has no address") {
  const auto nowhere = Connection::make({"tcp://nowhere", kMaxAnswer});
  REQUIRE(!nowhere);
  CHECK(nowhere.error().kind == ErrorKind::configuration);
  CHECK(nowhere.error().message.find("`tcp://nowhere`") != std::string::npos);
  const auto nobody = Connection::make({"tcp://no-such-host.invalid:4506", kMaxAnswer});
  REQUIRE(!nobody);
  CHECK(nobody.error().kind == ErrorKind::unavailable);
  CHECK(nobody.error().message.starts_with("No connection to the Salt Master: no-such-host.invalid: "));
}

TEST_CASE("a name is one of IPv4") {
  FakeRetPort master(echo);
  const std::string uri = master.uri();
  Client client("tcp://localhost" + uri.substr(uri.rfind(':')));
  REQUIRE(client.connection->wait_until_open(late()));
  CHECK(client.ask("question") == "question");
}

TEST_CASE("a connection over IPv6 is one like any other") {
  zmq::context_t context;
  zmq::socket_t master(context, zmq::socket_type::rep);
  master.set(zmq::sockopt::ipv6, true);
  try {
    master.bind("tcp://[::1]:*");
  } catch (const zmq::error_t& error) {
    MESSAGE("skipped: no IPv6 on loopback: " << error.what());
    return;
  }
  Client client(master.get(zmq::sockopt::last_endpoint));
  REQUIRE(client.connection->wait_until_open(late()));
}

TEST_CASE("no program that is started has a connection's files, and they are closed with it") {
  FakeRetPort master(echo);
  // With it everything else is open that the next one needs.
  Client first(master.uri());
  REQUIRE(first.connection->wait_until_open(late()));
  CHECK(first.ask("question") == "question");
  const auto before = open_files();
  {
    auto connection = *Connection::make({master.uri(), kMaxAnswer});
    REQUIRE(connection->wait_until_open(late()));
    REQUIRE(send_and_receive(*connection, bytes("question"), late()));
    for (const int file : open_files()) {
      CAPTURE(file);
      const int flags = ::fcntl(file, F_GETFD);
      CHECK((before.contains(file) || flags < 0 || (flags & FD_CLOEXEC) != 0));
    }
    CHECK(open_files().size() > before.size());
  }
  CHECK(test::soon([&] { return open_files().size() <= before.size(); }));
}

}  // namespace rest_fcgi::salt

namespace rest_fcgi::salt {

TEST_CASE("an address of a master is an address or a name, and a port") {
  for (const char* uri : {"tcp://127.0.0.1:4506", "tcp://salt.example.org:1", "tcp://salt_master-2:65535",
                          "tcp://[::1]:4506", "tcp://[fe80::1%eth0]:4506"}) {
    CAPTURE(uri);
    CHECK(check_endpoint(uri));
  }
}

TEST_CASE("what is no address of a master is refused with the words of what is") {
  for (const char* uri :
       {"", "tcp://", "127.0.0.1:4506", "ipc:///run/salt/master", "tcp://127.0.0.1",
        "tcp://127.0.0.1:", "tcp://:4506", "tcp://a b:4506", "tcp://127.0.0.1:0", "tcp://a:65536",
        "tcp://a:-1", "tcp://a:45x", "tcp://a:99999999999", "tcp://*:4506", "tcp://[]:4506",
        "tcp://[::1:4506", "tcp://::1:4506", "tcp://10.0.0.1;10.0.0.2:4506"}) {
    CAPTURE(uri);
    const auto checked = check_endpoint(uri);
    REQUIRE(!checked);
    CHECK(checked.error().kind == ErrorKind::configuration);
    CHECK(checked.error().message.find("tcp://HOST:PORT") != std::string::npos);
  }
}

}  // namespace rest_fcgi::salt

namespace rest_fcgi::salt {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTimeout{300};
constexpr SteadyTime kStart{std::chrono::hours(1)};

}  // namespace

TEST_CASE("while the master is there everybody may connect") {
  Outage outage(kTimeout);
  for (int i = 0; i < 3; ++i) CHECK(outage.may_try(kStart));
}

TEST_CASE("after a failure nobody tries for a while, and then one at a time") {
  Outage outage(kTimeout);
  outage.failed(kStart);
  CHECK(!outage.may_try(kStart));
  CHECK(!outage.may_try(kStart + Outage::kPause - milliseconds(1)));
  const SteadyTime again = kStart + Outage::kPause;
  CHECK(outage.may_try(again));
  CHECK(!outage.may_try(again));
  CHECK(!outage.may_try(again + kTimeout));
  outage.failed(again + kTimeout);
  CHECK(!outage.may_try(again + kTimeout));
  CHECK(outage.may_try(again + kTimeout + Outage::kPause));
}

TEST_CASE("a try of which nothing is heard keeps the others up for its time only") {
  Outage outage(kTimeout);
  outage.failed(kStart);
  const SteadyTime again = kStart + Outage::kPause;
  REQUIRE(outage.may_try(again));
  CHECK(outage.may_try(again + kTimeout + Outage::kPause));
}

TEST_CASE("one success ends the outage for all") {
  Outage outage(kTimeout);
  outage.failed(kStart);
  outage.succeeded();
  for (int i = 0; i < 3; ++i) CHECK(outage.may_try(kStart));
}

}  // namespace rest_fcgi::salt

namespace rest_fcgi::salt {
namespace {

using std::chrono::seconds;

constexpr SteadyTime kPut{std::chrono::hours(1)};

struct Kept {
  IdleConnections idle;

  Connection* put(SteadyTime now) {
    auto made = Connection::make({"tcp://127.0.0.1:1", 1});
    REQUIRE(made);
    Connection* const connection = made->get();
    idle.put(*std::move(made), now);
    return connection;
  }
};

}  // namespace

TEST_CASE("of the kept connections the one that was put last is taken first") {
  Kept kept;
  CHECK(kept.idle.take() == nullptr);
  Connection* const first = kept.put(kPut);
  Connection* const second = kept.put(kPut);
  CHECK(kept.idle.take().get() == second);
  CHECK(kept.idle.take().get() == first);
  CHECK(kept.idle.take() == nullptr);
}

TEST_CASE("connections that nobody needed for a minute are closed when another one is put") {
  Kept kept;
  kept.put(kPut);
  kept.put(kPut + seconds(1));
  Connection* const third = kept.put(kPut + seconds(59));
  CHECK(kept.idle.size() == 3);
  Connection* const last = kept.put(kPut + seconds(61));
  CHECK(kept.idle.size() == 2);
  CHECK(kept.idle.take().get() == last);
  CHECK(kept.idle.take().get() == third);
}

}  // namespace rest_fcgi::salt
