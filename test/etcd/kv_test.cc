// SPDX-License-Identifier: MIT
#include "etcd/kv.h"

#include <string>
#include <utility>
#include <variant>

#include <doctest/doctest.h>

#include "rest_fcgi/etcd/client.h"

namespace rest_fcgi::etcd {
namespace {

std::string encoded(std::string_view bytes) {
  std::string text;
  append_base64(text, bytes);
  return text;
}

TEST_CASE("base64 is that of RFC 4648, in both directions") {
  const std::pair<std::string, std::string> vectors[] = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
      {std::string(1, '\0'), "AA=="},
      {"\xfb\xff\xbf", "+/+/"},
      {"/salt/return/minions/m1", "L3NhbHQvcmV0dXJuL21pbmlvbnMvbTE="},
      {"\xa9\"_return\"", "qSJfcmV0dXJuIg=="},
  };
  for (const auto& [bytes, text] : vectors) {
    CHECK(encoded(bytes) == text);
    CHECK(from_base64(text) == bytes);
    CHECK(base64_size(bytes.size()) == text.size());
  }
}

TEST_CASE("every byte survives base64") {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  CHECK(from_base64(encoded(bytes)) == bytes);
}

TEST_CASE("what is not exactly base64 is refused") {
  for (const std::string text : {"Zg", "Zg=", "Z===", "====", "Zm9v=", "Zg==Zg==", "Zm-v", "Zm_v", "Zm9v\n",
                                 "Zm 9", "=m9v", "Zh==", "Zm9=", "Z=9v"}) {
    CAPTURE(text);
    CHECK_FALSE(from_base64(text).has_value());
  }
}

TEST_CASE("a put says what is asked for, and no more") {
  CHECK(to_json(PutRequest{"foo", "bar"}) == R"({"key": "Zm9v", "value": "YmFy"})");
  CHECK(to_json(PutRequest{.key = "foo", .value = "baz", .prev_kv = true}) ==
        R"({"key": "Zm9v", "value": "YmF6", "prev_kv": true})");
  CHECK(to_json(PutRequest{.key = "lk", .value = "1", .lease = 777}) ==
        R"({"key": "bGs=", "value": "MQ==", "lease": "777"})");
  CHECK(to_json(PutRequest{.key = "foo", .value = {}, .ignore_value = true, .ignore_lease = true}) ==
        R"({"key": "Zm9v", "ignore_value": true, "ignore_lease": true})");
}

TEST_CASE("a range says all of its fields") {
  CHECK(to_json(RangeRequest{"foo"}) == R"({"key": "Zm9v"})");
  CHECK(to_json(RangeRequest{.key = "foo", .range_end = "fop", .limit = 2}) ==
        R"({"key": "Zm9v", "range_end": "Zm9w", "limit": "2"})");
  CHECK(
      to_json(RangeRequest{.key = "foo",
                           .range_end = "fop",
                           .sort_order = SortOrder::descend,
                           .sort_target = SortTarget::key,
                           .keys_only = true}) ==
      R"({"key": "Zm9v", "range_end": "Zm9w", "sort_order": "DESCEND", "sort_target": "KEY", "keys_only": true})");
  CHECK(to_json(RangeRequest{.key = std::string(1, '\0'), .range_end = std::string(1, '\0')}) ==
        R"({"key": "AA==", "range_end": "AA=="})");
  CHECK(
      to_json(RangeRequest{.key = "foo",
                           .revision = 9,
                           .serializable = true,
                           .count_only = true,
                           .min_mod_revision = 1,
                           .max_mod_revision = 2,
                           .min_create_revision = 3,
                           .max_create_revision = 4}) ==
      R"({"key": "Zm9v", "revision": "9", "serializable": true, "count_only": true, "min_mod_revision": "1", )"
      R"("max_mod_revision": "2", "min_create_revision": "3", "max_create_revision": "4"})");
}

TEST_CASE("a deletion says whether it wants what was there") {
  CHECK(to_json(DeleteRangeRequest{.key = "foo2", .prev_kv = true}) ==
        R"({"key": "Zm9vMg==", "prev_kv": true})");
  CHECK(to_json(DeleteRangeRequest{.key = "foo", .range_end = "fop"}) ==
        R"({"key": "Zm9v", "range_end": "Zm9w"})");
}

TEST_CASE("a transaction compares, and has two lists of operations") {
  using Target = Compare::Target;
  const TxnRequest create{
      .compare = {{.key = "new", .target = Target::create}},
      .success = {{PutRequest{"new", "1"}}},
      .failure = {{RangeRequest{"new"}}},
  };
  CHECK(to_json(create) ==
        R"({"compare": [{"key": "bmV3", "target": "CREATE", "result": "EQUAL", "create_revision": "0"}], )"
        R"("success": [{"request_put": {"key": "bmV3", "value": "MQ=="}}], )"
        R"("failure": [{"request_range": {"key": "bmV3"}}]})");
  CHECK(to_json(TxnRequest{}) == "{}");
}

TEST_CASE("transactions lie inside each other") {
  const TxnRequest inner{.success = {{DeleteRangeRequest{.key = "foo"}}}};
  CHECK(to_json(TxnRequest{.failure = {{inner}}}) ==
        R"({"failure": [{"request_txn": {"success": [{"request_delete_range": {"key": "Zm9v"}}]}}]})");
}

TEST_CASE("a comparison names what it compares, also with zero and with nothing") {
  using Target = Compare::Target;
  using Result = Compare::Result;
  const auto text = [](Compare compare) { return to_json(TxnRequest{.compare = {std::move(compare)}}); };
  CHECK(text({.key = "k", .target = Target::version, .number = 1}) ==
        R"({"compare": [{"key": "aw==", "target": "VERSION", "result": "EQUAL", "version": "1"}]})");
  CHECK(text({.key = "k", .target = Target::mod, .result = Result::less, .number = 9}) ==
        R"({"compare": [{"key": "aw==", "target": "MOD", "result": "LESS", "mod_revision": "9"}]})");
  CHECK(text({.key = "k", .target = Target::value, .result = Result::not_equal, .value = "2"}) ==
        R"({"compare": [{"key": "aw==", "target": "VALUE", "result": "NOT_EQUAL", "value": "Mg=="}]})");
  CHECK(text({.key = "k", .target = Target::value}) ==
        R"({"compare": [{"key": "aw==", "target": "VALUE", "result": "EQUAL", "value": ""}]})");
  CHECK(
      text({.key = "k", .target = Target::lease, .result = Result::greater, .range_end = "l"}) ==
      R"({"compare": [{"key": "aw==", "range_end": "bA==", "target": "LEASE", "result": "GREATER", "lease": "0"}]})");
}

TEST_CASE("a prefix ends where the next one begins") {
  CHECK(prefix_end("foo") == "fop");
  CHECK(prefix_end("/salt/") == "/salt0");
  CHECK(prefix_end("a\xff\xff") == "b");
  CHECK(prefix_end("\xff") == std::string(1, '\0'));
  CHECK(prefix_end("") == std::string(1, '\0'));
}

template <class Reply>
Result<Reply> read(std::string_view text, Reply (*reader)(const Fields&)) {
  JsonDocument document;
  REQUIRE(document.parse(text, JsonLimits::none()));
  return read_reply(document, reader);
}

const std::string kHeader =
    R"({"cluster_id":"14841639068965178418","member_id":"10276657743932975437","revision":"204","raft_term":"2"})";

std::string with_header(const std::string& rest) {
  return R"({"header":)" + kHeader + rest + "}";
}

TEST_CASE("a header has ids of 64 bits without a sign") {
  const Result<Header> header = read(with_header(""), read_header);
  REQUIRE(header);
  CHECK(header->cluster_id == 14841639068965178418U);
  CHECK(header->member_id == 10276657743932975437U);
  CHECK(header->revision == 204);
  CHECK(header->raft_term == 2);
}

TEST_CASE("an absent key is an empty reply") {
  const Result<RangeReply> reply = read(with_header(""), read_range);
  REQUIRE(reply);
  CHECK(reply->kvs.empty());
  CHECK(reply->count == 0);
  CHECK_FALSE(reply->more);
  CHECK(reply->header.revision == 204);
}

TEST_CASE("a range gives keys, values, and whether there are more") {
  const Result<RangeReply> reply = read(
      with_header(
          R"(,"kvs":[{"key":"Zm9v","create_revision":"201","mod_revision":"202","version":"2","value":"YmF6",)"
          R"("lease":"777"},{"key":"Zm9vMw==","create_revision":"204","mod_revision":"204","version":"1"}],)"
          R"("more":true,"count":"3")"),
      read_range);
  REQUIRE(reply);
  REQUIRE(reply->kvs.size() == 2);
  CHECK(reply->kvs[0].key == "foo");
  CHECK(reply->kvs[0].value == "baz");
  CHECK(reply->kvs[0].create_revision == 201);
  CHECK(reply->kvs[0].mod_revision == 202);
  CHECK(reply->kvs[0].version == 2);
  CHECK(reply->kvs[0].lease == 777);
  CHECK(reply->kvs[1].key == "foo3");
  CHECK(reply->kvs[1].value.empty());
  CHECK(reply->more);
  CHECK(reply->count == 3);
}

TEST_CASE("integers may be numbers, too, and null is as absent") {
  const Result<RangeReply> reply =
      read(R"({"header":null,"count":7,"more":null,"kvs":[{"key":null,"version":9223372036854775807}]})",
           read_range);
  REQUIRE(reply);
  CHECK(reply->count == 7);
  REQUIRE(reply->kvs.size() == 1);
  CHECK(reply->kvs[0].version == 9223372036854775807);
}

TEST_CASE("a put tells what was there before, if it was asked to") {
  CHECK_FALSE(read(with_header(""), read_put)->prev_kv.has_value());
  const Result<PutReply> reply = read(
      with_header(
          R"(,"prev_kv":{"key":"Zm9v","create_revision":"201","mod_revision":"201","version":"1","value":"YmFy"})"),
      read_put);
  REQUIRE(reply);
  REQUIRE(reply->prev_kv.has_value());
  CHECK(reply->prev_kv->value == "bar");
}

TEST_CASE("a deletion tells how many keys went, and which") {
  CHECK(read(with_header(""), read_delete_range)->deleted == 0);
  const Result<DeleteRangeReply> reply =
      read(with_header(R"(,"deleted":"1","prev_kvs":[{"key":"Zm9v","value":"YmFy"}])"), read_delete_range);
  REQUIRE(reply);
  CHECK(reply->deleted == 1);
  REQUIRE(reply->prev_kvs.size() == 1);
  CHECK(reply->prev_kvs[0].value == "bar");
}

TEST_CASE("a transaction has a reply for each operation, of its kind") {
  const Result<TxnReply> reply = read(
      with_header(
          R"(,"succeeded":true,"responses":[{"response_put":{"header":{"revision":"208"}}},)"
          R"({"response_range":{"header":{"revision":"208"},"kvs":[{"key":"bmV3","value":"MQ=="}],"count":"1"}},)"
          R"({"response_delete_range":{"header":{"revision":"208"},"deleted":"2"}},)"
          R"({"response_txn":{"header":{"revision":"208"},"responses":[{"response_put":{}}]}}])"),
      read_txn);
  REQUIRE(reply);
  CHECK(reply->succeeded);
  REQUIRE(reply->responses.size() == 4);
  CHECK(std::get<PutReply>(reply->responses[0].response).header.revision == 208);
  CHECK(std::get<RangeReply>(reply->responses[1].response).kvs.at(0).value == "1");
  CHECK(std::get<DeleteRangeReply>(reply->responses[2].response).deleted == 2);
  const auto& inner = std::get<TxnReply>(reply->responses[3].response);
  CHECK_FALSE(inner.succeeded);
  CHECK(inner.responses.size() == 1);
}

TEST_CASE("a comparison that failed is not told at all") {
  CHECK_FALSE(read(with_header(R"(,"responses":[])"), read_txn)->succeeded);
}

TEST_CASE("a lease has its names as in the protocol") {
  const Result<Lease> lease =
      read(with_header(R"(,"ID":"777","TTL":"59","grantedTTL":"60","keys":["bGs="])"), read_lease);
  REQUIRE(lease);
  CHECK(lease->id == 777);
  CHECK(lease->ttl == 59);
  CHECK(lease->granted_ttl == 60);
  CHECK(lease->keys == std::vector<std::string>{"lk"});
  CHECK(read(with_header(R"(,"ID":"777","TTL":"-1")"), read_lease)->ttl == -1);
  CHECK(*read(with_header(R"(,"leases":[{"ID":"1"},{"ID":"9223372036854775807"}])"), read_leases) ==
        std::vector<std::int64_t>{1, 9223372036854775807});
}

TEST_CASE("a status without a leader says so") {
  const Result<Status> status = read(
      with_header(
          R"(,"version":"3.4.23","dbSize":"73728","leader":"3319814642761637952","raftIndex":"275","raftTerm":"2",)"
          R"("raftAppliedIndex":"274","dbSizeInUse":"65536","isLearner":true)"),
      read_status);
  REQUIRE(status);
  CHECK(status->version == "3.4.23");
  CHECK(status->db_size == 73728);
  CHECK(status->db_size_in_use == 65536);
  CHECK(status->leader == 3319814642761637952U);
  CHECK(status->raft_index == 275);
  CHECK(status->raft_term == 2);
  CHECK(status->raft_applied_index == 274);
  CHECK(status->is_learner);
  const Result<Status> lost = read(with_header(R"(,"errors":["etcdserver: no leader"])"), read_status);
  REQUIRE(lost);
  CHECK(lost->leader == 0);
  CHECK(lost->errors == std::vector<std::string>{"etcdserver: no leader"});
}

TEST_CASE("a member has its addresses") {
  const Result<std::vector<Member>> members = read(
      with_header(
          R"(,"members":[{"ID":"10276657743932975437","name":"a","peerURLs":["http://127.0.0.1:2380"],)"
          R"("clientURLs":["http://127.0.0.1:2379","http://127.0.0.1:1"]},{"ID":"1","isLearner":true}])"),
      read_members);
  REQUIRE(members);
  REQUIRE(members->size() == 2);
  CHECK(members->at(0).id == 10276657743932975437U);
  CHECK(members->at(0).name == "a");
  CHECK(members->at(0).peer_urls == std::vector<std::string>{"http://127.0.0.1:2380"});
  CHECK(members->at(0).client_urls.size() == 2);
  CHECK(members->at(1).is_learner);
}

TEST_CASE("a reply of another form is told as none, with the field") {
  const auto mistake = [](std::string_view text) { return read(text, read_range).error().message; };
  CHECK(mistake("[]") == "etcd: a reply that is none: a message is not an object");
  CHECK(mistake(R"({"kvs":{}})") == "etcd: a reply that is none: kvs is not a list");
  CHECK(mistake(R"({"kvs":[1]})") == "etcd: a reply that is none: a message is not an object");
  CHECK(mistake(R"({"kvs":[{"key":"Zg"}]})") == "etcd: a reply that is none: key is not base64");
  CHECK(mistake(R"({"kvs":[{"key":1}]})") == "etcd: a reply that is none: key is not a string");
  CHECK(mistake(R"({"more":"true"})") == "etcd: a reply that is none: more is not a boolean");
  CHECK(mistake(R"({"header":"x"})") == "etcd: a reply that is none: header is not an object");
  for (const std::string count : {"\"9223372036854775808\"", "\"\"", "\"1x\"", "1.5", "true", "[]"}) {
    CHECK(mistake(R"({"count":)" + count + "}") ==
          "etcd: a reply that is none: count is not an integer of 64 bits");
  }
  CHECK(read(R"({"responses":[{}]})", read_txn).error().kind == ErrorKind::internal);
  CHECK_FALSE(read(R"({"errors":[1]})", read_status));
  CHECK_FALSE(read(R"({"keys":["?"]})", read_lease));
  CHECK_FALSE(read(R"({"header":{"cluster_id":"-1"}})", read_header));
}

}  // namespace
}  // namespace rest_fcgi::etcd
