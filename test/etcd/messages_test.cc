// SPDX-License-Identifier: MIT
#include "etcd/messages.h"

#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "rest_fcgi/etcd/client.h"

namespace rest_fcgi::etcd {
namespace {

std::string encoded(std::string_view bytes) {
  std::string text;
  append_base64(text, bytes);
  return text;
}

TEST_CASE("base64 is written and read as RFC 4648 says") {
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
  }
}

TEST_CASE("malformed base64 is refused") {
  for (const std::string text : {"Zg", "Zg=", "Z===", "====", "Zm9v=", "Zg==Zg==", "Zm-v", "Zm_v", "Zm9v\n",
                                 "Zm 9", "=m9v", "Zh==", "Zm9=", "Z=9v"}) {
    CAPTURE(text);
    CHECK_FALSE(from_base64(text).has_value());
  }
}

TEST_CASE("requests are written with the fields that are not empty") {
  CHECK(to_json(PutRequest{"foo", "bar"}) == R"({"key": "Zm9v", "value": "YmFy"})");
  CHECK(to_json(PutRequest{.key = "lk", .value = "1", .lease = 777}) ==
        R"({"key": "bGs=", "value": "MQ==", "lease": "777"})");
  CHECK(to_json(RangeRequest{"foo"}) == R"({"key": "Zm9v"})");
  CHECK(to_json(RangeRequest{.key = "foo", .range_end = "fop", .limit = 2, .revision = 9}) ==
        R"({"key": "Zm9v", "range_end": "Zm9w", "limit": "2", "revision": "9"})");
  CHECK(to_json(RangeRequest{.key = std::string(1, '\0'), .range_end = std::string(1, '\0')}) ==
        R"({"key": "AA==", "range_end": "AA=="})");
  CHECK(to_json(TxnRequest{}) == "{}");
}

TEST_CASE("the end of a prefix is the first key after it") {
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

std::string with_header(const std::string& rest) {
  return R"({"header":{"cluster_id":"14841639068965178418","revision":"204"})" + rest + "}";
}

TEST_CASE("a header has an unsigned cluster ID of 64 bits") {
  const Result<Header> header = read(with_header(""), read_header);
  REQUIRE(header);
  CHECK(header->cluster_id == 14841639068965178418U);
  CHECK(header->revision == 204);
}

TEST_CASE("a range reply has pairs, and says whether there are more") {
  const Result<RangeReply> empty = read(with_header(""), read_range);
  REQUIRE(empty);
  CHECK(empty->kvs.empty());
  CHECK_FALSE(empty->more);
  CHECK(empty->header.revision == 204);
  const Result<RangeReply> reply = read(
      with_header(R"(,"kvs":[{"key":"Zm9v","mod_revision":"202","version":"2","value":"YmF6","lease":"777"},)"
                  R"({"key":"Zm9vMw==","version":9223372036854775807,"value":null}],"more":true)"),
      read_range);
  REQUIRE(reply);
  REQUIRE(reply->kvs.size() == 2);
  CHECK(reply->kvs[0].key == "foo");
  CHECK(reply->kvs[0].value == "baz");
  CHECK(reply->kvs[0].mod_revision == 202);
  CHECK(reply->kvs[0].version == 2);
  CHECK(reply->kvs[0].lease == 777);
  CHECK(reply->kvs[1].key == "foo3");
  CHECK(reply->kvs[1].version == 9223372036854775807);
  CHECK(reply->kvs[1].value.empty());
  CHECK(reply->more);
}

TEST_CASE("a status without a leader has leader 0") {
  CHECK(read(with_header(R"(,"leader":"3319814642761637952")"), read_status)->leader == 3319814642761637952U);
  CHECK(read(with_header(R"(,"errors":["etcdserver: no leader"])"), read_status)->leader == 0);
}

TEST_CASE("a malformed reply is an error with the field") {
  const auto fails = [](std::string_view text, std::string_view field) {
    const Result<RangeReply> reply = read(text, read_range);
    return !reply && reply.error().kind == ErrorKind::internal &&
           reply.error().message.find(field) != std::string::npos;
  };
  CHECK(fails("[]", "message"));
  CHECK(fails(R"({"kvs":{}})", "kvs: expected a list"));
  CHECK(fails(R"({"kvs":[1]})", "message"));
  CHECK(fails(R"({"kvs":[{"key":"Zg"}]})", "key: expected base64"));
  CHECK(fails(R"({"kvs":[{"key":1}]})", "key"));
  CHECK(fails(R"({"more":"true"})", "more"));
  CHECK(fails(R"({"header":"x"})", "header"));
  for (const std::string revision : {"\"9223372036854775808\"", "\"\"", "\"1x\"", "1.5", "true", "[]"}) {
    CHECK(fails(R"({"header":{"revision":)" + revision + "}}", "revision"));
  }
  CHECK_FALSE(read(R"({"header":{"cluster_id":"-1"}})", read_header));
}

}  // namespace
}  // namespace rest_fcgi::etcd
