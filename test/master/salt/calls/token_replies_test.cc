// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/vector_file.h"
#include "master/salt/calls/messages.h"
#include "reply_fixture.h"

namespace rest_fcgi::salt {
namespace {

using test::failure;
using test::packed;

constexpr auto kBoth = {&read_mk_token_reply, &read_get_token_reply};

std::string reply(const std::string& expire = "1795298299.5", const std::string& more = "") {
  return packed(R"({"start": 1.5, "expire": )" + expire +
                R"(, "name": "fred", "eauth": "pam", "token": "abc")" + more + "}");
}

auth::Grant grant_in(const std::string& bytes) {
  auto answer = read_mk_token_reply(bytes);
  if (!answer) FAIL(answer.error().message);
  return *std::move(answer);
}

std::chrono::microseconds end_of(const std::string& expire) {
  return grant_in(reply(expire)).expire.time_since_epoch();
}

}  // namespace

TEST_CASE("a token reply has the owner and the expiry time") {
  for (const auto read : kBoth) {
    const auto answer = read(test::vector_file("18-mk_token-reply.bin"));
    REQUIRE(answer);
    CHECK(answer->name == "ssdev");
    CHECK(answer->eauth == "sharedsecret");
    CHECK(answer->groups.empty());
    CHECK(answer->token.reveal().text.size() == 64);
    CHECK(answer->expire > WallTime(std::chrono::seconds(1700000000)));
  }
}

TEST_CASE("a token reply may have groups") {
  CHECK(grant_in(reply("5", R"(, "groups": ["ops", "dev"])")).groups ==
        std::vector<std::string>{"ops", "dev"});
  CHECK(grant_in(reply("5", R"(, "groups": null)")).groups.empty());
}

TEST_CASE("the expiry time is in seconds and limited") {
  using std::chrono::microseconds;
  using std::chrono::seconds;
  CHECK(end_of("1795298299.5") == seconds(1795298299) + microseconds(500000));
  CHECK(end_of("1795298299") == seconds(1795298299));
  CHECK(end_of("0.0") == seconds(0));
  CHECK(end_of("1e300") == seconds(100000000000));
  CHECK(end_of("9223372036854775807") == seconds(100000000000));
}

TEST_CASE("wrong credentials are an authentication error") {
  const auto made = read_mk_token_reply(packed(R"("")"));
  REQUIRE_FALSE(made);
  CHECK(made.error().kind == ErrorKind::authentication);
  CHECK(made.error().message.empty());
  const auto known = read_get_token_reply(packed("{}"));
  REQUIRE_FALSE(known);
  CHECK(known.error().kind == ErrorKind::authentication);
}

TEST_CASE("mk_token and get_token have different refusals") {
  CHECK(failure(read_mk_token_reply, packed("{}")).find("found an empty map") != std::string::npos);
  CHECK(failure(read_get_token_reply, packed(R"("")")) == R"(The Salt master answered "".)");
}

TEST_CASE("a named refusal is an authentication error") {
  for (const auto read : kBoth) {
    const auto answer = read(packed(R"({"error": {"name": "AuthenticationError", "message": "no"}})"));
    REQUIRE_FALSE(answer);
    CHECK(answer.error().kind == ErrorKind::authentication);
    CHECK(answer.error().message == "no");
  }
}

TEST_CASE("a malformed token reply is an error that does not show the token") {
  for (const auto read : kBoth) {
    test::check_bad_replies(read);
    for (const std::string_view json : {R"({"name": "fred", "eauth": "pam", "expire": 5})",
                                        R"({"name": "fred", "token": "canary", "expire": 5})",
                                        R"({"eauth": "pam", "token": "canary", "expire": 5})",
                                        R"({"name": 1, "eauth": "pam", "token": "canary", "expire": 5})"}) {
      CAPTURE(json);
      const std::string message = failure(read, packed(json));
      CHECK(message.find("'name', 'eauth' or 'token' is missing") != std::string::npos);
      CHECK(message.find("canary") == std::string::npos);
    }
    for (const char* expire : {"null", "\"5\"", "-1", "-0.5", "[]"}) {
      CAPTURE(expire);
      CHECK(failure(read, reply(expire)).find("'expire': expected a time") != std::string::npos);
    }
    CHECK(failure(read, packed(R"({"name": "fred", "eauth": "pam", "token": "t"})"))
              .find("'expire': expected") != std::string::npos);
    CHECK(failure(read, packed(R"({"name": "fred", "eauth": "pam", "token": "t", "expire": 5, "start": []})"))
              .find("'start': expected a time") != std::string::npos);
    CHECK(failure(read, reply("5", R"(, "groups": "ops")")).find("'groups': expected a list") !=
          std::string::npos);
  }
}

TEST_CASE("a malformed expiry time is an error") {
  std::string bytes = reply("0.5");
  const std::size_t at = bytes.find(
                             "\xA6"
                             "expire") +
                         8;
  const std::string nan = "\x7F\xF8";
  bytes.replace(at, 2, nan);
  CHECK(failure(read_mk_token_reply, bytes).find("'expire': expected a time") != std::string::npos);
}

}  // namespace rest_fcgi::salt
