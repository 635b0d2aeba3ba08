// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "etcd/kv.h"
#include "rest_fcgi/etcd/client.h"

namespace rest_fcgi::etcd {
namespace {

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

}  // namespace
}  // namespace rest_fcgi::etcd
