// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "client_calls.h"
#include "rest_fcgi/etcd/keys_v2.h"
#include "scripted_etcd.h"

namespace rest_fcgi::etcd {
namespace {

const std::string kPath = "/v2/keys/a";
const std::string kNode = FakeGateway::reply(200, R"({"action":"set","node":{"key":"/a","value":"v"}})");
const std::string kAbsent =
    FakeGateway::reply(404, R"({"errorCode":100,"message":"Key not found","cause":"/a","index":1})");
const std::string kElection =
    FakeGateway::reply(500, R"({"errorCode":301,"message":"During Leader Election","index":1})");

/// Breaks the first connection when it has the request, and then answers.
ScriptedEtcd::Answer second_time(const std::string& reply) {
  return [reply](std::size_t n) { return n == 0 ? std::string() : reply; };
}

std::unique_ptr<KeysV2> client_of(const ScriptedEtcd& server) {
  return *KeysV2::make({.endpoints = {server.url()}});
}

}  // namespace

TEST_CASE("a put of the API v2 without a condition is repeated where its answer is lost") {
  const ScriptedEtcd server({{kPath, second_time(kNode)}});
  CHECK(client_of(server)->put({.key = "/a", .value = "v"}, in())->value == "v");
  CHECK(server.count(kPath) == 2);
}

TEST_CASE("a put of the API v2 with a condition is not repeated where its answer is lost") {
  for (const PutV2& request : {PutV2{.key = "/a", .value = "v", .prev_exist = false},
                               PutV2{.key = "/a", .value = "v", .prev_value = "u"},
                               PutV2{.key = "/a", .value = "v", .prev_index = 1}}) {
    const ScriptedEtcd server({{kPath, second_time(kNode)}});
    const auto put = client_of(server)->put(request, in());
    REQUIRE_FALSE(put);
    CHECK(put.error().kind == ErrorKind::timeout);
    CHECK(server.count(kPath) == 1);
  }
}

TEST_CASE("a key of the API v2 that is gone after an answer was lost counts as removed") {
  const ScriptedEtcd lost({{kPath, second_time(kAbsent)}});
  CHECK(*client_of(lost)->remove("/a", false, in()));
  const ScriptedEtcd absent({{kPath, always(kAbsent)}});
  CHECK_FALSE(*client_of(absent)->remove("/a", false, in()));
}

TEST_CASE("a read of the API v2 asks a majority, and again where one is being elected") {
  const std::string path = kPath + "?quorum=true&sorted=true";
  const ScriptedEtcd server({{path, [](std::size_t n) { return n == 0 ? kElection : kNode; }}});
  const auto got = client_of(server)->get("/a", false, in());
  REQUIRE(got);
  CHECK((*got)->value == "v");
  CHECK(server.count(path) == 2);
}

TEST_CASE("where no member carries a put of the API v2 out, its outcome is not known at the deadline") {
  const ScriptedEtcd server({{kPath, always(kElection)}});
  const auto put = client_of(server)->put({.key = "/a", .value = "v"}, in(std::chrono::milliseconds(300)));
  REQUIRE_FALSE(put);
  CHECK(put.error().kind == ErrorKind::timeout);
  CHECK(put.error().message.find("During Leader Election") != std::string::npos);
}

}  // namespace rest_fcgi::etcd
