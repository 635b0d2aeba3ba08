// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../running_gateway.h"

using namespace rest_fcgi;
using namespace rest_fcgi::gateway;
using namespace rest_fcgi::gateway::test;
using namespace rest_fcgi::test;

namespace {

constexpr int kRounds = 200;

Options two_threads() {
  Options options;
  options.min_threads = 2;
  options.max_threads = 2;
  options.receive_timeout = milliseconds(5000);
  return options;
}

std::string request_head(const Variables& variables) {
  return begin_request(false) + params(variables);
}

/// Both threads of the server handle a request first, so that the descriptors of each thread are open.
std::ptrdiff_t open_files_of_idle_server(const RunningGateway& server) {
  {
    FcgiClient slow = server.connect();
    slow.send(request_head({{"REQUEST_METHOD", "POST"}}));
    CHECK(server.connect().request(post("before")).ended);
  }
  return settled_open_files();
}

/// Checks that no request of a misbehaving client reaches the application, and that all descriptors are
/// closed.
void check_not_run(const std::function<void(FcgiClient&)>& misbehave) {
  std::atomic<int> calls = 0;
  RunningGateway server(
      [&calls](const http::Environ& environ) {
        ++calls;
        return echo(environ);
      },
      two_threads());
  const std::ptrdiff_t before = open_files_of_idle_server(server);
  for (int i = 0; i < kRounds; ++i) {
    FcgiClient client = server.connect();
    REQUIRE(client.connected());
    misbehave(client);
  }
  CHECK(server.connect().request(post("after")).body == "after");
  CHECK_MESSAGE(eventually([&] { return open_files() <= before; }), open_files(), " files, before ", before);
  CHECK(calls == 2);
}

}  // namespace

TEST_CASE("fcgi2#32 and fcgi2#60: an incomplete request is not run and leaves no open descriptor") {
  const std::string method = name_values({{"REQUEST_METHOD", "POST"}});
  struct Row {
    const char* cut;
    std::string sent;
  };
  const Row rows[] = {
      {"before the first byte", ""},
      {"in the header of a record", post("x").substr(0, 5)},
      {"in the value of a variable", begin_request(false) + record(4, method).substr(0, 20)},
      {"between two variables", begin_request(false) + record(4, method)},
      {"in the length of a variable", begin_request(false) + record(4, "\x80\x01")},
      {"in the body",
       request_head({{"REQUEST_METHOD", "POST"}, {"CONTENT_LENGTH", "10"}}) + record(5, "12345")},
  };
  for (const Row& row : rows) {
    CAPTURE(row.cut);
    check_not_run([&](FcgiClient& client) { client.send(row.sent); });
  }
}

TEST_CASE("a variable that announces the largest length is not run and leaves no open descriptor") {
  const std::string huge = "\xFF\xFF\xFF\xFF";
  for (const std::string& lengths : {huge + huge, huge + "\x01", "\x01" + huge}) {
    check_not_run([&](FcgiClient& client) {
      client.send(begin_request(false) + record(4, lengths + std::string(5000, 'x')) + record(4, ""));
      client.send(stdin_stream(""));
    });
  }
}

TEST_CASE("an invalid or aborted FastCGI request closes the connection and leaves no open descriptor") {
  const auto with_role = [](int role) {
    return begin_request(false, role) + params({{"REQUEST_METHOD", "POST"}}) + stdin_stream("");
  };
  struct Row {
    const char* what;
    std::string sent;
  };
  const Row rows[] = {
      {"HTTP", "GET / HTTP/1.1\r\nHost: salt\r\n\r\n"},
      {"a body before the variables", begin_request(false) + stdin_stream("body before variables")},
      {"the role AUTHORIZER", with_role(2)},
      {"the role FILTER", with_role(3)},
      {"an unknown role", with_role(77)},
      {"FCGI_ABORT_REQUEST before the body",
       request_head({{"REQUEST_METHOD", "POST"}}) + record(kAbortRequest, "")},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    check_not_run([&](FcgiClient& client) {
      client.send(row.sent);
      CHECK(client.closed_within(milliseconds(5000)));
    });
  }
}

TEST_CASE("a peer that closes while a large reply is sent leaves no open descriptor") {
  const std::string large(2'000'000, 'x');
  RunningGateway server(
      [&](const http::Environ&) {
        return http::Response{http::Status::ok, {}, large};
      },
      two_threads());
  const std::ptrdiff_t before = open_files_of_idle_server(server);
  for (int i = 0; i < kRounds; ++i) {
    FcgiClient client = server.connect();
    client.send(post(""));
    CHECK(!client.read_some(1000).empty());
  }
  CHECK(server.connect().request(post("")).body.size() == large.size());
  CHECK_MESSAGE(eventually([&] { return open_files() <= before; }), open_files(), " files, before ", before);
}

TEST_CASE("silent peers occupy threads for receive_timeout at most") {
  Options options = two_threads();
  options.receive_timeout = milliseconds(500);
  RunningGateway server(echo, options);
  std::vector<FcgiClient> silent;
  for (int i = 0; i < 2; ++i) {
    silent.push_back(server.connect());
    silent.back().send(post("x").substr(0, 4));
  }
  const auto start = std::chrono::steady_clock::now();
  CHECK(server.connect().request(post("patient")).body == "patient");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(15));
}

TEST_CASE("a peer that does not read its reply occupies a thread for send_timeout at most") {
  Options options = two_threads();
  options.send_timeout = milliseconds(200);
  const std::string large(20'000'000, 'x');
  RunningGateway server(
      [&](const http::Environ& request) {
        return *request.body == "large" ? http::Response{http::Status::ok, {}, large} : echo(request);
      },
      options);
  std::vector<FcgiClient> not_reading;
  for (int i = 0; i < 2; ++i) {
    not_reading.push_back(server.connect());
    not_reading.back().send(post("large"));
    CHECK(!not_reading.back().read_some(8).empty());
  }
  const auto start = std::chrono::steady_clock::now();
  CHECK(server.connect().request(post("patient")).body == "patient");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(15));
  CHECK(server.log().has("the web server did not read a reply: send_timeout"));
}

TEST_CASE("fcgi2#60: a reply that the web server does not read is logged once") {
  const std::string large(2'000'000, 'x');
  RunningGateway server(
      [&](const http::Environ&) {
        return http::Response{http::Status::ok, {}, large};
      },
      two_threads());
  FcgiClient client = server.connect();
  client.send(post(""));
  CHECK(!client.read_some(8).empty());
  client.close();
  CHECK(eventually([&] { return server.log().has("the web server did not read a reply: "); }));
  const std::string text = server.log().text();
  CHECK(text.find("did not read") == text.rfind("did not read"));
}

TEST_CASE(
    "a body that differs from CONTENT_LENGTH is refused, and the connection is kept for up to 128 MiB") {
  Options options = two_threads();
  options.max_request_body_size = 1000;
  RunningGateway server(echo, options);
  FcgiClient client = server.connect();
  const auto reply = [&](const std::string& length, const std::string& body) {
    return client.request(begin_request(true) + params({{"CONTENT_LENGTH", length}}) + stdin_stream(body))
        .body;
  };
  const std::string too_large = "Request body is larger than max_request_body_size (1000 bytes)";
  CHECK(reply("5", "abc") == "Request body: found 3 bytes, expected 5 as in CONTENT_LENGTH");
  CHECK(reply("5", "abcdefg") == "Request body: found 7 bytes, expected 5 as in CONTENT_LENGTH");
  CHECK(reply("5", std::string(1001, 'x')) == too_large);
  CHECK(reply("1001", "abc") == too_large);
  CHECK(reply("", std::string(200'000, 'x')) == too_large);
  CHECK(reply("-3", "abc").starts_with("CONTENT_LENGTH: found '-3', "));
  CHECK(reply("", "abc") == "abc");
  CHECK(reply("3", "abc") == "abc");
  client.send(post(std::string(140'000'000, 'x'), {}, true));
  CHECK(client.closed_within(milliseconds(10000)));
}
