// SPDX-License-Identifier: MIT
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include "running_gateway.h"

using namespace rest_fcgi;
using namespace rest_fcgi::gateway;
using namespace rest_fcgi::gateway::test;
using namespace rest_fcgi::test;

namespace {

Options threads_up_to(std::size_t max) {
  Options options;
  options.min_threads = 1;
  options.max_threads = max;
  return options;
}

}  // namespace

TEST_CASE("SIGTERM refuses new connections, and lets requests on older connections be answered") {
  Door door;
  Options options = threads_up_to(1);
  SUBCASE("on a unix socket") {}
  const int port = unused_port();
  SUBCASE("over TCP") {
    options.listen = "tcp:127.0.0.1:" + std::to_string(port);
  }
  RunningGateway server(block_slow_requests_at(door), options);
  const auto connect = [&] { return options.listen.empty() ? server.connect() : FcgiClient::tcp(port); };
  FcgiClient running = connect();
  running.send(post("slow"));
  CHECK(door.waiting(1) == 1);
  FcgiClient waiting = connect();
  waiting.send(post("waiting"));
  FcgiClient late = connect();
  server.signal(SIGTERM);
  CHECK(eventually([&] { return !connect().connected(); }));
  door.open();
  CHECK(running.reply().body == "slow");
  CHECK(waiting.reply().body == "waiting");
  CHECK(late.request(post("late")).body == "late");
  server.wait();
}

TEST_CASE("SIGTERM closes idle connections at once, and busy connections after the reply") {
  Door door;
  RunningGateway server(block_slow_requests_at(door), threads_up_to(10));
  FcgiClient idle = server.connect();
  FcgiClient busy = server.connect();
  CHECK(idle.request(post("kept", {}, true)).ended);
  busy.send(post("slow", {}, true));
  CHECK(door.waiting(1) == 1);
  server.signal(SIGTERM);
  CHECK(idle.closed_within(milliseconds(10000)));
  door.open();
  CHECK(busy.reply().body == "slow");
  CHECK(busy.closed_within(milliseconds(10000)));
  server.wait();
}

TEST_CASE("serve counts requests that outlast shutdown_timeout, and their threads end later") {
  const auto door = std::make_shared<Door>();
  {
    Options options = threads_up_to(10);
    options.shutdown_timeout = milliseconds(0);
    // The door is shared, because a thread of the server uses it after the gateway is destroyed.
    RunningGateway server(
        [door](const http::Environ& request) {
          door->pass();
          return echo(request);
        },
        options);
    FcgiClient stuck = server.connect();
    stuck.send(post("stuck"));
    CHECK(door->waiting(1) == 1);
    const Ended ended = server.stop();
    CHECK(ended.in_flight == 1);
    CHECK(std::chrono::steady_clock::now() >= ended.deadline);
    CHECK(server.log().has("1 requests did not end within shutdown_timeout"));
  }
  door->open();
  CHECK(eventually([&] { return worker_threads() == 0; }));
}

TEST_CASE("serve destroys the application before it returns") {
  auto inside = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = inside;
  RunningGateway server([inside = std::move(inside)](const http::Environ& request) { return echo(request); });
  CHECK(server.connect().request(post("x")).ended);
  server.stop();
  CHECK(watched.expired());
}

TEST_CASE("SIGHUP replaces the application for all connections, but not for a request in flight") {
  Door door;
  RunningGateway server(
      [&door](const http::Environ& request) {
        if (*request.body == "slow") door.pass();
        return http::Response{http::Status::ok, {}, "old"};
      },
      {}, [] { return reply_with("new"); });
  FcgiClient kept = server.connect();
  CHECK(kept.request(post("", {}, true)).body == "old");
  FcgiClient busy = server.connect();
  busy.send(post("slow"));
  CHECK(door.waiting(1) == 1);
  server.signal(SIGHUP);
  CHECK(eventually([&] { return kept.request(post("", {}, true)).body == "new"; }));
  CHECK(eventually([&] { return server.log().has("configuration reread"); }));
  door.open();
  CHECK(busy.reply().body == "old");
}

TEST_CASE("a reload that fails keeps the old application, and the log names the error without secrets") {
  struct Row {
    std::function<Result<http::Application>()> reload;
    std::string logged;
  };
  const Row rows[] = {
      {[]() -> Result<http::Application> { throw std::runtime_error("of a library, with a secret"); },
       "std::runtime_error"},
      {[]() -> Result<http::Application> {
         return Error{ErrorKind::configuration, "/etc/salt/master:7: rest_fcgi: unknown key 'x'", {}};
       },
       "/etc/salt/master:7: rest_fcgi: unknown key 'x'"},
  };
  for (const Row& row : rows) {
    RunningGateway server(reply_with("old"), {}, row.reload);
    server.signal(SIGHUP);
    CHECK(eventually([&] { return server.log().has("the old configuration stays in use: " + row.logged); }));
    CHECK(!server.log().has("secret"));
    CHECK(!server.log().has("configuration reread"));
    CHECK(server.connect().request(post("")).body == "old");
  }
}
