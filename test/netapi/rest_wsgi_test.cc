// SPDX-License-Identifier: MIT
#include <chrono>
#include <new>
#include <optional>
#include <stdexcept>

#include <doctest/doctest.h>

#include "rest_fcgi/netapi/rest.h"
#include "wsgi.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;

namespace {

std::string reply_to(const Wsgi& wsgi, const std::string& method, const std::string& name,
                     const std::string& value) {
  http::Environ request;
  request.set("REQUEST_METHOD", method);
  request.set(name, value);
  return text_of(wsgi.call(request));
}

}  // namespace

TEST_CASE("rest_wsgi returns the result of each chunk") {
  const Wsgi wsgi;
  const http::Response response = wsgi.post("[" + Wsgi::chunk(kPingKeys) + ", " +
                                            Wsgi::chunk(R"("client": "runner", "fun": "manage.up")") + "]");
  CHECK(text_of(response) == R"(200 {"return": [{"ms-0": true, "ms-1": true, "ms-2": true}, ["ms-0"]]})");
  CHECK(header(response, "Content-Type") == "application/json");
}

TEST_CASE("GET / of rest_wsgi lists the enabled clients, and ssh only if the engine supports it") {
  client::Options options;
  options.enabled = {lowstate::Client::local, lowstate::Client::ssh};
  const Wsgi wsgi(options);
  const std::string greeting = reply_to(wsgi, "GET", "REQUEST_URI", "/");
  CHECK(greeting.starts_with(R"(200 {"return": "This is rest_)"));
  CHECK(greeting.ends_with(R"(, "clients": ["local", "ssh"]})"));
  CHECK(reply_to(wsgi, "HEAD", "REQUEST_URI", "/") == greeting);
  wsgi.master().has_ssh = false;
  CHECK(reply_to(wsgi, "GET", "REQUEST_URI", "/").find(R"("clients": ["local"]})") != std::string::npos);
}

TEST_CASE("rest_wsgi answers only the path /, and other methods with 405") {
  const Wsgi wsgi;
  for (const std::string method : {"PUT", "DELETE", "OPTIONS", "get", ""}) {
    CHECK(reply_to(wsgi, method, "REQUEST_URI", "/") == R"(405 {"return": "405: Method Not Allowed"})");
  }
  http::Environ request;
  request.set("REQUEST_METHOD", "PUT");
  CHECK(header(wsgi.call(request), "Allow") == "GET, HEAD, POST");
  CHECK(reply_to(wsgi, "GET", "REQUEST_URI", "/?x=/y").starts_with("200"));
  CHECK(reply_to(wsgi, "GET", "SCRIPT_NAME", "/salt").starts_with("200"));
  request.set("REQUEST_METHOD", "GET");
  request.set("REQUEST_URI", "/salt/");
  request.set("PATH_INFO", "/");
  CHECK(text_of(wsgi.call(request)).starts_with("200"));
}

TEST_CASE("rest_wsgi refuses bodies that are malformed, compressed or not declared as JSON") {
  const Wsgi wsgi;
  http::Environ request = Wsgi::post_of("[]");
  for (const std::string type :
       {"", "text/plain", "application/json; charset=latin1", "multipart/form-data; boundary=x"}) {
    request.set("CONTENT_TYPE", type);
    CHECK(text_of(wsgi.call(request)) == R"(406 {"return": "406: JSON required"})");
  }
  request = Wsgi::post_of("[]");
  request.set("HTTP_CONTENT_ENCODING", "UTF-8");
  CHECK(text_of(wsgi.call(request)) == R"(200 {"return": []})");
  request.set("HTTP_CONTENT_ENCODING", "identity, GZIP");
  CHECK(text_of(wsgi.call(request)).starts_with("415 "));
  CHECK(text_of(wsgi.post("")) == R"(400 {"return": "400: Expecting value: line 1, column 1"})");
  CHECK(text_of(wsgi.post("[nonsense]")) == R"(400 {"return": "400: Expecting value: line 1, column 2"})");
}

TEST_CASE("rest_wsgi refuses a body beyond its limit, and returns the front end's error about a body") {
  netapi::Options options;
  options.max_request_body_size = 2;
  const Wsgi wsgi(quick_options(), options);
  CHECK(text_of(wsgi.post("[]")) == R"(200 {"return": []})");
  CHECK(text_of(wsgi.post("[ ]")) ==
        R"x(413 {"return": "413: Request body is larger than rest_fcgi: max_request_body_size (2 bytes)"})x");
  http::Environ request = Wsgi::post_of("");
  request.body = Error{ErrorKind::too_large, "The body has more than 10 bytes", {}};
  CHECK(text_of(wsgi.call(request)) == R"(413 {"return": "413: The body has more than 10 bytes"})");
  request.body = Error{ErrorKind::malformed, "The body is short", {}};
  CHECK(text_of(wsgi.call(request)) == R"(400 {"return": "400: The body is short"})");
}

TEST_CASE("an internal error returns a reference to the log, and std::bad_alloc is answered with 503") {
  const Wsgi wsgi;
  wsgi.master().on_start = [](const std::string&) { return Error{ErrorKind::internal, "disk on fire", {}}; };
  const std::string text = text_of(wsgi.run(kPingKeys));
  const std::string start = R"(500 {"return": "An unexpected error occurred (reference )";
  REQUIRE(text.size() == start.size() + 8 + 3);
  CHECK(text.substr(0, start.size()) == start);
  CHECK(text.substr(start.size() + 8) == ")\"}");
  CHECK(wsgi.log().has("error 500 for 192.0.2.7: reference " + text.substr(start.size(), 8) +
                       ": disk on fire\n"));
  wsgi.master().on_start = [](const std::string&) -> std::optional<Error> { throw std::bad_alloc(); };
  const std::string memory = text_of(wsgi.run(kPingKeys));
  CHECK(memory.starts_with(R"(503 {"return": "Not enough memory)"));
}

namespace {

const std::string kGood = Wsgi::chunk(R"("client": "local_async", "tgt": "*", "fun": "test.ping")");

int status_with(const Wsgi& wsgi, const std::string& bad, std::size_t place) {
  std::vector<std::string> chunks(3, kGood);
  chunks[place] = bad;
  return static_cast<int>(wsgi.post("[" + chunks[0] + ", " + chunks[1] + ", " + chunks[2] + "]").status);
}

}  // namespace

TEST_CASE("a list with one bad chunk runs no chunk") {
  client::Options options = quick_options();
  options.enabled = {lowstate::Client::local, lowstate::Client::local_async};
  const Wsgi wsgi(options);
  wsgi.master().on_admit = [](const lowstate::Chunk& chunk) -> std::optional<Error> {
    if (chunk.local().functions.at(0).name != "not.allowed") return std::nullopt;
    return Error{ErrorKind::authorization, "Authorization error occurred.", {}};
  };
  const std::vector<std::pair<std::string, int>> bad{
      {"5", 400},
      {"{}", 400},
      {Wsgi::chunk(R"("client": "foo")"), 400},
      {Wsgi::chunk(R"("client": "local", "tgt": "*")"), 400},
      {Wsgi::chunk(R"("client": "local_batch", "tgt": "*", "fun": "test.ping", "batch": 0)"), 400},
      {Wsgi::chunk(R"("client": "wheel", "fun": "key.list_all")"), 400},
      {R"({"client": "local", "tgt": "*", "fun": "test.ping"})", 401},
      {R"({"client": "local", "tgt": "*", "fun": "test.ping", "eauth": "auto", "password": "wrong"})", 401},
      {Wsgi::chunk(R"("client": "local", "tgt": "*", "fun": "not.allowed")"), 401}};
  for (const auto& one : bad) {
    for (std::size_t place = 0; place < 3; ++place) {
      CHECK_MESSAGE(status_with(wsgi, one.first, place) == one.second, one.first);
    }
  }
  CHECK(wsgi.master().started().empty());
  CHECK(status_with(wsgi, kGood, 0) == 200);
}

TEST_CASE("the reply to a failure has the completed chunks, and later chunks do not run") {
  const Wsgi wsgi;
  wsgi.master().on_start = [](const std::string& what) -> std::optional<Error> {
    if (what != "runner") return std::nullopt;
    return Error{ErrorKind::unavailable, "Salt Master is not available.", {}};
  };
  const std::string batch =
      Wsgi::chunk(R"("client": "local_batch", "tgt": "*", "fun": "test.ping", "batch": "100%")");
  const std::string runner = Wsgi::chunk(R"("client": "runner", "fun": "manage.up")");
  const http::Response response = wsgi.post("[" + kGood + ", " + batch + ", " + runner + ", " + kGood + "]");
  CHECK(text_of(response) == R"(503 {"return": "Salt Master is not available.", "completed": [{"jid": ")" +
                                 fake_jid(1) + R"(", "return": {"jid": ")" + fake_jid(1) +
                                 R"(", "minions": ["ms-0", "ms-1", "ms-2"]}}, {"jid": ")" + fake_jid(3) +
                                 R"(", "return": [{"ms-0": true}, {"ms-1": true}, {"ms-2": true}]}]})");
  CHECK(wsgi.master().started() ==
        std::vector<std::string>{"async", "ping ms-0,ms-1,ms-2", "call ms-0,ms-1,ms-2"});
}

TEST_CASE("an exception keeps the results of earlier chunks, and writes an audit line") {
  const Wsgi wsgi;
  wsgi.master().on_start = [](const std::string& what) -> std::optional<Error> {
    if (what == "wheel") throw std::runtime_error("surprise");
    return std::nullopt;
  };
  const http::Response response =
      wsgi.post("[" + kGood + ", " + Wsgi::chunk(R"("client": "wheel", "fun": "key.list")") + "]");
  CHECK(response.status == http::Status::internal_server_error);
  CHECK(response.text().find("surprise") == std::string::npos);
  CHECK(response.text().find(R"("completed": [{"jid": ")" + fake_jid(1)) != std::string::npos);
  CHECK(wsgi.log().has("surprise"));
  const std::size_t before = wsgi.log().count("outcome=failed");
  wsgi.master().on_admit = [](const lowstate::Chunk&) -> std::optional<Error> {
    throw std::runtime_error("surprise");
  };
  CHECK(wsgi.post("[" + kGood + "]").status == http::Status::internal_server_error);
  CHECK(wsgi.log().count("outcome=failed") == before + 1);
}

TEST_CASE("request_timeout applies to all chunks together") {
  client::Options options = quick_options();
  options.request_timeout = std::chrono::milliseconds(100);
  const Wsgi wsgi(options);
  wsgi.master().on_minion = [](const std::string&, const master::Publication&, const std::string&, auto) {};
  const std::string slow =
      Wsgi::chunk(R"("client": "local", "tgt": "*", "fun": "test.ping", "timeout": 3600)");
  const http::Response response = wsgi.post("[" + kGood + ", " + slow + ", " + kGood + "]");
  CHECK(response.status == http::Status::gateway_timeout);
  CHECK(response.text().find(R"(, "jid": ")" + fake_jid(2) + R"(", "completed": [{"jid": ")" + fake_jid(1)) !=
        std::string::npos);
  CHECK(wsgi.master().started().size() == 2);
}

TEST_CASE("the reply to a failure has the partial results of the failed chunk") {
  client::Options options = quick_options();
  options.request_timeout = std::chrono::milliseconds(100);
  const Wsgi wsgi(options);
  wsgi.master().on_minion = [](const std::string& minion, const master::Publication&, const std::string&,
                               auto returns) {
    if (minion == "ms-1") returns->put(returned(minion));
  };
  const std::string slow =
      Wsgi::chunk(R"("client": "local", "tgt": "*", "fun": "test.ping", "timeout": 3600)");
  CHECK(text_of(wsgi.post("[" + slow + ", " + kGood + "]")) ==
        R"(504 {"return": "Job ')" + fake_jid(1) +
            R"_(' did not finish within 0.1 seconds (request_timeout)", "jid": ")_" + fake_jid(1) +
            R"(", "partial": {"jid": ")" + fake_jid(1) + R"(", "return": {"ms-1": true}}})");
}

TEST_CASE("the credentials of all chunks of a request have the time at which the request began") {
  Wsgi wsgi;
  int chunks = 0;
  wsgi.master().on_admit = [&](const lowstate::Chunk& chunk) -> std::optional<Error> {
    CHECK(chunk.credentials.request_start == wsgi.clock().steady() - std::chrono::seconds(chunks++));
    wsgi.clock().advance(std::chrono::seconds(1));
    return std::nullopt;
  };
  CHECK(wsgi.post("[" + Wsgi::chunk(kPingKeys) + ", " + Wsgi::chunk(kPingKeys) + "]").status ==
        http::Status::ok);
  CHECK(chunks == 2);
}
