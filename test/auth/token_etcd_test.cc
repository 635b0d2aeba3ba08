// SPDX-License-Identifier: MIT
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/etcd_server.h"
#include "../support/manual_clock.h"
#include "../support/temp_dir.h"
#include "auth/tokens.h"
#include "rest_fcgi/auth/authenticator.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/etcd/client.h"

namespace rest_fcgi::auth {
namespace {

using std::chrono::seconds;

etcd::Options reach(const std::vector<std::string>& urls) {
  return {.endpoints = urls, .connect_timeout = seconds(4), .try_timeout = seconds(8)};
}

/// Two hosts, `here` and `there`, that keep their tokens in the same etcd cluster.
struct Hosts {
  Hosts() : here(make(seconds(60))), there(make(seconds(60))) {}

  std::unique_ptr<Tokens> make(seconds life) {
    auto backend = tokens_in_etcd({reach(etcd.urls()), "/salt/tokens"});
    REQUIRE(backend);
    return std::make_unique<Tokens>(*std::move(backend), life, clock);
  }

  std::vector<etcd::KeyValue> stored() {
    const auto found = *client->range({.key = "/", .range_end = "0"}, later());
    return found.kvs;
  }

  std::size_t leases() {
    const std::string leases = etcd.post("/v3/lease/leases", "{}");
    std::size_t count = 0;
    for (std::size_t at = 0; (at = leases.find(R"("ID":)", at)) != std::string::npos; ++at) ++count;
    return count;
  }

  static etcd::Deadline later() { return std::chrono::steady_clock::now() + seconds(30); }

  test::EtcdCluster etcd;
  test::ManualClock clock;
  std::unique_ptr<etcd::Client> client = *etcd::Client::make(reach(etcd.urls()));
  std::unique_ptr<Tokens> here;
  std::unique_ptr<Tokens> there;
};

}  // namespace

TEST_CASE("a token that one host stored in etcd is valid on another, until one of them revokes it") {
  if (test::no_etcd()) return;
  Hosts hosts;
  const auto token = *hosts.here->add("fred", "file", {"ops"});
  const auto record = hosts.there->find(token);
  REQUIRE(record);
  CHECK(record->name == "fred");
  CHECK(record->eauth == "file");
  CHECK(record->groups == std::vector<std::string>{"ops"});

  REQUIRE(hosts.there->revoke(token));
  CHECK(hosts.here->find(token).error().kind == ErrorKind::authentication);
  CHECK(hosts.there->revoke(token));
  CHECK(hosts.leases() == 0);
}

TEST_CASE("all tokens of a user in etcd can be revoked, however many there are") {
  if (test::no_etcd()) return;
  Hosts hosts;
  const auto ann = hosts.here->add("ann", "file", {});
  const auto fred = hosts.here->add("fred", "file", {});
  REQUIRE(ann);
  REQUIRE(fred);
  const std::string data = R"({"start": 1, "expire": 9e9, "name": "fred", "eauth": "file", "groups": []})";
  for (int i = 0; i < 1100;) {
    etcd::TxnRequest txn;
    for (const int end = i + 100; i < end; ++i) {
      txn.success.push_back({etcd::PutRequest{.key = format("/salt/tokens/{:064x}", i), .value = data}});
    }
    REQUIRE(hosts.client->txn(txn, Hosts::later()));
  }
  CHECK(*hosts.there->revoke_all("", "fred") == 1101);
  CHECK(hosts.here->find(*fred).error().kind == ErrorKind::authentication);
  CHECK(hosts.here->find(*ann));
}

TEST_CASE("etcd has only hashes of tokens, with leases") {
  if (test::no_etcd()) return;
  Hosts hosts;
  const auto token = *hosts.here->add("fred", "file", {});
  const auto stored = hosts.stored();
  REQUIRE(stored.size() == 1);
  CHECK(stored[0].key.starts_with("/salt/tokens/"));
  CHECK(stored[0].key.size() == std::string("/salt/tokens/").size() + 64);
  CHECK((stored[0].key + stored[0].value).find(token.reveal().text) == std::string::npos);
  const std::string lease = R"({"ID":")" + std::to_string(stored[0].lease) + "\"}";
  const std::string granted = R"("grantedTTL":")" + std::to_string(60) + '"';
  CHECK(hosts.etcd.post("/v3/lease/timetolive", lease).find(granted) != std::string::npos);

  // The token expires by the manual clock. etcd uses the real clock and still has the token.
  hosts.clock.advance(seconds(60));
  CHECK(hosts.there->find(token).error().kind == ErrorKind::authentication);
}

TEST_CASE("a malformed record in etcd is not a token") {
  if (test::no_etcd()) return;
  Hosts hosts;
  const auto token = *hosts.here->add("fred", "file", {});
  const std::string key = hosts.stored().front().key;
  const char* const others[] = {
      "",
      "{}",
      "\xff",
      "[]",
      R"({"start": 1, "expire": 9e9, "name": "fred", "eauth": "file"})",
      R"({"start": 1, "expire": 9e9, "name": 7, "eauth": "file", "groups": []})",
      R"({"start": 1, "expire": 9e9, "name": "fred", "eauth": "", "groups": []})",
      R"({"start": 1, "expire": "x", "name": "fred", "eauth": "file", "groups": []})",
      R"({"start": 1, "expire": 9e99, "name": "fred", "eauth": "file", "groups": []})",
      R"({"start": 3, "expire": 2, "name": "fred", "eauth": "file", "groups": []})",
      R"({"start": 1, "expire": 9e9, "name": "fred", "eauth": "file", "groups": [1]})"};
  for (const std::string value : others) {
    REQUIRE(hosts.client->put({.key = key, .value = value}, Hosts::later()));
    CHECK(hosts.here->find(token).error().kind == ErrorKind::authentication);
  }
}

TEST_CASE("while etcd is away, tokens can be neither checked nor made nor revoked") {
  if (test::no_etcd()) return;
  const test::TempDir dir;
  test::EtcdCluster etcd;
  Options options;
  options.external_auth.push_back({"file", {{"filename", dir.write("users", "fred:sesame\n")}}, {}});
  options.tokens_in_etcd = {reach(etcd.urls()), "/salt/tokens"};
  options.login_guard.tries = 0;
  auto made = *Authenticator::make(options, system_clock());
  Authenticator& authenticator = *made;
  const auto deadline = system_clock().steady() + seconds(60);
  const Credentials password{.kind = Credentials::Kind::eauth,
                             .eauth = "file",
                             .username = "fred",
                             .password = SecretView("sesame")};
  const auto fred = *authenticator.authenticate(password, deadline);
  const auto login = *authenticator.make_token(fred);

  etcd.kill(0);
  const test::CapturedLog log;
  const std::string token(login.token.reveal().text);
  const Credentials credentials{.kind = Credentials::Kind::token, .token = SecretView(token)};
  const std::function<Error()> calls[] = {
      [&] { return authenticator.authenticate(credentials, deadline).error(); },
      [&] { return authenticator.holder(SecretView(token)).error(); },
      [&] { return authenticator.revoke_token(SecretView(token)).error(); },
      [&] { return authenticator.make_token(login.identity).error(); }};
  // Each call waits some seconds for etcd, so the calls run in parallel.
  std::vector<std::future<Error>> errors;
  for (const auto& call : calls) errors.push_back(std::async(std::launch::async, call));
  for (auto& error : errors) CHECK(error.get().kind == ErrorKind::unavailable);
  CHECK(log.has("the token storage failed: etcd: "));
  CHECK_FALSE(log.has(token));

  etcd.restart(0);
  CHECK(authenticator.holder(SecretView(token)));
}

}  // namespace rest_fcgi::auth
