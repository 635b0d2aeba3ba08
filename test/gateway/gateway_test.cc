// SPDX-License-Identifier: MIT
#include "rest_fcgi/gateway/gateway.h"

#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../support/limit.h"
#include "rest_fcgi/core/unique_fd.h"
#include "running_gateway.h"

using namespace rest_fcgi;
using namespace rest_fcgi::gateway;
using namespace rest_fcgi::gateway::test;
using namespace rest_fcgi::test;

namespace {

http::Response show_variables(const http::Environ& environ) {
  std::string text;
  for (const char* name : {"REQUEST_METHOD", "PATH_INFO", "HTTP_X_ONCE", "CONTENT_LENGTH"}) {
    text.append(name).append("=").append(environ.get(name)).append("\n");
  }
  return {http::Status::ok, {}, text};
}

}  // namespace

TEST_CASE("a FastCGI request over a unix socket or TCP gets the application's reply") {
  for (const bool is_tcp : {false, true}) {
    CAPTURE(is_tcp);
    const int port = unused_port();
    Options options;
    if (is_tcp) options.listen = "tcp:127.0.0.1:" + std::to_string(port);
    RunningGateway server(echo, options);
    FcgiClient client = is_tcp ? FcgiClient::tcp(port) : server.connect();
    const FcgiReply reply = client.request(post("[{\"client\": \"local\"}]"));
    CHECK(reply.ended);
    CHECK(reply.header("Status") == "200 OK");
    CHECK(reply.header("Content-Type") == "text/plain");
    CHECK(reply.header("Content-Length") == "21");
    CHECK(reply.body == "[{\"client\": \"local\"}]");
  }
}

TEST_CASE("a connection is kept while FCGI_KEEP_CONN is set, but not longer than keep_conn_timeout") {
  {
    RunningGateway server(echo);  // The option keep_conn_timeout is longer than the test.
    FcgiClient client = server.connect();
    for (int i = 0; i < 50; ++i) {
      const std::string body = "request " + std::to_string(i);
      CHECK(client.request(post(body, {}, true)).body == body);
    }
    CHECK(client.request(post("last")).body == "last");
    CHECK(client.closed_within(milliseconds(5000)));
  }
  Options options;
  options.keep_conn_timeout = milliseconds(50);
  RunningGateway server(echo, options);
  FcgiClient idle = server.connect();
  CHECK(idle.request(post("a", {}, true)).ended);
  CHECK(idle.closed_within(milliseconds(10000)));
}

TEST_CASE("CVE-2011-2766: variables of a request are absent from the next request on the connection") {
  RunningGateway server(show_variables);
  FcgiClient client = server.connect();
  const std::string first = client.request(post("12345", {{"HTTP_X_ONCE", "secret"}}, true)).body;
  CHECK(first == "REQUEST_METHOD=POST\nPATH_INFO=/\nHTTP_X_ONCE=secret\nCONTENT_LENGTH=5\n");
  const std::string second = client.request(begin_request(true) + params({}) + stdin_stream("")).body;
  CHECK(second == "REQUEST_METHOD=\nPATH_INFO=\nHTTP_X_ONCE=\nCONTENT_LENGTH=\n");
}

TEST_CASE("CVE-2025-40907: variables of the process's environment are absent from the request") {
  ::setenv("HTTP_X_ONCE", "of the process", 1);
  RunningGateway server(show_variables);
  CHECK(server.connect().request(post("")).body.find("HTTP_X_ONCE=\n") != std::string::npos);
  ::unsetenv("HTTP_X_ONCE");
}

TEST_CASE("a FastCGI request arrives complete with a variable of 250 KiB, or byte by byte") {
  RunningGateway server([](const http::Environ& request) {
    return http::Response{
        http::Status::ok, {}, std::to_string(request.get("HTTP_COOKIE").size()) + std::string(*request.body)};
  });
  CHECK(server.connect().request(post("", {{"HTTP_COOKIE", std::string(256'000, 'c')}})).body == "256000");
  FcgiClient client = server.connect();
  for (const char byte : post(" slowly", {{"HTTP_COOKIE", std::string(300, 'c')}})) {
    REQUIRE(client.send({&byte, 1}));
  }
  CHECK(client.reply().body == "300 slowly");
}

TEST_CASE("FastCGI sends a stream without Content-Length, and does not read it for HEAD") {
  RunningGateway server([](const http::Environ& request) {
    const bool broken = *request.body == "broken" || request.get("REQUEST_METHOD") == "HEAD";
    return http::Response{
        http::Status::ok,
        {{"X-A", "b"}},
        std::make_unique<StreamOfParts>(std::vector<std::string>{"one ", std::string(100'000, '2'), " three"},
                                        broken ? "disk on fire" : "")};
  });
  FcgiClient client = server.connect();
  const FcgiReply reply = client.request(post("", {}, true));
  CHECK(reply.head == "Status: 200 OK\r\nX-A: b");
  CHECK(reply.body == "one " + std::string(100'000, '2') + " three");
  const FcgiReply head =
      client.request(begin_request(true) + params({{"REQUEST_METHOD", "HEAD"}}) + stdin_stream(""));
  CHECK(head.ended);
  CHECK(head.head == reply.head);
  CHECK(head.body.empty());

  const FcgiReply cut = client.request(post("broken", {}, true));
  CHECK(!cut.ended);
  CHECK(cut.closed);
  CHECK(server.log().has("a reply was sent only in part: disk on fire"));
}

TEST_CASE("a request whose application throws is answered with 500, and the next one is served") {
  RunningGateway server([](const http::Environ& request) -> http::Response {
    if (*request.body == "memory") throw std::bad_alloc();
    if (*request.body == "logic") throw std::logic_error("secret text");
    if (*request.body == "odd") throw 7;
    return echo(request);
  });
  FcgiClient client = server.connect();
  for (const char* body : {"memory", "logic", "odd"}) {
    const FcgiReply reply = client.request(post(body, {}, true));
    CHECK(reply.status() == 500);
    CHECK(reply.body.empty());
  }
  CHECK(client.request(post("fine", {}, true)).body == "fine");
  CHECK(server.log().has("500 after an exception: std::bad_alloc"));
  CHECK(server.log().has("500 after an exception: std::logic_error"));
  CHECK(!server.log().has("secret text"));
}

namespace {

std::vector<FcgiClient> send_slow(const RunningGateway& server, std::size_t count) {
  std::vector<FcgiClient> clients;
  for (std::size_t i = 0; i < count; ++i) {
    clients.push_back(server.connect());
    CHECK(clients.back().send(post("slow")));
  }
  return clients;
}

void check_answered(std::vector<FcgiClient>& clients) {
  for (FcgiClient& client : clients) CHECK(client.reply().body == "slow");
}

Options threads_between(std::size_t min, std::size_t max) {
  Options options;
  options.min_threads = min;
  options.max_threads = max;
  options.idle_thread_timeout = milliseconds(100);
  return options;
}

}  // namespace

TEST_CASE("threads are added while requests are slow, and end after idle_thread_timeout") {
  Door door;
  RunningGateway server(block_slow_requests_at(door), threads_between(2, 100));
  auto slow = send_slow(server, 50);
  CHECK(door.waiting(50) == 50);
  CHECK(server.connect().request(post("fast")).body == "fast");
  CHECK(worker_threads() > 50);
  door.open();
  check_answered(slow);
  CHECK(eventually([&] { return worker_threads() == 2; }));
  CHECK(server.connect().request(post("later")).body == "later");
}

TEST_CASE("calls that wait without a Waiting delay other requests for less than a second each") {
  Door door;
  RunningGateway server(
      [&](const http::Environ& request) {
        if (request.body && *request.body == "slow") door.pass(false);
        return echo(request);
      },
      threads_between(2, 100));
  auto slow = send_slow(server, 8);
  CHECK(door.waiting(8) == 8);
  CHECK(server.connect().request(post("fast")).body == "fast");
  door.open();
  check_answered(slow);
  CHECK(eventually([&] { return worker_threads() == 2; }));
}

TEST_CASE("a silent peer does not delay the refusal of other requests") {
  Door door;
  Options options = threads_between(1, 1);
  options.max_waiting = 0;
  RunningGateway server(block_slow_requests_at(door), options);
  auto working = send_slow(server, 1);
  REQUIRE(door.waiting(1) == 1);
  const FcgiClient silent = server.connect();
  CHECK(eventually(
      [&] { return server.connect().request(post("x")).body.find("max_threads") != std::string::npos; }));
  door.open();
  check_answered(working);
}

TEST_CASE("hhvm#1690: idle kept connections do not occupy threads") {
  RunningGateway server(echo, threads_between(2, 2));
  std::vector<FcgiClient> kept;
  for (int i = 0; i < 10; ++i) {
    kept.push_back(server.connect());
    CHECK(kept.back().request(post("kept", {}, true)).body == "kept");
  }
}

TEST_CASE("accepting without free descriptors is logged once and succeeds later") {
  RunningGateway server(echo, threads_between(2, 2));
  REQUIRE(eventually([] { return worker_threads() == 2; }));
  const TempDir dir;
  REQUIRE(log::open({.level = log::Level::info, .file = dir / "log", .audit_file = {}}));
  std::ifstream file(dir /
                     "log");  // The file is opened here, because the test uses up all descriptors below.
  const auto is_logged_once = [&file] {
    file.clear();
    file.seekg(0);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::size_t at = text.find("cannot accept a connection, trying again: Too many open files");
    return at != std::string::npos && text.find("cannot accept", at + 1) == std::string::npos;
  };
  std::vector<FcgiClient> clients;
  {
    const Limit few_files(RLIMIT_NOFILE, 1024);
    std::vector<UniqueFd> others;
    while (others.emplace_back(::dup(0)).is_open()) continue;
    others.resize(others.size() - 2);  // The client's socket needs one descriptor.
    clients.push_back(server.connect());
    CHECK(clients.back().connected());
    CHECK(eventually(is_logged_once));
    std::this_thread::sleep_for(milliseconds(250));
  }
  CHECK(clients.back().request(post("patient")).body == "patient");
  CHECK(is_logged_once());
}

TEST_CASE("CVE-2012-6687: connections with descriptors above 1024 are served") {
  RunningGateway server(echo);
  std::vector<UniqueFd> files;
  for (int i = 0; i < 1200; ++i) files.emplace_back(::dup(0));
  REQUIRE(files.back());
  CHECK(server.connect().request(post("high")).body == "high");
}

TEST_CASE("SIGTERM refuses new connections, and lets requests on older connections be answered") {
  Door door;
  Options options = threads_between(1, 1);
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
  RunningGateway server(block_slow_requests_at(door), threads_between(1, 10));
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
    Options options = threads_between(1, 10);
    options.shutdown_timeout = milliseconds(0);
    // A thread of the server uses the door after the gateway is destroyed.
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
    CHECK(ended.running == 1);
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
