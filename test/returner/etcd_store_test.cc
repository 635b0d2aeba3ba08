// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "../etcd/fake_gateway.h"
#include "etcd/messages.h"
#include "rest_fcgi/core/json_document.h"
#include "returner/etcd/store.h"

namespace rest_fcgi::returner {
namespace {

using etcd::FakeGateway;

constexpr std::string_view kHeader = R"({"header":{"cluster_id":"7","revision":"5"})";

std::string ok(std::string_view rest) {
  return FakeGateway::reply(200, std::string(kHeader) + std::string(rest) + "}");
}

/// Returns the reply to a range request for the folder `f/` with 10,000 keys. Refuses a request without a
/// limit.
std::string page_of(const std::string& body) {
  JsonDocument document;
  REQUIRE(document.parse(body, JsonLimits::none()));
  std::string mistake;
  const etcd::Fields request(document.root(), mistake);
  const std::int64_t limit = request.int64("limit");
  if (limit < 1 || limit > 4096) return FakeGateway::reply(500, "all at once are too many");
  const std::string key = request.bytes("key");
  constexpr int kFirst = 100000;
  constexpr int kEnd = 110000;
  int next = key == "f/" ? kFirst : std::stoi(key.substr(2)) + 1;
  const int end = std::min<int>(kEnd, next + static_cast<int>(limit));
  std::string kvs;
  for (; next < end; ++next) {
    kvs += kvs.empty() ? R"({"key":")" : R"(,{"key":")";
    append_base64(kvs, "f/" + std::to_string(next));
    kvs += R"("})";
  }
  return ok(R"(,"kvs":[)" + kvs + (end < kEnd ? R"(],"more":true)" : "]"));
}

TEST_CASE("the keys of a large folder are read in pages") {
  const FakeGateway gateway([](const FakeGateway::Request& request, const FakeGateway::Send& send) {
    return send(request.path == "/v3/kv/range" ? page_of(request.body) : ok(""));
  });
  const auto store = *make_etcd_store_v3({.endpoints = {gateway.url()}}, std::chrono::seconds(0));
  std::vector<std::string> keys;
  REQUIRE(store->visit("f/", [&](const std::string& key, const std::string&) { keys.push_back(key); }));
  CHECK(keys.size() == 10000);
  CHECK(std::is_sorted(keys.begin(), keys.end()));
  CHECK(gateway.requests().size() < 12);
}

}  // namespace
}  // namespace rest_fcgi::returner
