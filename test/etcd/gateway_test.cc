// SPDX-License-Identifier: MIT
#include <atomic>
#include <string>
#include <thread>
#include <tuple>

#include <doctest/doctest.h>

#include "../support/loopback_http.h"
#include "client_calls.h"
#include "rest_fcgi/core/base64.h"
#include "scripted_etcd.h"

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

Result<TxnReply> txn_once(Client& client) {
  return client.txn({.success = {{PutRequest{"k", "v"}}}}, in(), Repeat::no);
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

TEST_CASE("a member is asked once where its API is, and again after it failed") {
  const ScriptedEtcd etcd({{kPut, [](std::size_t n) { return n == 2 ? "" : ScriptedEtcd::header_only(); }}});
  const auto client = client_of({.endpoints = {etcd.url()}});
  CHECK(put(*client));
  CHECK(put(*client));
  CHECK(etcd.count(kStatus) == 1);
  CHECK(put(*client));
  CHECK(etcd.count(kStatus) == 2);
  CHECK(etcd.count(kPut) == 4);
}

TEST_CASE("a member that was replaced by another version is asked where its API is") {
  const ScriptedEtcd etcd(
      {{kStatus, first_then(ScriptedEtcd::not_found(), ScriptedEtcd::header_only())},
       {"/v3beta/maintenance/status", always(ScriptedEtcd::header_only())},
       {"/v3beta/kv/put", first_then(ScriptedEtcd::header_only(), ScriptedEtcd::not_found())}});
  const auto client = client_of({.endpoints = {etcd.url()}});
  CHECK(put(*client));
  CHECK(put(*client));
  CHECK(etcd.count("/v3beta/kv/put") == 2);
  CHECK(etcd.count(kPut) == 1);
}

TEST_CASE("a login goes where the API is now, too") {
  const ScriptedEtcd etcd({{kStatus, first_then(ScriptedEtcd::not_found(), ScriptedEtcd::header_only())},
                           {"/v3beta/maintenance/status", always(ScriptedEtcd::header_only())},
                           {kLogin, always(token_reply("abc"))}});
  CHECK(put(*client_of(as_larry({etcd.url()}))));
  CHECK(etcd.count("/v3beta/auth/authenticate") == 1);
  CHECK(etcd.count(kLogin) == 1);
}

TEST_CASE("a member that is no etcd is left out, as long as another one is") {
  const ScriptedEtcd page({{kStatus, always(ScriptedEtcd::not_found())}});
  const ScriptedEtcd etcd({});
  CHECK(txn_once(*client_of({.endpoints = {page.url(), etcd.url()}})));
  const Result<TxnReply> alone = client_of({.endpoints = {page.url()}})->txn({}, in(3s), Repeat::no);
  REQUIRE_FALSE(alone);
  CHECK(alone.error().kind == ErrorKind::unavailable);
  CHECK(alone.error().message.find("neither /v3 nor /v3beta nor /v3alpha of an etcd is there") !=
        std::string::npos);
}

TEST_CASE("a path that is nowhere is an error") {
  const ScriptedEtcd etcd({{kPut, always(ScriptedEtcd::not_found())}});
  const auto client = client_of({.endpoints = {etcd.url()}});
  const Result<PutReply> reply = put(*client);
  REQUIRE_FALSE(reply);
  CHECK(reply.error().kind == ErrorKind::internal);
  CHECK(etcd.count(kPut) == 2);
}

TEST_CASE("a write that can be repeated goes on to the next member") {
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

TEST_CASE("what is refused is refused everywhere, and asked once") {
  const std::pair<std::string, ErrorKind> rows[] = {
      {ScriptedEtcd::error(400, 3, "etcdserver: request is too large"), ErrorKind::invocation},
      {ScriptedEtcd::error(403, 7, "etcdserver: permission denied"), ErrorKind::authorization},
      {ScriptedEtcd::error(404, 5, "etcdserver: requested lease not found"), ErrorKind::not_found},
      {ScriptedEtcd::error(412, 9, "etcdserver: lease already exists"), ErrorKind::invocation},
      {ScriptedEtcd::error(429, 8, "etcdserver: mvcc: database space exceeded"), ErrorKind::unavailable},
      {ScriptedEtcd::error(401, 16, "etcdserver: invalid auth token"), ErrorKind::authentication},
      {FakeGateway::reply(403, R"({"code":7,"message":"etcdserver: permission denied"})"),
       ErrorKind::authorization},
      {FakeGateway::reply(200, "<html>"), ErrorKind::internal},
      {FakeGateway::reply(200, "[]"), ErrorKind::internal},
      {FakeGateway::reply(200, "{}"), ErrorKind::internal},
      {FakeGateway::reply(200, R"({"header":{"revision":"x"}})"), ErrorKind::internal},
      {FakeGateway::reply(200, R"({"header":{"cluster_id":"7"},"prev_kv":[]})"), ErrorKind::internal},
      {FakeGateway::reply(200, R"({"error":{"grpc_code":7,"http_code":403,"message":"no"}})"),
       ErrorKind::authorization}};
  for (const auto& [reply, kind] : rows) {
    const ScriptedEtcd first({{kPut, always(reply)}});
    const ScriptedEtcd second({});
    const auto client = client_of({.endpoints = {first.url(), second.url()}});
    const Result<PutReply> refused = put(*client);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == kind);
    CHECK(first.count(kPut) == 1);
    CHECK(second.count(kPut) == 0);
  }
}

TEST_CASE("what a member answers with another key's value is not taken for this one's") {
  const auto kvs = [](const std::string& keys) {
    std::string text;
    for (const char key : keys) {
      text += text.empty() ? R"({"key":")" : R"(,{"key":")";
      append_base64(text, std::string(1, key));
      text += R"(","value":"dg=="})";
    }
    return R"("kvs":[)" + text + "]";
  };
  const auto ok = [](const std::string& fields) {
    return FakeGateway::reply(200, R"({"header":{"cluster_id":"7"},)" + fields + "}");
  };
  const RangeRequest one{.key = "k"};
  const RangeRequest some{.key = "k", .range_end = "m"};
  const RangeRequest rest{.key = "k", .range_end = std::string(1, '\0')};
  const std::tuple<RangeRequest, std::string, bool> rows[] = {
      {one, "", true},    {one, "k", true},   {one, "j", false},   {one, "kl", false}, {some, "kl", true},
      {some, "j", false}, {some, "m", false}, {some, "lm", false}, {rest, "kz", true}, {rest, "jk", false}};
  for (const auto& [request, keys, good] : rows) {
    const std::string shown = keys;
    CAPTURE(shown);
    const ScriptedEtcd etcd(
        {{"/v3/kv/range", always(ok(kvs(keys)))},
         {kTxn, always(ok(R"("succeeded":true,"responses":[{"response_range":{)" + kvs(keys) + "}}]"))}});
    const auto client = client_of({.endpoints = {etcd.url()}});
    const Result<RangeReply> range = client->range(request, in());
    const Result<TxnReply> txn = client->txn({.success = {{request}}}, in(), Repeat::yes);
    CHECK(range.ok() == good);
    CHECK(txn.ok() == good);
    if (!good) CHECK(range.error().kind == ErrorKind::internal);
    if (!good) CHECK(txn.error().kind == ErrorKind::internal);
  }
  for (const char* const responses : {"[]", R"([{"response_put":{}}])"}) {
    const ScriptedEtcd etcd(
        {{kTxn, always(ok(R"("succeeded":true,"responses":)" + std::string(responses)))}});
    CHECK_FALSE(client_of({.endpoints = {etcd.url()}})->txn({.success = {{one}}}, in(), Repeat::yes));
  }
}

TEST_CASE("a transaction that must not be repeated is told where its outcome is not known") {
  for (const std::string& bad :
       {std::string(), ScriptedEtcd::error(503, 14, "etcdserver: request timed out"),
        FakeGateway::reply(200, "<html>"), FakeGateway::reply(500, "panic", "text/plain")}) {
    const ScriptedEtcd first({{kTxn, always(bad)}});
    const ScriptedEtcd second({});
    const auto client = client_of({.endpoints = {first.url(), second.url()}});
    const Result<TxnReply> reply = txn_once(*client);
    REQUIRE_FALSE(reply);
    CHECK(reply.error().kind == ErrorKind::timeout);
    CHECK(reply.error().message.find("; whether it was carried out is not known") != std::string::npos);
    CHECK(first.count(kTxn) == 1);
    CHECK(second.count(kTxn) == 0);
  }
}

TEST_CASE("a transaction that was not sent, or refused unseen, goes on all the same") {
  const std::string nobody = "http://127.0.0.1:" + std::to_string(test::unused_port());
  const ScriptedEtcd silent({{kStatus, always("")}});
  const ScriptedEtcd second({});
  CHECK(txn_once(*client_of({.endpoints = {nobody, silent.url(), second.url()}})));
  CHECK(second.count(kTxn) == 1);
}

TEST_CASE("where no member answers, each one's words are told, at the deadline") {
  const std::string nobody = "http://127.0.0.1:" + std::to_string(test::unused_port());
  const ScriptedEtcd bad({{kPut, always(ScriptedEtcd::error(503, 14, "etcdserver: request timed out"))},
                          {"/v3/kv/range", always("")}});
  const auto client = client_of({.endpoints = {nobody, bad.url()}});
  const auto start = std::chrono::steady_clock::now();
  const Result<PutReply> reply = put(*client, "k", 6s);
  REQUIRE_FALSE(reply);
  CHECK(std::chrono::steady_clock::now() - start < 30s);
  CHECK(reply.error().kind == ErrorKind::timeout);
  CHECK(reply.error().message.find("etcd: " + nobody + ": Failed to connect") == 0);
  CHECK(reply.error().message.find("; etcd: " + bad.url() + ": HTTP 503: etcdserver: request timed out") !=
        std::string::npos);
  CHECK(bad.count(kPut) >= 2);
  CHECK(client->range({.key = "k"}, in(500ms)).error().kind == ErrorKind::unavailable);
  CHECK(put(*client_of({.endpoints = {nobody}}), "k", 300ms).error().kind == ErrorKind::unavailable);
}

TEST_CASE("a token is fetched once, in time, and said with each call") {
  const ScriptedEtcd etcd({{kLogin, always(token_reply("abc.1"))}});
  const auto client = client_of(as_larry({etcd.url()}));
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      if (put(*client)) ++good;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == 8);
  CHECK(etcd.count(kLogin) == 1);
  for (const FakeGateway::Request& request : etcd.requests()) {
    if (request.path == kLogin) CHECK(request.body == R"({"name": "larry", "password": "12\"sesame"})");
    CHECK(authorization(request) == (request.path == kPut ? "abc.1" : ""));
  }
}

TEST_CASE("a token that does not hold any more is fetched anew, once a call") {
  const std::string refusals[] = {ScriptedEtcd::error(401, 16, "etcdserver: invalid auth token"),
                                  ScriptedEtcd::error(400, 3, "etcdserver: user name is empty"),
                                  ScriptedEtcd::error(400, 3, "etcdserver: revision of auth store is old"),
                                  FakeGateway::reply(401, "no", "text/plain")};
  for (const std::string& refusal : refusals) {
    const ScriptedEtcd etcd({{kLogin, first_then(token_reply("old"), token_reply("new"))},
                             {kTxn, first_then(refusal, ScriptedEtcd::header_only())}});
    const auto client = client_of(as_larry({etcd.url()}));
    CHECK(txn_once(*client));
    CHECK(etcd.count(kLogin) == 2);
    CHECK(authorization(etcd.requests().back()) == "new");
  }
  const ScriptedEtcd never({{kLogin, always(token_reply("old"))}, {kPut, always(refusals[0])}});
  CHECK(put(*client_of(as_larry({never.url()}))).error().kind == ErrorKind::authentication);
  CHECK(never.count(kLogin) == 2);
  CHECK(never.count(kPut) == 2);
}

TEST_CASE("a wrong password is an error, tells no secret, and is tried again with the next call") {
  const std::string wrong =
      ScriptedEtcd::error(400, 3, "etcdserver: authentication failed, invalid user ID or password");
  const ScriptedEtcd etcd({{kLogin, first_then(wrong, token_reply("good"))}});
  const auto client = client_of(as_larry({etcd.url()}));
  const Result<PutReply> refused = put(*client);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::authentication);
  CHECK(refused.error().message.find("sesame") == std::string::npos);
  CHECK(etcd.count(kPut) == 0);
  CHECK(put(*client));
}

TEST_CASE("a cluster without users is asked without a token, and with one when it has some") {
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
}

TEST_CASE("who has no name, and is asked for one, is told so") {
  const ScriptedEtcd etcd({{kPut, always(ScriptedEtcd::error(400, 3, "etcdserver: user name is empty"))}});
  const Result<PutReply> reply = put(*client_of({.endpoints = {etcd.url()}}));
  REQUIRE_FALSE(reply);
  CHECK(reply.error().kind == ErrorKind::authentication);
  CHECK(reply.error().message ==
        "etcd: " + etcd.url() +
            ": HTTP 400: etcdserver: user name is empty; the cluster asks for a username and "
            "a password");
  CHECK(etcd.count(kPut) == 1);
}

TEST_CASE("a login that breaks goes on to the next member, and one that is none does not") {
  const ScriptedEtcd first({{kLogin, always("")}});
  const ScriptedEtcd second({{kLogin, always(token_reply("abc"))}});
  CHECK(txn_once(*client_of(as_larry({first.url(), second.url()}))));
  CHECK(first.count(kTxn) == 0);
  for (const std::string body : {"<html>", "{}", "{\"token\": 1}"}) {
    const ScriptedEtcd odd({{kLogin, always(FakeGateway::reply(200, body))}});
    const Result<PutReply> reply = put(*client_of(as_larry({odd.url()})));
    REQUIRE_FALSE(reply);
    CHECK(reply.error().kind == ErrorKind::internal);
    CHECK(reply.error().message.find("its answer to a login has no token") != std::string::npos);
  }
}

TEST_CASE("members of two clusters are told before anything is asked of the second") {
  const ScriptedEtcd first({{kPut, first_then(ScriptedEtcd::header_only(), "")}});
  const ScriptedEtcd second({{kLogin, always(token_reply("abc"))}}, "8");
  const auto client = client_of({.endpoints = {first.url(), second.url()}});
  CHECK(put(*client));
  const Result<PutReply> reply = put(*client);
  REQUIRE_FALSE(reply);
  CHECK(reply.error().kind == ErrorKind::configuration);
  CHECK(reply.error().message.find("are of different clusters (7 and 8)") != std::string::npos);
  CHECK(second.count(kPut) == 0);
}

TEST_CASE("a cluster that was made anew gives another token") {
  const ScriptedEtcd etcd(
      {{kLogin, first_then(token_reply("old"), token_reply("new"))},
       {"/v3/maintenance/status", first_then(ScriptedEtcd::header_only("7"), ScriptedEtcd::header_only("8"))},
       {kPut, [](std::size_t n) {
          if (n == 1) return std::string();
          return ScriptedEtcd::header_only(n == 0 ? "7" : "8");
        }}});
  const auto client = client_of(as_larry({etcd.url()}));
  CHECK(put(*client));
  CHECK(put(*client));
  CHECK(etcd.count(kLogin) == 2);
  CHECK(authorization(etcd.requests().back()) == "new");
}

}  // namespace
}  // namespace rest_fcgi::etcd
