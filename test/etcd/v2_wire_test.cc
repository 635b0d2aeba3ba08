// SPDX-License-Identifier: MIT
#include "etcd/v2_wire.h"

#include <chrono>
#include <string>
#include <variant>

#include <doctest/doctest.h>

namespace rest_fcgi::etcd {
namespace {

const std::string kUrl = "http://10.0.0.1:2379";

NodeV2 node_of(const std::string& body) {
  const auto read = read_v2_node({200, body}, kUrl);
  REQUIRE(std::holds_alternative<NodeV2>(read));
  return std::get<NodeV2>(read);
}

Failure failure_of(long status, const std::string& body) {
  const auto read = read_v2_node({status, body}, kUrl);
  REQUIRE(std::holds_alternative<Failure>(read));
  return std::get<Failure>(read);
}

std::string error(int code) {
  return R"({"errorCode":)" + std::to_string(code) + R"(,"message":"said","cause":"/secret","index":1})";
}

}  // namespace

TEST_CASE("a key becomes a path whose parts are escaped and not empty") {
  CHECK(*v2_path("/salt/return/minions/m1") == "/v2/keys/salt/return/minions/m1");
  CHECK(*v2_path("salt/a") == "/v2/keys/salt/a");
  CHECK(*v2_path("//salt///a//") == "/v2/keys/salt/a");
  CHECK(*v2_path("/") == "/v2/keys");
  CHECK(*v2_path("") == "/v2/keys");
  CHECK(*v2_path("/.load.p/...") == "/v2/keys/.load.p/...");
  CHECK(*v2_path("/a b/?x=1&y#%2f/\xC3\xA4\n") == "/v2/keys/a%20b/%3Fx%3D1%26y%23%252f/%C3%A4%0A");
}

TEST_CASE("a key with a part that leads elsewhere is refused") {
  for (const char* key : {"/a/../b", "..", "/./a", "/a/."}) {
    const auto path = v2_path(key);
    CAPTURE(key);
    REQUIRE_FALSE(path);
    CHECK(path.error().kind == ErrorKind::invocation);
  }
}

TEST_CASE("a put's form has what was asked for, escaped") {
  CHECK(v2_form({.key = "/a", .value = "a b&c=\xC3\xA4"}) == "value=a%20b%26c%3D%C3%A4");
  CHECK(v2_form({.key = "/a", .value = "", .ttl = std::chrono::seconds(5)}) == "value=&ttl=5");
  CHECK(v2_form({.key = "/a", .value = "1", .prev_exist = false}) == "value=1&prevExist=false");
  CHECK(v2_form({.key = "/a", .value = "1", .prev_exist = true, .prev_value = "&", .prev_index = 7}) ==
        "value=1&prevExist=true&prevIndex=7&prevValue=%26");
}

TEST_CASE("a node is read with all that is in it") {
  const NodeV2 node = node_of(R"({"action":"get","node":{"key":"/t","dir":true,"nodes":[
      {"key":"/t/a","value":"\u0026","ttl":3,"modifiedIndex":9,"createdIndex":8},
      {"key":"/t/d","dir":true,"nodes":[{"key":"/t/d/x","value":""}]}],"modifiedIndex":2,"createdIndex":1}})");
  CHECK(node.key == "/t");
  CHECK(node.dir);
  CHECK(node.created_index == 1);
  REQUIRE(node.nodes.size() == 2);
  CHECK(node.nodes[0].value == "&");
  CHECK(node.nodes[0].ttl == 3);
  CHECK(node.nodes[0].created_index == 8);
  CHECK(node.nodes[0].modified_index == 9);
  CHECK_FALSE(node.nodes[0].dir);
  REQUIRE(node.nodes[1].nodes.size() == 1);
  CHECK(node.nodes[1].nodes[0].key == "/t/d/x");
  CHECK_FALSE(node.nodes[1].ttl.has_value());
}

TEST_CASE("what is no node is an error that names the member and shows nothing") {
  for (const char* body : {"", "secret", "[]", "{}", R"({"node":"secret"})", R"({"node":{"key")"}) {
    const Failure failure = failure_of(200, body);
    CAPTURE(body);
    CHECK(failure.error.kind == ErrorKind::internal);
    CHECK(failure.error.message.find(kUrl) != std::string::npos);
    CHECK(failure.error.message.find("secret") == std::string::npos);
  }
}

TEST_CASE("each error of the API v2 has its kind, and only a member's own trouble is tried elsewhere") {
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
    CHECK((failure.remedy == Remedy::next_member) == (row.kind == ErrorKind::timeout));
    CHECK(failure.outcome_known == (row.kind != ErrorKind::timeout));
    CHECK(failure.error.message.find("said") != std::string::npos);
    CHECK(failure.error.message.find("secret") == std::string::npos);
  }
  CHECK(failure_of(503, "no healthy upstream").remedy == Remedy::next_member);
  CHECK(failure_of(408, "").remedy == Remedy::next_member);
  CHECK(failure_of(301, "").error.kind == ErrorKind::internal);
}

TEST_CASE("a server without the API v2 is told apart from a key that is not there") {
  const Failure failure = failure_of(404, "404 page not found\n");
  CHECK(failure.error.kind == ErrorKind::configuration);
  CHECK(failure.error.message.find("--enable-v2") != std::string::npos);
}

TEST_CASE("name and password are said as Basic") {
  CHECK(basic_authorization({}).empty());
  CHECK(
      basic_authorization({.username = "Aladdin", .password = std::make_shared<const Secret>("open sesame")})
          .reveal()
          .text == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
  CHECK(basic_authorization({.username = "a"}).reveal().text == "Basic YTo=");
}

}  // namespace rest_fcgi::etcd
