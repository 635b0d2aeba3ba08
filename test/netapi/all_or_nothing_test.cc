// SPDX-License-Identifier: MIT
#include <stdexcept>

#include <doctest/doctest.h>

#include "wsgi.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;

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

TEST_CASE("an exception keeps the results of earlier chunks") {
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
}

TEST_CASE("an exception during admission writes an audit line") {
  const Wsgi wsgi;
  wsgi.master().on_admit = [](const lowstate::Chunk&) -> std::optional<Error> {
    throw std::runtime_error("surprise");
  };
  CHECK(wsgi.post("[" + kGood + "]").status == http::Status::internal_server_error);
  CHECK(wsgi.log().has("outcome=failed"));
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
