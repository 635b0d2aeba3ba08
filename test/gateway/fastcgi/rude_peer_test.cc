// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../served.h"

using namespace rest_fcgi;
using namespace rest_fcgi::gateway;
using namespace rest_fcgi::gateway::test;
using namespace rest_fcgi::test;

namespace {

constexpr int kRounds = 200;

/// Always the same threads, so that the number of open files does not depend on them.
Options two_threads() {
  Options options;
  options.min_threads = 2;
  options.max_threads = 2;
  options.receive_timeout = milliseconds(5000);
  return options;
}

/// Counts the requests that reach it.
struct Counting {
  std::shared_ptr<std::atomic<int>> calls = std::make_shared<std::atomic<int>>(0);
  http::Response operator()(const http::Environ& environ) const {
    ++*calls;
    return echo(environ);
  }
};

std::string request_head(const Variables& variables) {
  return begin_request(false) + params(variables);
}

/// How many files are open once both threads have theirs: one waits for the rest of a request, so that it is
/// the other one that answers.
std::ptrdiff_t files_of_both_threads(const Served& served) {
  {
    FcgiClient slow = served.connect();
    slow.send(request_head({{"REQUEST_METHOD", "POST"}}));
    CHECK(served.connect().request(post("before")).ended);
  }
  std::ptrdiff_t files = 0;
  REQUIRE(eventually([&] { return std::exchange(files, open_files()) == open_files(); }));
  return files;
}

/// Opens a connection for each round, lets `be_rude` at it, and closes it. In the end nothing is left open,
/// nothing reached the application but `calls` requests, and it still serves.
void check_rounds(int calls, const std::function<void(FcgiClient&)>& be_rude) {
  const Counting counting;
  Served served(counting, two_threads());
  const std::ptrdiff_t before = files_of_both_threads(served);
  for (int i = 0; i < kRounds; ++i) {
    FcgiClient client = served.connect();
    REQUIRE(client.connected());
    be_rude(client);
  }
  CHECK(served.connect().request(post("after")).body == "after");
  CHECK_MESSAGE(eventually([&] { return open_files() <= before; }), open_files(), " files, before ", before);
  CHECK(*counting.calls == calls + 2);
}

}  // namespace

TEST_CASE("fcgi2#32 and fcgi2#60: peers that close at once leave nothing behind") {
  check_rounds(0, [](FcgiClient&) {});
}

TEST_CASE("peers that close in the middle of a record's header leave nothing behind") {
  check_rounds(0, [](FcgiClient& client) { client.send(post("x").substr(0, 5)); });
}

TEST_CASE("a request whose variables are cut off is not run, wherever the cut is") {
  const std::string first = name_values({{"REQUEST_METHOD", "POST"}});
  SUBCASE("inside a value") {
    check_rounds(
        0, [&](FcgiClient& client) { client.send(begin_request(false) + record(4, first).substr(0, 20)); });
  }
  SUBCASE("between two variables") {
    check_rounds(0, [&](FcgiClient& client) { client.send(begin_request(false) + record(4, first)); });
  }
  SUBCASE("in a length") {
    check_rounds(0, [&](FcgiClient& client) { client.send(begin_request(false) + record(4, "\x80\x01")); });
  }
}

TEST_CASE("variables that announce the largest length there is close the connection and nothing else") {
  const std::string huge = "\xFF\xFF\xFF\xFF";
  for (const std::string& lengths : {huge + huge, huge + "\x01", "\x01" + huge}) {
    check_rounds(0, [&](FcgiClient& client) {
      client.send(begin_request(false) + record(4, lengths + std::string(5000, 'x')) + record(4, ""));
      client.send(stdin_stream(""));
    });
  }
}

TEST_CASE("a request whose body is cut off is not run") {
  check_rounds(0, [](FcgiClient& client) {
    client.send(request_head({{"REQUEST_METHOD", "POST"}, {"CONTENT_LENGTH", "10"}}) + record(5, "12345"));
  });
}

TEST_CASE("peers that close instead of reading a large answer leave nothing behind") {
  const Counting counting;
  const std::string large(2'000'000, 'x');
  Served served(
      [&](const http::Environ&) {
        return http::Response{http::Status::ok, {}, large};
      },
      two_threads());
  const std::ptrdiff_t before = files_of_both_threads(served);
  for (int i = 0; i < kRounds; ++i) {
    FcgiClient client = served.connect();
    client.send(post(""));
    CHECK(!client.read_some(1000).empty());
  }
  CHECK(served.connect().request(post("")).body.size() == large.size());
  CHECK_MESSAGE(eventually([&] { return open_files() <= before; }), open_files(), " files, before ", before);
}

TEST_CASE("garbage closes the connection and nothing else") {
  check_rounds(0, [](FcgiClient& client) {
    client.send("GET / HTTP/1.1\r\nHost: salt\r\n\r\n");
    CHECK(client.closed_within(milliseconds(5000)));
  });
}

TEST_CASE("records out of their order close the connection") {
  check_rounds(0, [](FcgiClient& client) {
    client.send(begin_request(false) + stdin_stream("body before variables"));
    CHECK(client.closed_within(milliseconds(5000)));
  });
}

TEST_CASE("a role other than RESPONDER closes the connection") {
  for (const int role : {2, 3, 77}) {
    check_rounds(0, [role](FcgiClient& client) {
      client.send(begin_request(false, role) + params({{"REQUEST_METHOD", "POST"}}) + stdin_stream(""));
      CHECK(client.closed_within(milliseconds(5000)));
    });
  }
}

TEST_CASE("a request that is aborted before its body is whole is not run") {
  check_rounds(0, [](FcgiClient& client) {
    client.send(request_head({{"REQUEST_METHOD", "POST"}}) + record(kAbortRequest, ""));
    CHECK(client.closed_within(milliseconds(5000)));
  });
}

TEST_CASE("256 KiB of variables are read") {
  Served served(echo, two_threads());
  const std::string value(250 << 10, 'x');
  CHECK(served.connect().request(post("large", {{"HTTP_X", value}})).body == "large");
}

TEST_CASE("silent peers on all threads hold a request up for the receive time-out and no longer") {
  Options options = two_threads();
  options.receive_timeout = milliseconds(2000);
  Served served(echo, options);
  std::vector<FcgiClient> silent;
  for (int i = 0; i < 2; ++i) {
    silent.push_back(served.connect());
    silent.back().send(post("x").substr(0, 4));
  }
  const auto start = std::chrono::steady_clock::now();
  CHECK(served.connect().request(post("patient")).body == "patient");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(15));
}

TEST_CASE("a peer that does not read holds a thread for the send time-out and no longer") {
  Options options = two_threads();
  options.send_timeout = milliseconds(200);
  const std::string large(20'000'000, 'x');
  Served served(
      [&](const http::Environ& request) {
        return *request.body == "large" ? http::Response{http::Status::ok, {}, large} : echo(request);
      },
      options);
  std::vector<FcgiClient> deaf;
  for (int i = 0; i < 2; ++i) {
    deaf.push_back(served.connect());
    deaf.back().send(post("large"));
    CHECK(!deaf.back().read_some(8).empty());
  }
  const auto start = std::chrono::steady_clock::now();
  CHECK(served.connect().request(post("patient")).body == "patient");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(15));
  CHECK(served.log().has("the web server did not take a reply: send_timeout is over"));
}

TEST_CASE("an answer that nobody takes is logged once") {
  const std::string large(2'000'000, 'x');
  Served served(
      [&](const http::Environ&) {
        return http::Response{http::Status::ok, {}, large};
      },
      two_threads());
  FcgiClient client = served.connect();
  client.send(post(""));
  CHECK(!client.read_some(8).empty());
  client.close();
  CHECK(eventually([&] { return served.log().has("the web server did not take a reply: "); }));
  const std::string text = served.log().text();
  CHECK(text.find("did not take") == text.rfind("did not take"));
}

TEST_CASE("a CONTENT_LENGTH that lies is answered for, and the connection kept") {
  Options options = two_threads();
  options.max_request_body_size = 1000;
  Served served(echo, options);
  FcgiClient client = served.connect();
  const auto reply = [&](const std::string& length, const std::string& body) {
    return client.request(begin_request(true) + params({{"CONTENT_LENGTH", length}}) + stdin_stream(body))
        .body;
  };
  const std::string too_large = "Request body is larger than max_request_body_size (1000 bytes)";
  CHECK(reply("5", "abc") == "Request body has 3 bytes, and CONTENT_LENGTH says 5");
  CHECK(reply("5", "abcdefg") == "Request body has 7 bytes, and CONTENT_LENGTH says 5");
  CHECK(reply("5", std::string(1001, 'x')) == too_large);
  CHECK(reply("1001", "abc") == too_large);
  CHECK(reply("", std::string(200'000, 'x')) == too_large);
  CHECK(reply("-3", "abc") == "CONTENT_LENGTH is '-3', and has to be a number of bytes in decimal digits");
  CHECK(reply("", "abc") == "abc");
  CHECK(reply("3", "abc") == "abc");
}

TEST_CASE("a web server that sends far too much gets its answer all the same") {
  Options options = two_threads();
  options.max_request_body_size = 1000;
  Served served(echo, options);
  FcgiClient client = served.connect();
  const std::string body(5'000'000, 'x');
  const FcgiReply reply = client.request(post(body, {}, true));
  CHECK(reply.body == "Request body is larger than max_request_body_size (1000 bytes)");
  CHECK(client.request(post("fine", {}, true)).body == "fine");
}

TEST_CASE("a connection on which the body never ends is closed") {
  Options options = two_threads();
  options.max_request_body_size = 1000;
  Served served(echo, options);
  FcgiClient client = served.connect();
  client.send(post(std::string(9'000'000, 'x'), {}, true));
  CHECK(client.closed_within(milliseconds(10000)));
}
