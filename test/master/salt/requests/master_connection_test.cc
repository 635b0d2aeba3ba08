// SPDX-License-Identifier: MIT
#include "master/salt/requests/master_connection.h"

#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/fake_ret_port.h"
#include "master/salt/release_series.h"
#include "master/salt/requests/request_pool.h"
#include "requests.h"

namespace rest_fcgi::salt {
namespace {

Result<std::string> send_and_receive(MasterConnection& connection, std::string message, SteadyTime deadline) {
  if (auto sent = connection.send(std::move(message)); !sent) return std::move(sent).error();
  return connection.receive(deadline);
}

using std::chrono::milliseconds;
using test::late;
using Frames = rest_fcgi::test::FakeRetPort::Frames;
using rest_fcgi::test::FakeRetPort;

constexpr std::size_t kMaxAnswer = 1 << 20;

struct Client {
  zmq::context_t context{1};
  std::unique_ptr<MasterConnection> connection;

  explicit Client(const std::string& uri) {
    auto made = MasterConnection::make(context, {uri, kMaxAnswer});
    REQUIRE(made);
    connection = *std::move(made);
  }

  std::string ask(std::string_view message) {
    const auto answer = send_and_receive(*connection, std::string(message), late());
    REQUIRE(answer);
    return *answer;
  }

  [[nodiscard]] Error error() const {
    const auto answer = send_and_receive(*connection, "question", late());
    REQUIRE(!answer);
    return answer.error();
  }
};

struct OpenClient : Client {
  explicit OpenClient(const std::string& uri) : Client(uri) {
    REQUIRE(connection->wait_until_open(late(), late()) == MasterConnection::Opening::open);
  }
};

std::optional<std::string> echo(std::string body) {
  return body;
}

}  // namespace

TEST_CASE("request and reply are an empty frame and a body") {
  std::mutex mutex;
  std::vector<Frames> seen;
  FakeRetPort master([&](const Frames& frames) {
    const std::scoped_lock lock(mutex);
    seen.push_back(frames);
    return Frames{"", "answer"};
  });
  OpenClient client(master.uri());
  CHECK(client.ask("question") == "answer");
  CHECK(client.ask("") == "answer");
  const std::scoped_lock lock(mutex);
  CHECK(seen == std::vector<Frames>{{"", "question"}, {"", ""}});
}

TEST_CASE("a peer without ZeroMQ's greeting gets no request, and may take longer than TCP") {
  zmq::context_t context;
  zmq::socket_t listener(context, zmq::socket_type::stream);
  listener.bind("tcp://127.0.0.1:*");
  Client client(listener.get(zmq::sockopt::last_endpoint));
  const SteadyTime until = test::in(milliseconds(300));
  CHECK(client.connection->wait_until_open(test::in(milliseconds(50)), until) ==
        MasterConnection::Opening::silent);
  CHECK(std::chrono::steady_clock::now() >= until);
  const Error error = client.error();
  CHECK(error.kind == ErrorKind::unavailable);
  CHECK(error.message == kMasterNotAvailable);
}

TEST_CASE("a connection never reconnects") {
  FakeRetPort master(echo);
  OpenClient client(master.uri());
  master.stop();
  REQUIRE(test::eventually([&] { return !client.connection->is_open(); }));
  master.start();
  CHECK(client.error().kind == ErrorKind::unavailable);
  const auto opening = client.connection->wait_until_open(test::in(milliseconds(300)), late());
  CHECK(opening == MasterConnection::Opening::unreachable);
  CHECK(master.messages() == 0);
}

TEST_CASE("a reply with other frames is an error") {
  for (const Frames& frames : std::vector<Frames>{
           {"body"}, {""}, {"x", "body"}, {"", "body", "more"}, {"x", "", "body"}, {"", "", "body"}}) {
    CAPTURE(frames.size());
    FakeRetPort master([&](const Frames&) { return frames; });
    OpenClient client(master.uri());
    CHECK(client.error().kind == ErrorKind::internal);
  }
}

TEST_CASE("a connection with unexpected bytes is not open") {
  // The client must not take a second answer for the answer to its next request.
  zmq::context_t context;
  zmq::socket_t master(context, zmq::socket_type::router);
  master.bind("tcp://127.0.0.1:*");
  OpenClient client(master.get(zmq::sockopt::last_endpoint));
  std::thread asking([&] { CHECK(client.ask("question") == "first"); });
  zmq::message_t name, empty, body;
  for (zmq::message_t* frame : {&name, &empty, &body}) REQUIRE(master.recv(*frame));
  for (const char* answer : {"first", "second"}) {
    master.send(zmq::buffer(name.to_string()), zmq::send_flags::sndmore);
    master.send(zmq::message_t(), zmq::send_flags::sndmore);
    master.send(zmq::buffer(std::string(answer)), zmq::send_flags::none);
  }
  asking.join();
  CHECK(test::eventually([&] { return !client.connection->is_open(); }));
}

TEST_CASE("connections work over IPv6") {
  zmq::context_t context;
  zmq::socket_t master(context, zmq::socket_type::rep);
  master.set(zmq::sockopt::ipv6, true);
  try {
    master.bind("tcp://[::1]:*");
  } catch (const zmq::error_t& error) {
    MESSAGE("skipped: no IPv6 on loopback: " << error.what());
    return;
  }
  OpenClient client(master.get(zmq::sockopt::last_endpoint));
}

TEST_CASE("check_endpoint accepts addresses and names with a port only") {
  for (const char* uri : {"tcp://127.0.0.1:4506", "tcp://salt.example.org:1", "tcp://salt_master-2:65535",
                          "tcp://[::1]:4506", "tcp://[fe80::1%eth0]:4506"}) {
    CHECK_MESSAGE(check_endpoint(uri), uri);
  }
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

TEST_CASE("after a failure one request at a time tries to connect") {
  constexpr milliseconds kTimeout{300};
  constexpr SteadyTime kStart{std::chrono::hours(1)};
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

TEST_CASE("idle connections are closed after a minute") {
  zmq::context_t context{1};
  IdleConnections idle;
  const auto put = [&](int seconds) {
    auto made = MasterConnection::make(context, {"tcp://127.0.0.1:1", 1});
    REQUIRE(made);
    idle.put(*std::move(made), SteadyTime(std::chrono::seconds(seconds)));
  };
  for (const int seconds : {0, 1, 59}) put(seconds);
  CHECK(idle.size() == 3);
  put(61);
  CHECK(idle.size() == 2);
}

}  // namespace rest_fcgi::salt
