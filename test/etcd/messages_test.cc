// SPDX-License-Identifier: MIT
#include "etcd/messages.h"

#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "etcd/failure.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/etcd/client.h"

namespace rest_fcgi::etcd {
namespace {

TEST_CASE("requests are written without empty fields, and the end of a prefix is the first key after it") {
  CHECK(to_json(PutRequest{"foo", "bar"}) == R"({"key": "Zm9v", "value": "YmFy"})");
  CHECK(to_json(PutRequest{.key = "lk", .value = "1", .lease = 777}) ==
        R"({"key": "bGs=", "value": "MQ==", "lease": "777"})");
  CHECK(to_json(RangeRequest{"foo"}) == R"({"key": "Zm9v"})");
  CHECK(to_json(RangeRequest{.key = "foo", .range_end = "fop", .limit = 2, .revision = 9}) ==
        R"({"key": "Zm9v", "range_end": "Zm9w", "limit": "2", "revision": "9"})");
  CHECK(to_json(RangeRequest{.key = std::string(1, '\0'), .range_end = std::string(1, '\0')}) ==
        R"({"key": "AA==", "range_end": "AA=="})");
  CHECK(to_json(TxnRequest{}) == "{}");
  CHECK(prefix_end("foo") == "fop");
  CHECK(prefix_end("/salt/") == "/salt0");
  CHECK(prefix_end("a\xff\xff") == "b");
  CHECK(prefix_end("\xff") == std::string(1, '\0'));
  CHECK(prefix_end("") == std::string(1, '\0'));
}

template <class Reply>
Result<Reply> read(std::string_view text, Reply (*reader)(const MessageFields&)) {
  JsonDocument document;
  REQUIRE(document.parse(text, JsonLimits::none()));
  return read_reply(document, reader);
}

std::string with_header(const std::string& rest) {
  return R"({"header":{"cluster_id":"14841639068965178418","revision":"204"})" + rest + "}";
}

TEST_CASE("a range reply has pairs, and says whether there are more") {
  const Result<RangeReply> empty = read(with_header(""), read_range);
  REQUIRE(empty);
  CHECK(empty->kvs.empty());
  CHECK_FALSE(empty->more);
  CHECK(empty->header.revision == 204);
  const auto reply = *read(
      with_header(R"(,"kvs":[{"key":"Zm9v","mod_revision":"202","version":"2","value":"YmF6","lease":"777"},)"
                  R"({"key":"Zm9vMw==","version":9223372036854775807,"value":null}],"more":true)"),
      read_range);
  REQUIRE(reply.kvs.size() == 2);
  CHECK(reply.kvs[0].key == "foo");
  CHECK(reply.kvs[0].value == "baz");
  CHECK(reply.kvs[0].mod_revision == 202);
  CHECK(reply.kvs[0].version == 2);
  CHECK(reply.kvs[0].lease == 777);
  CHECK(reply.kvs[1].key == "foo3");
  CHECK(reply.kvs[1].version == 9223372036854775807);
  CHECK(reply.kvs[1].value.empty());
  CHECK(reply.more);
}

TEST_CASE("a header has an unsigned cluster ID of 64 bits, and a status without a leader has leader 0") {
  CHECK(read(with_header(""), read_header)->cluster_id == 14841639068965178418U);
  CHECK(read(with_header(""), read_header)->revision == 204);
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

struct AnswerRow {
  long status;
  int code;
  std::string text;
  ErrorKind kind;
  RetryAction action;
  bool is_outcome_known;
};

HttpReply json_reply(long status, const std::string& body) {
  return {status, body};
}

HttpReply reply_of(const AnswerRow& row) {
  return json_reply(row.status,
                    format(R"({{"error":"{}","message":"{}","code":{}}})", row.text, row.text, row.code));
}

TEST_CASE("an answer of the gateway has a kind and a retry action") {
  const AnswerRow rows[] = {
      {400, 3, "etcdserver: authentication failed, invalid user ID or password", ErrorKind::authentication,
       RetryAction::none, true},
      {400, 3, "etcdserver: user name is empty", ErrorKind::authentication, RetryAction::authenticate, true},
      {400, 3, "etcdserver: revision of auth store is old", ErrorKind::authentication,
       RetryAction::authenticate, true},
      {401, 16, "etcdserver: invalid auth token", ErrorKind::authentication, RetryAction::authenticate, true},
      {403, 7, "etcdserver: permission denied", ErrorKind::authorization, RetryAction::none, true},
      {412, 9, "etcdserver: authentication is not enabled", ErrorKind::invocation, RetryAction::without_token,
       true},
      {400, 9, "etcdserver: lease already exists", ErrorKind::conflict, RetryAction::none, true},
      {400, 3, "unknown field fragment in WatchCreateRequest", ErrorKind::invocation,
       RetryAction::without_fragments, true},
      {503, 14, "etcdserver: request timed out", ErrorKind::timeout, RetryAction::next_member, false},
      {500, 2, "context deadline exceeded", ErrorKind::timeout, RetryAction::next_member, false},
      {408, 1, "grpc: the client connection is closing", ErrorKind::timeout, RetryAction::next_member, false},
      {400, 3, "etcdserver: request is too large", ErrorKind::invocation, RetryAction::none, true},
      {429, 8, "grpc: received message larger than max (2100011 vs. 2097152)", ErrorKind::invocation,
       RetryAction::none, true},
      {429, 8, "etcdserver: mvcc: database space exceeded", ErrorKind::unavailable, RetryAction::none, true},
      {400, 11, "etcdserver: mvcc: required revision has been compacted", ErrorKind::invocation,
       RetryAction::none, true},
      {404, 5, "etcdserver: requested lease not found", ErrorKind::not_found, RetryAction::none, true},
      {413, -1, "a page of a proxy", ErrorKind::invocation, RetryAction::none, true},
      {500, 13, "panic", ErrorKind::internal, RetryAction::none, false},
      {418, 2, "a teapot", ErrorKind::internal, RetryAction::none, false},
  };
  for (const AnswerRow& row : rows) {
    CAPTURE(row.text);
    const Failure failure = gateway_failure(reply_of(row), "http://h:1");
    CHECK(failure.error.kind == row.kind);
    CHECK(failure.action == row.action);
    CHECK(failure.is_outcome_known == row.is_outcome_known);
    CHECK(failure.error.message.find("etcd: http://h:1: HTTP " + std::to_string(row.status) + ": " +
                                     row.text) == 0);
  }
}

TEST_CASE("an answer that is not JSON has a retry action by its status") {
  const std::pair<long, RetryAction> rows[] = {
      {502, RetryAction::next_member},  {503, RetryAction::next_member}, {504, RetryAction::next_member},
      {404, RetryAction::other_prefix}, {405, RetryAction::none},        {301, RetryAction::none},
      {401, RetryAction::authenticate}, {500, RetryAction::none}};
  for (const auto& [status, action] : rows) {
    const Failure failure = gateway_failure({status, "404 page not found"}, "http://h:1");
    CHECK(failure.action == action);
    CHECK(failure.error.message.find("etcd: http://h:1: HTTP " + std::to_string(status)) == 0);
    CHECK(failure.error.message.find("page not found") == std::string::npos);
  }
  for (const std::string text : {"CommonName of client sending a request against gateway will be ignored",
                                 "Client sent an HTTP request to an HTTPS server."}) {
    const Failure failure = gateway_failure({400, text + "\n"}, "u");
    CHECK(failure.error.kind == ErrorKind::unavailable);
    CHECK(failure.error.message.starts_with("etcd: u: HTTP 400: " + text));
  }
}

TEST_CASE("the text is the field message of new servers or error of old servers, and is shortened") {
  const Failure old =
      gateway_failure(json_reply(403, R"({"error":"etcdserver: permission denied","code":7})"), "u");
  const Failure now = gateway_failure(
      json_reply(403, R"({"code":7,"message":"etcdserver: permission denied","details":[]})"), "u");
  CHECK(old.error.message == "etcd: u: HTTP 403: etcdserver: permission denied");
  CHECK(now.error.message == old.error.message);
  CHECK(gateway_failure(json_reply(403, R"({"code":"7","message":7,"error":{}})"), "u").error.message ==
        "etcd: u: HTTP 403");
  CHECK(gateway_failure(json_reply(403, "[]"), "u").error.message == "etcd: u: HTTP 403");
  const std::string long_text(100000, 'x');
  CHECK(gateway_failure(json_reply(400, R"({"message":")" + long_text + R"(","code":3})"), "u")
            .error.message.size() < 300);
}

TEST_CASE("a failure of the transport says whether the outcome is known") {
  const Failure refused = transport_failure({ErrorKind::unavailable, "u: refused"});
  CHECK(refused.action == RetryAction::next_member);
  CHECK(refused.is_outcome_known);
  CHECK(refused.error.message == "etcd: u: refused");
  const Failure broke = transport_failure({ErrorKind::timeout, "u: broke"});
  CHECK(broke.action == RetryAction::next_member);
  CHECK_FALSE(broke.is_outcome_known);
  CHECK(transport_failure({ErrorKind::configuration, "c"}).action == RetryAction::none);
  CHECK(transport_failure({ErrorKind::configuration, "c"}).is_outcome_known);
  CHECK(transport_failure({ErrorKind::internal, "i"}).action == RetryAction::none);
  CHECK_FALSE(transport_failure({ErrorKind::internal, "i"}).is_outcome_known);
}

}  // namespace
}  // namespace rest_fcgi::etcd
