// SPDX-License-Identifier: MIT
#include "rest_fcgi/etcd/client.h"

#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "../support/etcd_server.h"
#include "client_calls.h"
#include "etcd/transport.h"

namespace rest_fcgi::etcd {
namespace {

using namespace std::chrono_literals;
using test::Certificates;
using test::EtcdCluster;

TEST_CASE("an etcd client with bad options is not made") {
  const auto refused = [](Options options, std::string_view text) {
    return fails_with(Client::make(std::move(options)), ErrorKind::configuration, text);
  };
  CHECK(refused({.endpoints = {"localhost"}}, "'localhost'"));
  CHECK(refused({.username = "larry"}, "without a password"));
  CHECK(refused({.password = std::make_shared<const Secret>("123pass")}, "without a username"));
  CHECK(refused({.endpoints = {"https://h:1"}, .ca = "/none.pem"}, "etcd.ca: /none.pem"));
}

TEST_CASE("an etcd client stores keys and values of any bytes, and a deletion returns the earlier pair") {
  if (test::no_etcd()) return;
  const auto client = client_of(options_of(test::shared_etcd()));
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  REQUIRE(client->put({.key = bytes, .value = bytes}, in()));
  const auto found = *client->range({.key = bytes}, in());
  REQUIRE(found.kvs.size() == 1);
  CHECK(found.kvs[0].key == bytes);
  CHECK(found.kvs[0].value == bytes);
  CHECK(found.kvs[0].version == 1);
  CHECK(found.header.revision == found.kvs[0].mod_revision);
  CHECK(found.header.cluster_id != 0);
  CHECK(client->range({.key = "none"}, in())->kvs.empty());
  const std::string large(1000000, '\xfe');
  REQUIRE(client->put({.key = "large", .value = large}, in()));
  CHECK(client->range({.key = "large"}, in())->kvs.at(0).value == large);
  REQUIRE(client->put({.key = "foo", .value = ""}, in()));
  CHECK(client->range({.key = "foo"}, in())->kvs.at(0).value.empty());
  REQUIRE(client->put({.key = "foo", .value = "baz"}, in()));
  CHECK(client->delete_key("foo", in())->value().value == "baz");
  CHECK_FALSE(client->delete_key("foo", in())->has_value());
}

TEST_CASE("a range has a limit and a revision") {
  if (test::no_etcd()) return;
  const auto client = client_of(options_of(test::shared_etcd()));
  for (const std::string key : {"foo1", "foo2", "foo3", "fop"}) REQUIRE(put(*client, key));
  const auto keys = [&](RangeRequest request) {
    request.key = "foo";
    request.range_end = prefix_end("foo");
    const Result<RangeReply> reply = client->range(request, in());
    std::string all;
    for (const KeyValue& kv : reply->kvs) all += kv.key + " ";
    return all + (reply->more ? "+" : "");
  };
  CHECK(keys({}) == "foo1 foo2 foo3 ");
  CHECK(keys({.limit = 2}) == "foo1 foo2 +");
  CHECK(keys({.revision = pairs_below(*client, "foo1").at(0).mod_revision}) == "foo1 ");
  const std::string zero(1, '\0');
  CHECK(client->range({.key = zero, .range_end = zero}, in())->kvs.size() >= 4);
}

TEST_CASE("a transaction compares, and runs one of its branches") {
  if (test::no_etcd()) return;
  const auto client = client_of(options_of(test::shared_etcd()));
  const TxnRequest create{.compare = {{.key = "new"}},
                          .success = {{PutRequest{"new", "1"}}, {RangeRequest{"new"}}},
                          .failure = {{RangeRequest{"new"}}}};
  const auto first = *client->txn(create, in());
  CHECK(first.succeeded);
  REQUIRE(first.responses.size() == 2);
  CHECK(first.responses[1].value().kvs.at(0).value == "1");
  const auto second = *client->txn(create, in());
  CHECK_FALSE(second.succeeded);
  CHECK(second.responses.at(0).value().kvs.at(0).value == "1");
}

TEST_CASE("a request that etcd refuses fails at once") {
  if (test::no_etcd()) return;
  const auto client = client_of(options_of(test::shared_etcd()));
  const auto put_fails = [&](PutRequest request, std::string_view text) {
    return fails_with(client->put(request, in()), ErrorKind::invocation, text);
  };
  CHECK(put_fails({.key = "", .value = "x"}, "key is not provided"));
  CHECK(put_fails({.key = "k", .value = std::string(1600000, 'x')}, "request is too large"));
  CHECK(put_fails({.key = "k", .value = std::string(3000000, 'x')}, "larger than max"));
  CHECK(kind_of(client->put({.key = "k", .value = "x", .lease = 42}, in())) == ErrorKind::not_found);
  const TxnRequest twice{.success = {{PutRequest{"k", "1"}}, {PutRequest{"k", "2"}}}};
  CHECK(fails_with(client->txn(twice, in()), ErrorKind::invocation, "duplicate key"));
  TxnRequest many;
  for (int i = 0; i < 129; ++i) many.success.push_back({PutRequest{std::to_string(i), "x"}});
  CHECK(fails_with(client->txn(many, in()), ErrorKind::invocation, "too many operations"));
  CHECK(fails_with(client->range({.key = "k", .revision = 1000000000}, in()), ErrorKind::invocation,
                   "future revision"));
  REQUIRE(put(*client, "k"));
  REQUIRE(put(*client, "k"));
  const std::int64_t now = pairs_below(*client, "k").at(0).mod_revision;
  test::shared_etcd().post("/v3/kv/compaction",
                           R"({"revision":")" + std::to_string(now) + R"(","physical":true})");
  CHECK(fails_with(client->range({.key = "k", .revision = now - 1}, in()), ErrorKind::invocation,
                   "has been compacted"));
}

TEST_CASE("a revoked lease deletes its keys") {
  if (test::no_etcd()) return;
  const auto client = client_of(options_of(test::shared_etcd()));
  const Result<std::int64_t> lease = client->lease_grant(60s, in());
  REQUIRE(lease);
  REQUIRE(client->put({.key = "lk", .value = "1", .lease = *lease}, in()));
  CHECK(client->range({.key = "lk"}, in())->kvs.at(0).lease == *lease);
  CHECK(test::shared_etcd()
            .post("/v3/lease/timetolive", R"({"ID":")" + std::to_string(*lease) + "\"}")
            .find(R"("grantedTTL":"60")") != std::string::npos);
  CHECK(client->lease_revoke(*lease, in()));
  CHECK(client->range({.key = "lk"}, in())->kvs.empty());
  CHECK(kind_of(client->lease_revoke(*lease, in())) == ErrorKind::not_found);
}

std::unique_ptr<Client> client_as(const EtcdCluster& etcd, std::string name, std::string_view password) {
  return client_of({.endpoints = etcd.urls(),
                    .username = std::move(name),
                    .password = std::make_shared<const Secret>(password)});
}

TEST_CASE("a user may do only what the role allows, and only with the right password") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd({.auth = true});
  const auto larry = client_as(etcd, "larry", "123pass");
  CHECK(put(*larry));
  CHECK(larry->range({.key = "/salt/", .range_end = "/salt0"}, in())->kvs.size() == 1);
  CHECK(put(*larry, "/other").error().kind == ErrorKind::authorization);
  CHECK(larry->range({.key = "/salt", .range_end = "/salt0"}, in()).error().kind == ErrorKind::authorization);
  CHECK(larry->txn({.success = {{PutRequest{"/salt/a", "1"}}, {PutRequest{"/b", "2"}}}}, in()).error().kind ==
        ErrorKind::authorization);
  CHECK(larry->range({.key = "/salt/a"}, in())->kvs.empty());
  const auto lease = *larry->lease_grant(60s, in());
  CHECK(larry->lease_revoke(lease, in()));
  CHECK(put(*client_as(etcd, "root", "rootpw"), "/other"));
  CHECK(put(*client_of({.endpoints = etcd.urls()})).error().kind == ErrorKind::authentication);
  const auto wrong = client_as(etcd, "larry", "sesame");
  for (int i = 0; i < 2; ++i) {
    const Error error = put(*wrong).error();
    CHECK(error.kind == ErrorKind::authentication);
    CHECK(error.message.find("sesame") == std::string::npos);
  }
  CHECK(put(*client_as(etcd, "nobody", "123pass")).error().kind == ErrorKind::authentication);
}

Result<void> put_with(Options options, std::chrono::milliseconds time = 60s) {
  return client_of(std::move(options))->put({.key = "k", .value = "v"}, in(time));
}

Error error_of_one_try(const std::string& url, Options options) {
  options.connect_timeout = 60s;
  options.try_timeout = 60s;
  return (*Transport::make(std::move(options)))
      ->exchange({.method = HttpRequest::Method::get, .url = url + "/version"}, in())
      .error();
}

TEST_CASE(
    "CVE-2020-28972 and CVE-2020-35662: only a server whose certificate the configured authority signed for "
    "its host is trusted") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd({.tls = true});
  const Certificates& files = etcd.certificates();
  CHECK(put_with({.endpoints = etcd.urls(), .ca = files.ca}));
  const std::string localhost = "https://localhost:" + std::to_string(etcd.port());
  CHECK(put_with({.endpoints = {localhost}, .ca = files.ca}));
  for (const std::string& ca : {files.other_ca, std::string()}) {
    const Error refused = error_of_one_try(etcd.url(), {.ca = ca});
    CHECK(refused.kind == ErrorKind::unavailable);
    CAPTURE(refused.message);
    CHECK(refused.message.find("certificate") != std::string::npos);
  }
  CHECK(put_with({.endpoints = etcd.urls(), .ca = files.other_ca}, 300ms).error().kind ==
        ErrorKind::unavailable);
  const Error other =
      error_of_one_try("https://other.localhost:" + std::to_string(etcd.port()), {.ca = files.ca});
  CHECK(other.kind == ErrorKind::unavailable);
  CHECK(other.message.find("no alternative certificate subject name matches") != std::string::npos);
}

TEST_CASE("a client certificate is shown to a server that asks for it") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd({.tls = true, .ask_client_cert = true});
  const Certificates& files = etcd.certificates();
  CHECK(put_with({.endpoints = etcd.urls(),
                  .ca = files.ca,
                  .client_cert = files.client_cert,
                  .client_key = files.client_key}));
  CHECK(kind_of(put_with({.endpoints = etcd.urls(), .ca = files.ca}, 300ms)) == ErrorKind::unavailable);
  CHECK(kind_of(put_with({.endpoints = etcd.urls(),
                          .ca = files.ca,
                          .client_cert = files.client_cert,
                          .client_key = files.server_key})) == ErrorKind::configuration);
}

}  // namespace
}  // namespace rest_fcgi::etcd
