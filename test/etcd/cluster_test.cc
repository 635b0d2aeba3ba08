// SPDX-License-Identifier: MIT
#include <string>
#include <tuple>

#include <doctest/doctest.h>

#include "../support/loopback_http.h"
#include "client_calls.h"
#include "fake_gateway.h"
#include "rest_fcgi/core/base64.h"

namespace rest_fcgi::etcd {
namespace {

using namespace std::chrono_literals;

const std::string kPut = "/v3/kv/put";
const std::string kStatus = "/v3/maintenance/status";
const std::string kTxn = "/v3/kv/txn";
const std::string kLogin = "/v3/auth/authenticate";

Options as_larry(std::vector<std::string> endpoints) {
  return {.endpoints = std::move(endpoints),
          .username = "larry",
          .password = std::make_shared<const Secret>("12\"sesame")};
}

ScriptedEtcd::Answer first_then(std::string first, std::string then) {
  return [first = std::move(first), then = std::move(then)](std::size_t n) { return n == 0 ? first : then; };
}

std::string token_reply(const std::string& text) {
  return FakeGateway::reply(200, R"({"header":{"cluster_id":"7"},"token":")" + text + R"("})");
}

std::string authorization(const FakeGateway::Request& request) {
  const std::string name = "Authorization: ";
  const std::size_t at = request.headers.find(name);
  if (at == std::string::npos) return {};
  return request.headers.substr(at + name.size(), request.headers.find('\r', at) - at - name.size());
}

TEST_CASE("a member is asked for its prefix once, again after a failure, and is skipped if it is not etcd") {
  const ScriptedEtcd etcd({{kPut, [](std::size_t n) { return n == 2 ? "" : ScriptedEtcd::header_only(); }}});
  const auto client = client_of({.endpoints = {etcd.url()}});
  CHECK(put(*client));
  CHECK(put(*client));
  CHECK(etcd.count(kStatus) == 1);
  CHECK(put(*client));
  CHECK(etcd.count(kStatus) == 2);
  CHECK(etcd.count(kPut) == 4);
  const ScriptedEtcd page({{kStatus, always(ScriptedEtcd::not_found())}});
  const ScriptedEtcd other({});
  CHECK(put(*client_of({.endpoints = {page.url(), other.url()}})));
  CHECK(fails_with(put(*client_of({.endpoints = {page.url()}}), "k", 1s), ErrorKind::unavailable,
                   "expected etcd's API below /v3, /v3beta or /v3alpha"));
}

TEST_CASE("a failed write goes to the next member, which is asked first from then on") {
  for (const std::string& bad :
       {std::string(), ScriptedEtcd::error(503, 14, "etcdserver: request timed out"),
        ScriptedEtcd::error(500, 2, "context deadline exceeded"), ScriptedEtcd::error(408, 1, "closing")}) {
    const ScriptedEtcd first({{kPut, always(bad)}});
    const ScriptedEtcd second({});
    const auto client = client_of({.endpoints = {first.url(), second.url()}});
    CHECK(put(*client));
    CHECK(first.count(kPut) == 1);
    CHECK(put(*client));
    CHECK(first.count(kPut) == 1);
    CHECK(second.count(kPut) == 2);
  }
}

TEST_CASE("a refused request is not repeated at another member") {
  const std::pair<std::string, ErrorKind> rows[] = {
      {ScriptedEtcd::error(400, 3, "etcdserver: request is too large"), ErrorKind::invocation},
      {FakeGateway::reply(200, "<html>"), ErrorKind::internal},
      {FakeGateway::reply(200, R"({"error":{"grpc_code":7,"http_code":403,"message":"no"}})"),
       ErrorKind::authorization}};
  for (const auto& [reply, kind] : rows) {
    const ScriptedEtcd first({{kPut, always(reply)}});
    const ScriptedEtcd second({});
    const auto client = client_of({.endpoints = {first.url(), second.url()}});
    CHECK(put(*client).error().kind == kind);
    CHECK(first.count(kPut) == 1);
    CHECK(second.count(kPut) == 0);
  }
}

TEST_CASE("a reply with another key than requested is malformed") {
  const auto reply_with = [](std::string_view key, std::string_view before, std::string_view after) {
    std::string text = R"({"header":{"cluster_id":"7"},)" + std::string(before) + R"("kvs":[{"key":")";
    append_base64(text, key);
    return always(FakeGateway::reply(200, text + R"("}])" + std::string(after) + "}"));
  };
  const RangeRequest one{.key = "k"};
  const RangeRequest some{.key = "k", .range_end = "m"};
  const RangeRequest rest{.key = "k", .range_end = std::string(1, '\0')};
  const std::tuple<RangeRequest, std::string, bool> rows[] = {
      {one, "k", true},   {one, "j", false},  {one, "kl", false}, {some, "l", true},
      {some, "j", false}, {some, "m", false}, {rest, "z", true},  {rest, "j", false}};
  for (const auto& row : rows) {
    const auto& key = std::get<std::string>(row);
    const auto& request = std::get<RangeRequest>(row);
    const bool is_good = std::get<bool>(row);
    CAPTURE(key);
    const ScriptedEtcd etcd(
        {{"/v3/kv/range", reply_with(key, "", "")},
         {kTxn, reply_with(key, R"("succeeded":true,"responses":[{"response_range":{)", "}}]")}});
    const auto client = client_of({.endpoints = {etcd.url()}});
    CHECK(client->range(request, in()).ok() == is_good);
    CHECK(client->txn({.success = {{request}}}, in()).ok() == is_good);
  }
  for (const char* const rest_of_reply : {"", R"(,"succeeded":true,"responses":[])",
                                          R"(,"succeeded":true,"responses":[{"response_put":{}}])"}) {
    const ScriptedEtcd etcd({{kTxn, always(FakeGateway::reply(200, R"({"header":{"cluster_id":"7"})" +
                                                                       std::string(rest_of_reply) + "}"))}});
    const auto client = client_of({.endpoints = {etcd.url()}});
    CHECK(kind_of(client->txn({.success = {{one}}}, in())) == ErrorKind::internal);
  }
}

TEST_CASE("if no member answers, a call ends at its deadline with the errors of all members") {
  const std::string unused = "http://127.0.0.1:" + std::to_string(test::unused_port());
  const ScriptedEtcd bad({{kPut, always(ScriptedEtcd::error(503, 14, "etcdserver: request timed out"))},
                          {"/v3/kv/range", always("")}});
  const auto client = client_of({.endpoints = {unused, bad.url()}});
  const auto start = std::chrono::steady_clock::now();
  const auto reply = put(*client, "k", 2s);
  CHECK(std::chrono::steady_clock::now() - start < 30s);
  CHECK(fails_with(reply, ErrorKind::timeout, unused));
  CHECK(fails_with(reply, ErrorKind::timeout, bad.url() + ": HTTP 503: etcdserver: request timed out"));
  CHECK(bad.count(kPut) >= 2);
  CHECK(kind_of(client->range({.key = "k"}, in(500ms))) == ErrorKind::unavailable);
  CHECK(kind_of(put(*client_of({.endpoints = {unused}}), "k", 300ms)) == ErrorKind::unavailable);
}

TEST_CASE("a refused token is replaced once a call") {
  const std::string refusals[] = {ScriptedEtcd::error(401, 16, "etcdserver: invalid auth token"),
                                  ScriptedEtcd::error(400, 3, "etcdserver: user name is empty"),
                                  ScriptedEtcd::error(400, 3, "etcdserver: revision of auth store is old"),
                                  FakeGateway::reply(401, "no", "text/plain")};
  for (const std::string& refusal : refusals) {
    const ScriptedEtcd etcd({{kLogin, first_then(token_reply("old"), token_reply("new"))},
                             {kPut, first_then(refusal, ScriptedEtcd::header_only())}});
    const auto client = client_of(as_larry({etcd.url()}));
    CHECK(put(*client));
    CHECK(etcd.count(kLogin) == 2);
    CHECK(authorization(etcd.requests().back()) == "new");
  }
  const ScriptedEtcd never({{kLogin, always(token_reply("old"))}, {kPut, always(refusals[0])}});
  CHECK(put(*client_of(as_larry({never.url()}))).error().kind == ErrorKind::authentication);
  CHECK(never.count(kLogin) == 2);
  CHECK(never.count(kPut) == 2);
}

TEST_CASE("a cluster without users is asked without a token until it has users, and then wants a name") {
  const std::string off = ScriptedEtcd::error(412, 9, "etcdserver: authentication is not enabled");
  const std::string empty = ScriptedEtcd::error(400, 3, "etcdserver: user name is empty");
  const ScriptedEtcd etcd(
      {{kLogin, first_then(off, token_reply("abc"))},
       {kPut, [&](std::size_t n) { return n == 1 ? empty : ScriptedEtcd::header_only(); }}});
  const auto client = client_of(as_larry({etcd.url()}));
  CHECK(put(*client));
  CHECK(authorization(etcd.requests().back()).empty());
  CHECK(put(*client));
  CHECK(authorization(etcd.requests().back()) == "abc");
  CHECK(etcd.count(kLogin) == 2);
  const ScriptedEtcd closed({{kPut, always(ScriptedEtcd::error(400, 3, "etcdserver: user name is empty"))}});
  CHECK(fails_with(put(*client_of({.endpoints = {closed.url()}})), ErrorKind::authentication,
                   "expected a username and a password"));
  CHECK(closed.count(kPut) == 1);
}

TEST_CASE("a broken login goes to the next member, and a malformed reply to a login does not") {
  const ScriptedEtcd first({{kLogin, always("")}});
  const ScriptedEtcd second({{kLogin, always(token_reply("abc"))}});
  CHECK(put(*client_of(as_larry({first.url(), second.url()}))));
  CHECK(first.count(kPut) == 0);
  for (const std::string body : {"<html>", "{}", "{\"token\": 1}"}) {
    const ScriptedEtcd odd({{kLogin, always(FakeGateway::reply(200, body))}});
    CHECK(fails_with(put(*client_of(as_larry({odd.url()}))), ErrorKind::internal, "found no token"));
  }
}

TEST_CASE("a member of another cluster gets no request") {
  const ScriptedEtcd first({{kPut, first_then(ScriptedEtcd::header_only(), "")}});
  const ScriptedEtcd second({{kLogin, always(token_reply("abc"))}}, "8");
  const auto client = client_of({.endpoints = {first.url(), second.url()}});
  CHECK(put(*client));
  const Error error = put(*client).error();
  CHECK(error.kind == ErrorKind::configuration);
  CHECK(error.message.find("(7 and 8)") != std::string::npos);
  CHECK(second.count(kPut) == 0);
}

}  // namespace
}  // namespace rest_fcgi::etcd
