// SPDX-License-Identifier: MIT
#include "etcd/v2.h"

#include <cstddef>
#include <memory>
#include <string>
#include <variant>

#include <doctest/doctest.h>

#include "../support/etcd_server.h"
#include "client_calls.h"
#include "fake_gateway.h"

namespace rest_fcgi::etcd {
namespace {

TEST_CASE("API v2 stores any key and value") {
  if (test::no_etcd()) return;
  const auto client = client_of(options_of(test::shared_etcd()));
  const std::string all = "\"\\/&=%+ \t\n<>\xC3\xA4\xE2\x82\xAC";
  for (const std::string key : {"/salt/return/jobs/1/.load.p", "/salt/a b/ä?x=1&y#%2f+;", "/x"}) {
    REQUIRE(client->put_v2({.key = key, .value = all}, in()));
    const auto got = client->get_v2(key, false, in());
    REQUIRE(got);
    REQUIRE(got->has_value());
    CHECK((*got)->key == key);
    CHECK((*got)->value == all);
    CHECK_FALSE((*got)->dir);
  }
  CHECK_FALSE(client->get_v2("/y", false, in())->has_value());
  REQUIRE(client->put_v2({.key = "/salt//jobs///1/", .value = "v"}, in()));
  CHECK((*client->get_v2("salt/jobs/1", false, in()))->value == "v");
}

TEST_CASE("a directory of API v2 is sorted, and listed as one level or as a tree") {
  if (test::no_etcd()) return;
  const auto client = client_of(options_of(test::shared_etcd()));
  for (const char* key : {"/t/b/2", "/t/b/1", "/t/a", "/t/c/d/e", "/t/_hidden"}) {
    REQUIRE(client->put_v2({.key = key, .value = "v"}, in()));
  }
  const auto level = client->get_v2("/t", false, in());
  REQUIRE(level);
  REQUIRE((*level)->nodes.size() == 3);
  CHECK((*level)->dir);
  CHECK((*level)->nodes[0].key == "/t/a");
  CHECK((*level)->nodes[1].dir);
  CHECK((*level)->nodes[1].nodes.empty());
  const auto tree = client->get_v2("/t", true, in());
  REQUIRE(tree);
  CHECK((*tree)->nodes[1].nodes[0].key == "/t/b/1");
  CHECK((*tree)->nodes[2].nodes[0].nodes[0].value == "v");
}

TEST_CASE("a put of API v2 with a false condition changes nothing") {
  if (test::no_etcd()) return;
  const auto client = client_of(options_of(test::shared_etcd()));
  const auto kind_of_put = [&](const PutV2& put) { return kind_of(client->put_v2(put, in())); };
  CHECK(kind_of_put({.key = "/c", .value = "0", .prev_value = "1"}) == ErrorKind::not_found);
  REQUIRE(client->put_v2({.key = "/c", .value = "1", .must_be_new = true}, in()));
  CHECK(kind_of_put({.key = "/c", .value = "2", .must_be_new = true}) == ErrorKind::invocation);
  CHECK(kind_of_put({.key = "/c", .value = "2", .prev_value = "9"}) == ErrorKind::invocation);
  CHECK((*client->get_v2("/c", false, in()))->value == "1");
  REQUIRE(client->put_v2({.key = "/c", .value = "2", .prev_value = "1"}, in()));
  CHECK((*client->get_v2("/c", false, in()))->value == "2");
}

const std::string kPath = "/v2/keys/a";
const std::string kNode = FakeGateway::reply(200, R"({"action":"set","node":{"key":"/a","value":"v"}})");
const std::string kElection =
    FakeGateway::reply(500, R"({"errorCode":301,"message":"During Leader Election","index":1})");

/// The server closes the first connection without an answer, and answers later requests with `reply`.
ScriptedEtcd::Answer second_time(const std::string& reply) {
  return [reply](std::size_t n) { return n == 0 ? std::string() : reply; };
}

TEST_CASE("a put of API v2 is repeated after a lost answer, unless it has a condition") {
  const ScriptedEtcd repeated({{kPath, second_time(kNode)}});
  CHECK(client_of({.endpoints = {repeated.url()}})->put_v2({.key = "/a", .value = "v"}, in()));
  CHECK(repeated.count(kPath) == 2);
  for (const PutV2& request : {PutV2{.key = "/a", .value = "v", .must_be_new = true},
                               PutV2{.key = "/a", .value = "v", .prev_value = "u"}}) {
    const ScriptedEtcd server({{kPath, second_time(kNode)}});
    CHECK(fails_with(client_of({.endpoints = {server.url()}})->put_v2(request, in()), ErrorKind::timeout,
                     "may have been executed"));
    CHECK(server.count(kPath) == 1);
  }
}

TEST_CASE("a read of API v2 asks a majority, and is repeated during an election") {
  const std::string path = kPath + "?quorum=true&sorted=true";
  const ScriptedEtcd server({{path, [](std::size_t n) { return n == 0 ? kElection : kNode; }}});
  const auto got = client_of({.endpoints = {server.url()}})->get_v2("/a", false, in());
  REQUIRE(got);
  CHECK((*got)->value == "v");
  CHECK(server.count(path) == 2);
}

const std::string kMember = "http://10.0.0.1:2379";

Failure failure_of(long status, const std::string& body) {
  const auto read = read_v2_node({status, body}, kMember);
  REQUIRE(std::holds_alternative<Failure>(read));
  return std::get<Failure>(read);
}

std::string error(int code) {
  return R"({"errorCode":)" + std::to_string(code) + R"(,"message":"said","cause":"/secret","index":1})";
}

TEST_CASE("a path of API v2 has escaped parts and no empty parts, and . and .. are refused") {
  CHECK(*v2_path("/salt/return/minions/m1") == "/v2/keys/salt/return/minions/m1");
  CHECK(*v2_path("salt/a") == "/v2/keys/salt/a");
  CHECK(*v2_path("//salt///a//") == "/v2/keys/salt/a");
  CHECK(*v2_path("/") == "/v2/keys");
  CHECK(*v2_path("") == "/v2/keys");
  CHECK(*v2_path("/.load.p/...") == "/v2/keys/.load.p/...");
  CHECK(*v2_path("/a b/?x=1&y#%2f/\xC3\xA4\n") == "/v2/keys/a%20b/%3Fx%3D1%26y%23%252f/%C3%A4%0A");
  for (const char* key : {"/a/../b", "..", "/./a", "/a/."}) {
    CAPTURE(key);
    CHECK(kind_of(v2_path(key)) == ErrorKind::invocation);
  }
}

TEST_CASE("a malformed node is an error without its text") {
  for (const char* body : {"", "secret", "[]", "{}", R"({"node":"secret"})", R"({"node":{"key")"}) {
    const Failure failure = failure_of(200, body);
    CAPTURE(body);
    CHECK(failure.error.kind == ErrorKind::internal);
    CHECK(failure.error.message.find(kMember) != std::string::npos);
    CHECK(failure.error.message.find("secret") == std::string::npos);
  }
}

TEST_CASE("an error of API v2 has a kind, and only a failure of the member is repeated") {
  struct Row {
    int status;
    int code;
    ErrorKind kind;
  };
  for (const Row& row : {Row{404, 100, ErrorKind::not_found}, Row{412, 101, ErrorKind::invocation},
                         Row{403, 102, ErrorKind::invocation}, Row{412, 105, ErrorKind::invocation},
                         Row{400, 107, ErrorKind::invocation}, Row{400, 202, ErrorKind::invocation},
                         Row{401, 110, ErrorKind::authentication}, Row{500, 300, ErrorKind::timeout},
                         Row{500, 301, ErrorKind::timeout}, Row{400, 401, ErrorKind::internal}}) {
    const Failure failure = failure_of(row.status, error(row.code));
    CAPTURE(row.code);
    CHECK(failure.error.kind == row.kind);
    CHECK((failure.action == RetryAction::next_member) == (row.kind == ErrorKind::timeout));
    CHECK(failure.is_outcome_known == (row.kind != ErrorKind::timeout));
    CHECK(failure.error.message.find("said") != std::string::npos);
    CHECK(failure.error.message.find("secret") == std::string::npos);
  }
  CHECK(failure_of(503, "no healthy upstream").action == RetryAction::next_member);
  CHECK(failure_of(408, "").action == RetryAction::next_member);
  CHECK(failure_of(301, "").error.kind == ErrorKind::internal);
  CHECK(failure_of(413, "a page of a proxy").error.kind == ErrorKind::invocation);
  const Failure missing = failure_of(404, "404 page not found\n");
  CHECK(missing.error.kind == ErrorKind::configuration);
  CHECK(missing.error.message.find("--enable-v2") != std::string::npos);
}

TEST_CASE("API v2 gets name and password as Basic authorization") {
  const ScriptedEtcd server({{kPath, always(kNode)}});
  const auto password = std::make_shared<const Secret>("open sesame");
  const auto client = client_of({.endpoints = {server.url()}, .username = "Aladdin", .password = password});
  REQUIRE(client->put_v2({.key = "/a", .value = "v"}, in()));
  CHECK(server.requests().back().headers.find("Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n") !=
        std::string::npos);
}

}  // namespace
}  // namespace rest_fcgi::etcd
