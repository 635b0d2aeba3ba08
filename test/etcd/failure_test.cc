// SPDX-License-Identifier: MIT
#include "etcd/failure.h"

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
      {412, 9, "etcdserver: authentication is not enabled", ErrorKind::invocation, RetryAction::none, true},
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
}

TEST_CASE("a 400 that is not JSON says nothing about the request") {
  for (const char* text : {"CommonName of client sending a request against gateway will be ignored",
                           "Client sent an HTTP request to an HTTPS server."}) {
    const Failure failure = gateway_failure({400, std::string(text) + "\n"}, "u");
    CHECK(failure.error.kind == ErrorKind::unavailable);
    CHECK(failure.error.message.find(std::string("etcd: u: HTTP 400: ") + text) == 0);
  }
}

TEST_CASE("the text is the field message of new servers, and the field error of old servers") {
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

TEST_CASE("a long text of a server is shortened") {
  const std::string text(100000, 'x');
  CHECK(gateway_failure(json_reply(400, R"({"message":")" + text + R"(","code":3})"), "u")
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
