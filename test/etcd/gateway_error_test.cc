// SPDX-License-Identifier: MIT
#include "etcd/gateway_error.h"

#include <string>

#include <doctest/doctest.h>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::etcd {
namespace {

struct AnswerRow {
  long status;
  int code;
  std::string text;
  ErrorKind kind;
  Remedy remedy;
  bool outcome_known;
};

HttpReply json_reply(long status, const std::string& body) {
  return {status, body};
}

HttpReply reply_of(const AnswerRow& row) {
  return json_reply(row.status,
                    format(R"({{"error":"{}","message":"{}","code":{}}})", row.text, row.text, row.code));
}

TEST_CASE("each answer of the gateway has its kind and its remedy") {
  const AnswerRow rows[] = {
      {400, 3, "etcdserver: authentication failed, invalid user ID or password", ErrorKind::authentication,
       Remedy::none, true},
      {400, 3, "etcdserver: user name is empty", ErrorKind::authentication, Remedy::authenticate, true},
      {400, 3, "etcdserver: revision of auth store is old", ErrorKind::authentication, Remedy::authenticate,
       true},
      {401, 16, "etcdserver: invalid auth token", ErrorKind::authentication, Remedy::authenticate, true},
      {403, 7, "etcdserver: permission denied", ErrorKind::authorization, Remedy::none, true},
      {412, 9, "etcdserver: authentication is not enabled", ErrorKind::invocation, Remedy::none, true},
      {503, 14, "etcdserver: request timed out", ErrorKind::timeout, Remedy::next_member, false},
      {503, 14, "etcdserver: request timed out, possibly due to previous leader failure", ErrorKind::timeout,
       Remedy::next_member, false},
      {500, 2, "context deadline exceeded", ErrorKind::timeout, Remedy::next_member, false},
      {408, 1, "grpc: the client connection is closing", ErrorKind::timeout, Remedy::next_member, false},
      {400, 3, "etcdserver: request is too large", ErrorKind::invocation, Remedy::none, true},
      {429, 8, "grpc: received message larger than max (2100011 vs. 2097152)", ErrorKind::invocation,
       Remedy::none, true},
      {429, 8, "etcdserver: mvcc: database space exceeded", ErrorKind::unavailable, Remedy::none, true},
      {429, 8, "etcdserver: too many requests", ErrorKind::unavailable, Remedy::none, true},
      {400, 11, "etcdserver: mvcc: required revision has been compacted", ErrorKind::invocation, Remedy::none,
       true},
      {404, 5, "etcdserver: requested lease not found", ErrorKind::not_found, Remedy::none, true},
      {412, 9, "etcdserver: lease already exists", ErrorKind::invocation, Remedy::none, true},
      {500, 13, "panic", ErrorKind::internal, Remedy::none, false},
      {418, 2, "a teapot", ErrorKind::internal, Remedy::none, false},
  };
  for (const AnswerRow& row : rows) {
    CAPTURE(row.text);
    const Failure failure = gateway_failure(reply_of(row), "http://h:1");
    CHECK(failure.error.kind == row.kind);
    CHECK(failure.remedy == row.remedy);
    CHECK(failure.outcome_known == row.outcome_known);
    CHECK(failure.error.message.find("etcd: http://h:1: HTTP " + std::to_string(row.status) + ": " +
                                     row.text) == 0);
  }
}

TEST_CASE("an answer of something in between has its kind, too") {
  const std::pair<long, Remedy> rows[] = {{502, Remedy::next_member},  {503, Remedy::next_member},
                                          {504, Remedy::next_member},  {404, Remedy::other_prefix},
                                          {405, Remedy::none},         {301, Remedy::none},
                                          {401, Remedy::authenticate}, {500, Remedy::none}};
  for (const auto& [status, remedy] : rows) {
    const Failure failure = gateway_failure({status, "404 page not found"}, "http://h:1");
    CHECK(failure.remedy == remedy);
    CHECK(failure.error.message.find("etcd: http://h:1: HTTP " + std::to_string(status)) == 0);
    CHECK(failure.error.message.find("page not found") == std::string::npos);
  }
}

TEST_CASE("a 400 that comes from before requests are judged says nothing about the request") {
  const Failure certificate = gateway_failure(
      {400,
       "CommonName of client sending a request against gateway will be ignored and not used as expected\n"},
      "u");
  CHECK(certificate.error.kind == ErrorKind::unavailable);
  CHECK(certificate.error.message ==
        "etcd: u: HTTP 400: CommonName of client sending a request against gateway will be ignored and not "
        "used "
        "as expected; where users have passwords, the gateway takes only client certificates without a "
        "CommonName");
  const Failure other = gateway_failure({400, "Client sent an HTTP request to an HTTPS server.\n"}, "u");
  CHECK(other.error.kind == ErrorKind::unavailable);
  CHECK(other.error.message == "etcd: u: HTTP 400: Client sent an HTTP request to an HTTPS server.");
}

TEST_CASE("old servers have no message, and new ones no error") {
  const Failure old =
      gateway_failure(json_reply(403, R"({"error":"etcdserver: permission denied","code":7})"), "u");
  const Failure now = gateway_failure(
      json_reply(403, R"({"code":7,"message":"etcdserver: permission denied","details":[]})"), "u");
  CHECK(old.error.message == "etcd: u: HTTP 403: etcdserver: permission denied");
  CHECK(now.error.message == old.error.message);
  CHECK(gateway_failure(json_reply(403, R"({"code":"7","message":7,"error":{}})"), "u").error.message ==
        "etcd: u: HTTP 403");
  CHECK(gateway_failure(json_reply(403, "[]"), "u").error.message == "etcd: u: HTTP 403");
}

TEST_CASE("what helps against a full database is said") {
  CHECK(gateway_failure(
            json_reply(429, R"({"message":"etcdserver: mvcc: database space exceeded","code":8})"), "u")
            .error.message ==
        "etcd: u: HTTP 429: etcdserver: mvcc: database space exceeded; it takes no writes until it is "
        "compacted, "
        "defragmented, and its alarm NOSPACE disarmed");
}

TEST_CASE("an error inside of a stream reads the same") {
  JsonDocument document;
  REQUIRE(document.parse(
      R"({"grpc_code":16,"http_code":401,"message":"etcdserver: invalid auth token","http_status":"Unauthorized"})"));
  const Failure failure = stream_failure(document.root(), "u");
  CHECK(failure.remedy == Remedy::authenticate);
  CHECK(failure.error.message == "etcd: u: HTTP 401: etcdserver: invalid auth token");
  CHECK(stream_failure(JsonValue(), "u").error.kind == ErrorKind::internal);
}

TEST_CASE("a long text of the server is cut") {
  const std::string text(100000, 'x');
  CHECK(gateway_failure(json_reply(400, R"({"message":")" + text + R"(","code":3})"), "u")
            .error.message.size() < 300);
}

TEST_CASE("a transport that failed says whether the outcome is known") {
  const Failure refused = transport_failure({ErrorKind::unavailable, "u: refused"});
  CHECK(refused.remedy == Remedy::next_member);
  CHECK(refused.outcome_known);
  CHECK(refused.error.message == "etcd: u: refused");
  const Failure broke = transport_failure({ErrorKind::timeout, "u: broke"});
  CHECK(broke.remedy == Remedy::next_member);
  CHECK_FALSE(broke.outcome_known);
  CHECK(transport_failure({ErrorKind::configuration, "c"}).remedy == Remedy::none);
  CHECK(transport_failure({ErrorKind::configuration, "c"}).outcome_known);
  CHECK(transport_failure({ErrorKind::internal, "i"}).remedy == Remedy::none);
  CHECK_FALSE(transport_failure({ErrorKind::internal, "i"}).outcome_known);
}

TEST_CASE("two answers that are no failure in their place are known") {
  const auto says = [](const std::string& text) {
    return gateway_failure(json_reply(412, R"({"message":")" + text + R"(","code":9})"), "u");
  };
  CHECK(says_auth_is_off(says("etcdserver: authentication is not enabled")));
  CHECK_FALSE(says_auth_is_off(says("etcdserver: lease already exists")));
  CHECK(says_lease_exists(says("etcdserver: lease already exists").error));
  CHECK_FALSE(says_lease_exists(says("etcdserver: authentication is not enabled").error));
}

}  // namespace
}  // namespace rest_fcgi::etcd
