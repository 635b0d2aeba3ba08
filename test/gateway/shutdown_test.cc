// SPDX-License-Identifier: MIT
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "served.h"

using namespace rest_fcgi;
using namespace rest_fcgi::gateway;
using namespace rest_fcgi::gateway::test;
using namespace rest_fcgi::test;

namespace {

http::Application behind(Door& door) {
  return [&door](const http::Environ& request) {
    door.pass();
    return echo(request);
  };
}

Options threads_up_to(std::size_t max) {
  Options options;
  options.min_threads = 1;
  options.max_threads = max;
  return options;
}

http::Application saying(const std::string& text) {
  return [text](const http::Environ&) { return http::Response{http::Status::ok, {}, text}; };
}

}  // namespace

TEST_CASE("at the end requests in flight are finished, and nobody else gets in") {
  Door door;
  Served served(behind(door), threads_up_to(10));
  FcgiClient busy = served.connect();
  busy.send(post("in flight"));
  CHECK(door.waiting(1) == 1);
  served.signal(SIGTERM);
  CHECK(eventually([&] { return !served.connect().connected(); }));
  door.open();
  CHECK(busy.reply().body == "in flight");
  served.wait();
}

TEST_CASE("at the end connections that waited for a thread are answered") {
  Door door;
  Options options = threads_up_to(1);
  SUBCASE("on a unix socket") {}
  const int port = free_port();
  SUBCASE("over TCP") {
    options.listen = "tcp:127.0.0.1:" + std::to_string(port);
  }
  Served served(behind(door), options);
  const auto connect = [&] { return options.listen.empty() ? served.connect() : FcgiClient::tcp(port); };
  std::vector<FcgiClient> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(connect());
    CHECK(clients.back().send(post("client " + std::to_string(i))));
  }
  CHECK(door.waiting(1) == 1);
  served.signal(SIGTERM);
  CHECK(eventually([&] { return !connect().connected(); }));
  door.open();
  for (int i = 0; i < 6; ++i)
    CHECK(clients[static_cast<std::size_t>(i)].reply().body == "client " + std::to_string(i));
  served.wait();
}

TEST_CASE("at the end a connection that waited may still be about to send its request") {
  Door door;
  Served served(behind(door), threads_up_to(1));
  FcgiClient busy = served.connect();
  busy.send(post("in flight"));
  CHECK(door.waiting(1) == 1);
  FcgiClient late = served.connect();
  served.signal(SIGTERM);
  CHECK(eventually([&] { return !served.connect().connected(); }));
  door.open();
  CHECK(busy.reply().body == "in flight");
  CHECK(late.request(post("late")).body == "late");
  served.wait();
}

TEST_CASE("at the end kept connections are closed, idle ones at once and busy ones after the answer") {
  Door door;
  Served served(
      [&](const http::Environ& request) {
        if (*request.body == "slow") door.pass();
        return echo(request);
      },
      threads_up_to(10));
  FcgiClient idle = served.connect();
  FcgiClient busy = served.connect();
  CHECK(idle.request(post("kept", {}, true)).ended);
  busy.send(post("slow", {}, true));
  CHECK(door.waiting(1) == 1);
  served.signal(SIGTERM);
  CHECK(idle.closed_within(milliseconds(10000)));
  door.open();
  CHECK(busy.reply().body == "slow");
  CHECK(busy.closed_within(milliseconds(10000)));
  served.wait();
}

TEST_CASE("the time for the end counts from the signal, and is not used up without need") {
  Options options;
  options.shutdown_timeout = std::chrono::hours(1);
  Served served(echo, options);
  const auto start = std::chrono::steady_clock::now();
  const Ended ended = served.stop();
  const auto end = std::chrono::steady_clock::now();
  CHECK(ended.in_flight == 0);
  CHECK(ended.deadline >= start + options.shutdown_timeout);
  CHECK(ended.deadline <= end + options.shutdown_timeout);
  CHECK(end - start < std::chrono::seconds(10));
}

TEST_CASE("a request that does not end in time is left behind, and may still end without harm") {
  const auto door = std::make_shared<Door>();
  {
    Options options = threads_up_to(10);
    options.shutdown_timeout = milliseconds(0);  // threads that have nothing to do are not counted
    // Shared, as what an application needs has to be when threads are left behind.
    Served served(
        [door](const http::Environ& request) {
          door->pass();
          return echo(request);
        },
        options);
    FcgiClient stuck = served.connect();
    stuck.send(post("stuck"));
    CHECK(door->waiting(1) == 1);
    const Ended ended = served.stop();
    CHECK(ended.in_flight == 1);
    CHECK(std::chrono::steady_clock::now() >= ended.deadline);
    CHECK(served.log().has("1 requests did not end within shutdown_timeout"));
  }
  door->open();
  CHECK(eventually([&] { return workers() == 0; }));
}

TEST_CASE("the application is gone when serve returns") {
  for (int i = 0; i < 100; ++i) {
    auto inside = std::make_shared<int>(0);
    const std::weak_ptr<int> watched = inside;
    Served served([inside = std::move(inside)](const http::Environ& request) { return echo(request); });
    CHECK(served.connect().request(post("x")).ended);
    served.stop();
    CHECK(watched.expired());
  }
}

TEST_CASE(
    "at the end a kept connection that was just used may bring one more request, and is closed after it") {
  const auto is_served = [] {
    Served served(echo, threads_up_to(10));
    FcgiClient kept = served.connect();
    CHECK(kept.request(post("first", {}, true)).body == "first");
    served.signal(SIGTERM);
    CHECK(eventually([&] { return !served.connect().connected(); }));
    std::this_thread::sleep_for(milliseconds(50));  // it stops a moment after it listens no more
    const bool answered = kept.request(post("last", {}, true)).body == "last";
    CHECK(kept.closed_within(milliseconds(10000)));
    served.wait();
    return answered;
  };
  // A busy machine may take longer than the second that there is.
  bool was_served = false;
  for (int i = 0; i < 10 && !was_served; ++i) was_served = is_served();
  CHECK(was_served);
}

TEST_CASE("SIGHUP brings the next application, also on kept connections") {
  Served served(saying("old"), {}, [] { return saying("new"); });
  FcgiClient kept = served.connect();
  CHECK(kept.request(post("", {}, true)).body == "old");
  served.signal(SIGHUP);
  CHECK(eventually([&] { return served.connect().request(post("")).body == "new"; }));
  CHECK(kept.request(post("", {}, true)).body == "new");
  CHECK(eventually([&] { return served.log().has("configuration reread"); }));
}

TEST_CASE("a request in flight goes on with the application it began with") {
  Door door;
  Served served(
      [&](const http::Environ&) {
        door.pass();
        return http::Response{http::Status::ok, {}, "old"};
      },
      {}, [] { return saying("new"); });
  FcgiClient client = served.connect();
  client.send(post(""));
  CHECK(door.waiting(1) == 1);
  served.signal(SIGHUP);
  CHECK(eventually([&] { return served.log().has("configuration reread"); }));
  door.open();
  CHECK(client.reply().body == "old");
}

TEST_CASE("an application that was replaced is gone soon, also where no request comes") {
  auto inside = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = inside;
  Options options;
  options.idle_thread_timeout = milliseconds(50);
  Served served([inside = std::move(inside)](const http::Environ& request) { return echo(request); }, options,
                [] { return saying("new"); });
  CHECK(served.connect().request(post("x")).body == "x");
  served.signal(SIGHUP);
  CHECK(eventually([&] { return watched.expired(); }));
}

TEST_CASE("an idle kept connection does not keep an application that was replaced") {
  auto inside = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = inside;
  Served served([inside = std::move(inside)](const http::Environ& request) { return echo(request); }, {},
                [] { return saying("new"); });
  FcgiClient kept = served.connect();
  CHECK(kept.request(post("x", {}, true)).body == "x");
  served.signal(SIGHUP);
  CHECK(eventually([&] { return watched.expired(); }));
  CHECK(kept.request(post("x", {}, true)).body == "new");
}

TEST_CASE("an exception in a reload leaves the old application in place") {
  Served served(saying("old"), {}, []() -> Result<http::Application> {
    throw std::runtime_error("of a library, with a secret");
  });
  served.signal(SIGHUP);
  CHECK(eventually(
      [&] { return served.log().has("going on with the old configuration: std::runtime_error"); }));
  CHECK(!served.log().has("secret"));
  CHECK(served.connect().request(post("")).body == "old");
}

TEST_CASE("after a SIGHUP with a configuration that is wrong the old one serves on, and the log says why") {
  Served served(saying("old"), {}, []() -> Result<http::Application> {
    return Error{ErrorKind::configuration, "/etc/salt/master:7: rest_fcgi: unknown key 'x'", {}};
  });
  served.signal(SIGHUP);
  CHECK(eventually([&] {
    return served.log().has(
        "going on with the old configuration: /etc/salt/master:7: rest_fcgi: unknown key 'x'");
  }));
  CHECK(served.connect().request(post("")).body == "old");
  CHECK(!served.log().has("configuration reread"));
}
