// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "../../../support/vector_file.h"
#include "master/salt/calls/messages.h"
#include "reply_fixture.h"

namespace rest_fcgi::salt {
namespace {

using test::failure;
using test::packed;
using test::vector_file;

std::string error(const std::string& name, const std::string& message) {
  return packed(R"({"error": {"name": ")" + name + R"(", "message": ")" + message + R"("}})");
}

/// Returns the kind of the error for a reply. Checks that a runner and a wheel give the same error.
ErrorKind refusal_in(const std::string& bytes) {
  const auto runner = read_runner_reply(bytes);
  const auto wheel = read_wheel_reply(bytes);
  REQUIRE_FALSE(runner);
  REQUIRE_FALSE(wheel);
  CHECK(runner.error().kind == wheel.error().kind);
  CHECK(runner.error().message == wheel.error().message);
  CHECK(runner.error().message.starts_with("Authentication failure of type "));
  return runner.error().kind;
}

}  // namespace

TEST_CASE("a runner reply has a jid and a tag") {
  const auto answer = read_runner_reply(vector_file("13-runner-reply.bin"));
  REQUIRE(answer);
  CHECK(answer->jid == "20261120233655223239");
  CHECK(answer->tag == "salt/run/20261120233655223239");
}

TEST_CASE("a wheel reply is returned unchanged") {
  const auto answer = read_wheel_reply(vector_file("17-wheel-reply.bin"));
  REQUIRE(answer);
  const std::string& jid = answer->jid;
  CHECK(jid.size() == 20);
  const std::string& reply = answer->reply.text();
  CHECK(reply.starts_with(R"({"tag": "salt/wheel/)" + jid +
                          R"(", "data": {"fun": "wheel.key.list", "jid": ")" + jid));
  CHECK(reply.find(R"("return": {"minions": )") != std::string::npos);
}

TEST_CASE("a failed wheel is a reply") {
  const auto answer = read_wheel_reply(packed(
      R"({"tag": "salt/wheel/2026", "data": {"jid": "2026", "return": "Exception occurred", "success": false}})"));
  REQUIRE(answer);
  CHECK(answer->reply.text().find(R"("success": false)") != std::string::npos);
}

TEST_CASE("an invalid token and a missing permission have different errors") {
  CHECK(refusal_in(
            error("TokenAuthenticationError", R"(Authentication failure of type \"token\" occurred.)")) ==
        ErrorKind::authentication);
  CHECK(refusal_in(error("TokenAuthenticationError",
                         R"(Authentication failure of type \"token\" occurred for user limited.)")) ==
        ErrorKind::authorization);
}

TEST_CASE("a refusal of inline credentials counts as authentication") {
  CHECK(refusal_in(vector_file("15-runner-reply-not-authorized.bin")) == ErrorKind::authentication);
  CHECK(refusal_in(error("EauthAuthenticationError",
                         R"(Authentication failure of type \"eauth\" occurred for user ssdev.)")) ==
        ErrorKind::authentication);
  CHECK(refusal_in(error("UserAuthenticationError", R"(Authentication failure of type \"user\" occurred)")) ==
        ErrorKind::authentication);
}

TEST_CASE("SaltInvocationError is an invocation error") {
  const std::string bytes =
      error("SaltInvocationError", "A command invocation error occurred: Check syntax.");
  const auto runner = read_runner_reply(bytes);
  REQUIRE_FALSE(runner);
  CHECK(runner.error().kind == ErrorKind::invocation);
  CHECK(runner.error().message == "A command invocation error occurred: Check syntax.");
  CHECK(read_wheel_reply(bytes).error().kind == ErrorKind::invocation);
}

TEST_CASE("a malformed runner reply is an error with the reason") {
  test::check_bad_replies(read_runner_reply);
  CHECK(failure(read_runner_reply, packed("{}")).find("found an empty map") != std::string::npos);
  for (const std::string_view reply : {R"({"tag": "t"})", R"({"jid": "2026"})",
                                       R"({"jid": 2026, "tag": "t"})", R"({"jid": "", "tag": "t"})"}) {
    CAPTURE(reply);
    CHECK(failure(read_runner_reply, packed(reply)).find("'jid' or 'tag' is missing") != std::string::npos);
  }
}

TEST_CASE("a malformed wheel reply is an error with the reason") {
  test::check_bad_replies(read_wheel_reply);
  CHECK(failure(read_wheel_reply, packed("{}")).find("found an empty map") != std::string::npos);
  CHECK(failure(read_wheel_reply, packed(R"({"tag": "t"})")).find("'data' is missing") != std::string::npos);
  CHECK(failure(read_wheel_reply, packed(R"({"data": []})")).find("'data' is missing") != std::string::npos);
  CHECK(failure(read_wheel_reply,
                "\x81\xA4"
                "data\x82\xA3"
                "jid\xA1"
                "1\xA6"
                "return\x81\x81\x90\xC0\xC0")
            .find("Malformed msgpack: a key that is an array or map, inside another such key") !=
        std::string::npos);
  CHECK(failure(read_wheel_reply, packed(R"({"data": {"jid": 1}})")).find("'jid' of 'data' is missing") !=
        std::string::npos);
}

}  // namespace rest_fcgi::salt
