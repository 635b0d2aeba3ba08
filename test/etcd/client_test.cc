// SPDX-License-Identifier: MIT
#include "rest_fcgi/etcd/client.h"

#include <atomic>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "../support/etcd_server.h"
#include "client_calls.h"

namespace rest_fcgi::etcd {
namespace {

using namespace std::chrono_literals;
using test::EtcdCluster;

TEST_CASE("mistakes in the options are told before any connection") {
  const auto message = [](Options options) {
    const Result<std::unique_ptr<Client>> made = Client::make(std::move(options));
    REQUIRE_FALSE(made);
    CHECK(made.error().kind == ErrorKind::configuration);
    return made.error().message;
  };
  CHECK(message({.endpoints = {"localhost"}}).find("etcd: endpoint 'localhost'") == 0);
  CHECK(message({.username = "larry"}) ==
        "etcd: a username without a password; both go together, or neither");
  CHECK(message({.password = std::make_shared<const Secret>("123pass")}) ==
        "etcd: a password without a username; both go together, or neither");
  CHECK(message({.endpoints = {"https://h:1"}, .ca = "/none.pem"}) ==
        "etcd.ca: /none.pem: cannot be read: No such file or directory");
}

TEST_CASE("keys and values are any bytes, and come back as they were put") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd;
  const auto client = client_of({.endpoints = etcd.urls()});
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  REQUIRE(client->put({.key = bytes, .value = bytes}, in()));
  const Result<RangeReply> found = client->range({.key = bytes}, in());
  REQUIRE(found);
  REQUIRE(found->kvs.size() == 1);
  CHECK(found->kvs[0].key == bytes);
  CHECK(found->kvs[0].value == bytes);
  CHECK(found->kvs[0].version == 1);
  CHECK(found->count == 1);
  CHECK(found->header.revision == found->kvs[0].mod_revision);
  CHECK(found->header.cluster_id != 0);
  CHECK(client->range({.key = "none"}, in())->kvs.empty());
  const std::string large(1000000, '\xfe');
  REQUIRE(client->put({.key = "large", .value = large}, in()));
  CHECK(client->range({.key = "large"}, in())->kvs.at(0).value == large);
}

TEST_CASE("puts tell what was there, and keep what they are asked to keep") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd;
  const auto client = client_of({.endpoints = etcd.urls()});
  CHECK_FALSE(client->put({.key = "foo", .value = "bar"}, in())->prev_kv.has_value());
  const Result<PutReply> again = client->put({.key = "foo", .value = "baz", .prev_kv = true}, in());
  REQUIRE(again);
  CHECK(again->prev_kv.value().value == "bar");
  REQUIRE(client->put({.key = "foo", .value = {}, .ignore_value = true}, in()));
  CHECK(client->range({.key = "foo"}, in())->kvs.at(0).value == "baz");
  REQUIRE(client->put({.key = "foo", .value = ""}, in()));
  CHECK(client->range({.key = "foo"}, in())->kvs.at(0).value.empty());
  const Result<PutReply> missing = client->put({.key = "none", .value = {}, .ignore_value = true}, in());
  CHECK(missing.error().kind == ErrorKind::invocation);
}

TEST_CASE("ranges have a limit, an order, a count, and a revision") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd;
  const auto client = client_of({.endpoints = etcd.urls()});
  std::int64_t first = 0;
  for (const std::string key : {"foo1", "foo2", "foo3", "fop"}) {
    const Result<PutReply> put = client->put({.key = key, .value = "v"}, in());
    if (first == 0) first = put->header.revision;
  }
  const auto keys = [&](RangeRequest request) {
    request.key = "foo";
    request.range_end = prefix_end("foo");
    const Result<RangeReply> reply = client->range(request, in());
    std::string all;
    for (const KeyValue& kv : reply->kvs) all += kv.key + "=" + kv.value + " ";
    return all + std::to_string(reply->count) + (reply->more ? "+" : "");
  };
  CHECK(keys({}) == "foo1=v foo2=v foo3=v 3");
  CHECK(keys({.limit = 2}) == "foo1=v foo2=v 3+");
  CHECK(keys({.sort_order = SortOrder::descend, .keys_only = true}) == "foo3= foo2= foo1= 3");
  CHECK(keys({.count_only = true}) == "3");
  CHECK(keys({.revision = first}) == "foo1=v 1");
  CHECK(keys({.serializable = true}) == "foo1=v foo2=v foo3=v 3");
  CHECK(keys({.min_mod_revision = first + 1, .max_mod_revision = first + 1}) == "foo2=v 3");
  CHECK(keys({.min_create_revision = first + 2}) == "foo3=v 3");
  CHECK(keys({.max_create_revision = first}) == "foo1=v 3");
  const std::string zero(1, '\0');
  CHECK(client->range({.key = zero, .range_end = zero}, in())->count == 4);
}

TEST_CASE("keys go alone, or all that begin alike") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd;
  const auto client = client_of({.endpoints = etcd.urls()});
  for (const std::string key : {"a", "p/1", "p/2"}) REQUIRE(client->put({.key = key, .value = key}, in()));
  CHECK(client->delete_range({.key = "none"}, in())->deleted == 0);
  const Result<DeleteRangeReply> one = client->delete_range({.key = "a", .prev_kv = true}, in());
  REQUIRE(one);
  CHECK(one->deleted == 1);
  CHECK(one->prev_kvs.at(0).value == "a");
  CHECK(client->delete_range({.key = "p/", .range_end = prefix_end("p/")}, in())->deleted == 2);
}

TEST_CASE("a transaction puts where nothing is, and tells what is there") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd;
  const auto client = client_of({.endpoints = etcd.urls()});
  const TxnRequest create{.compare = {{.key = "new", .target = Compare::Target::create}},
                          .success = {{PutRequest{"new", "1"}}, {RangeRequest{"new"}}},
                          .failure = {{RangeRequest{"new"}}, {DeleteRangeRequest{"new"}}}};
  const Result<TxnReply> first = client->txn(create, in(), Repeat::no);
  REQUIRE(first);
  CHECK(first->succeeded);
  REQUIRE(first->responses.size() == 2);
  CHECK(std::get<RangeReply>(first->responses[1].response).kvs.at(0).value == "1");
  const Result<TxnReply> second = client->txn(create, in(), Repeat::no);
  REQUIRE(second);
  CHECK_FALSE(second->succeeded);
  CHECK(std::get<RangeReply>(second->responses.at(0).response).kvs.at(0).value == "1");
  CHECK(std::get<DeleteRangeReply>(second->responses.at(1).response).deleted == 1);
}

TEST_CASE("a transaction inside another takes the newer value only") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd;
  const auto client = client_of({.endpoints = etcd.urls()});
  const auto newest = [&](const std::string& value) {
    const TxnRequest absent{.compare = {{.key = "k", .target = Compare::Target::version}},
                            .success = {{PutRequest{"k", value}}}};
    const TxnRequest guarded{.compare = {{.key = "k",
                                          .target = Compare::Target::value,
                                          .result = Compare::Result::less,
                                          .value = value}},
                             .success = {{PutRequest{"k", value}}},
                             .failure = {{absent}}};
    REQUIRE(client->txn(guarded, in(), Repeat::yes));
    return client->range({.key = "k"}, in())->kvs.at(0).value;
  };
  CHECK(newest("2") == "2");
  CHECK(newest("1") == "2");
  CHECK(newest("3") == "3");
}

TEST_CASE("what the cluster refuses as it is, is told at once") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd;
  const auto client = client_of({.endpoints = etcd.urls()});
  const auto refused = [](const Error& error, std::string_view text) {
    CHECK(error.kind == ErrorKind::invocation);
    CHECK(error.message.find(text) != std::string::npos);
  };
  refused(client->put({.key = "", .value = "x"}, in()).error(), "key is not provided");
  refused(client->put({.key = "k", .value = std::string(1600000, 'x')}, in()).error(),
          "request is too large");
  refused(client->put({.key = "k", .value = std::string(3000000, 'x')}, in()).error(), "larger than max");
  TxnRequest twice{.success = {{PutRequest{"k", "1"}}, {PutRequest{"k", "2"}}}};
  refused(client->txn(twice, in(), Repeat::yes).error(), "duplicate key");
  TxnRequest many;
  for (int i = 0; i < 129; ++i) many.success.push_back({PutRequest{std::to_string(i), "x"}});
  refused(client->txn(many, in(), Repeat::yes).error(), "too many operations");
  refused(client->range({.key = "k", .revision = 1000000}, in()).error(), "future revision");
  CHECK(client->put({.key = "k", .value = "x", .lease = 42}, in()).error().kind == ErrorKind::not_found);
}

TEST_CASE("what is compacted away is told, and the rest stays") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd;
  const auto client = client_of({.endpoints = etcd.urls()});
  const std::int64_t old = client->put({.key = "k", .value = "1"}, in())->header.revision;
  const std::int64_t now = client->put({.key = "k", .value = "2"}, in())->header.revision;
  const Result<Header> compacted = client->compact(now, true, in());
  REQUIRE(compacted);
  CHECK(compacted->revision == now);
  const Result<RangeReply> gone = client->range({.key = "k", .revision = old}, in());
  CHECK(gone.error().kind == ErrorKind::invocation);
  CHECK(gone.error().message.find("has been compacted") != std::string::npos);
  CHECK(client->range({.key = "k", .revision = now}, in())->kvs.at(0).value == "2");
}

TEST_CASE("leases live, are renewed, and take their keys with them") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd;
  const auto client = client_of({.endpoints = etcd.urls()});
  const Result<Lease> granted = client->lease_grant(60s, 0, in());
  REQUIRE(granted);
  CHECK(granted->id > 0);
  CHECK(granted->granted_ttl == 60);
  REQUIRE(client->put({.key = "lk", .value = "1", .lease = granted->id}, in()));
  CHECK(client->range({.key = "lk"}, in())->kvs.at(0).lease == granted->id);
  const Result<Lease> lives = client->lease_time_to_live(granted->id, true, in());
  REQUIRE(lives);
  CHECK(lives->granted_ttl == 60);
  CHECK(lives->ttl > 0);
  CHECK(lives->keys == std::vector<std::string>{"lk"});
  CHECK(client->lease_time_to_live(granted->id, false, in())->keys.empty());
  CHECK(client->lease_keep_alive(granted->id, in())->ttl == 60);
  CHECK(*client->lease_leases(in()) == std::vector<std::int64_t>{granted->id});
  CHECK(client->lease_revoke(granted->id, in()));
  CHECK(client->range({.key = "lk"}, in())->kvs.empty());
  CHECK(client->lease_revoke(granted->id, in()).error().kind == ErrorKind::not_found);
  CHECK(client->lease_keep_alive(granted->id, in()).error().kind == ErrorKind::not_found);
  CHECK(client->lease_time_to_live(granted->id, false, in())->ttl == -1);
}

TEST_CASE("a lease that is granted twice is one lease") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd;
  const auto client = client_of({.endpoints = etcd.urls()});
  CHECK(client->lease_grant(60s, 777, in())->id == 777);
  const Result<Lease> again = client->lease_grant(90s, 777, in());
  REQUIRE(again);
  CHECK(again->id == 777);
  CHECK(again->granted_ttl == 60);
  CHECK(client->lease_leases(in())->size() == 1);
  CHECK(client->lease_grant(-1s, 0, in()).ok());
}

TEST_CASE("a member tells its state, and who the others are") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd;
  const auto client = client_of({.endpoints = etcd.urls()});
  const Result<Status> status = client->status(in());
  REQUIRE(status);
  CHECK(status->version.find('.') != std::string::npos);
  CHECK(status->leader == status->header.member_id);
  CHECK(status->db_size > 0);
  CHECK(status->raft_index > 0);
  CHECK(status->errors.empty());
  const Result<std::vector<Member>> members = client->member_list(in());
  REQUIRE(members);
  REQUIRE(members->size() == 1);
  CHECK(members->at(0).id == status->header.member_id);
  CHECK(members->at(0).client_urls == etcd.urls());
}

TEST_CASE("eight threads write through one client") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd;
  const auto client = client_of({.endpoints = etcd.urls()});
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        const std::string key = "t/" + std::to_string(t) + "/" + std::to_string(i);
        if (client->put({.key = key, .value = key}, in()) &&
            client->range({.key = key}, in())->kvs.at(0).value == key) {
          ++good;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == 200);
  CHECK(client->range({.key = "t/", .range_end = prefix_end("t/"), .count_only = true}, in())->count == 200);
}

TEST_CASE("a full database is told as such") {
  if (test::no_etcd()) return;
  const EtcdCluster etcd({.arguments = {"--quota-backend-bytes=1000000"}});
  const auto client = client_of({.endpoints = etcd.urls()});
  Error error;
  for (int i = 0; i < 20 && error.message.empty(); ++i) {
    const Result<PutReply> put =
        client->put({.key = std::to_string(i), .value = std::string(200000, 'x')}, in());
    if (!put) error = put.error();
  }
  CHECK(error.kind == ErrorKind::unavailable);
  CHECK(error.message.find("NOSPACE") != std::string::npos);
  CHECK(client->range({.key = "0"}, in())->count == 1);
}

}  // namespace
}  // namespace rest_fcgi::etcd
