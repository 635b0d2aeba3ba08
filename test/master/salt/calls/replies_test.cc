// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/holds.h"
#include "../../../support/vector_file.h"
#include "fixtures.h"
#include "master/salt/calls/messages.h"

namespace rest_fcgi::salt {
namespace {

using test::failure;
using test::holds;
using test::packed;
using test::vector_file;
using Ids = std::vector<std::string>;

master::Job job_in(std::string_view bytes) {
  auto answer = read_publish_reply(bytes);
  if (!answer) FAIL(answer.error().message);
  return *std::move(answer);
}

std::string with_load(const std::string& load) {
  return R"({"enc": "clear", "load": )" + load + "}";
}

/// A pair in `rows` is a refused reply and a part of the error message.
template <class Read>
void check_malformed(Read read, const std::vector<std::pair<std::string, const char*>>& rows) {
  test::check_bad_replies(read);
  for (const auto& row : rows) CHECK_MESSAGE(holds(failure(read, packed(row.first)), row.second), row.first);
}

std::string error(const std::string& name, const std::string& message) {
  return packed(R"({"error": {"name": ")" + name + R"(", "message": ")" + message + R"("}})");
}

/// Checks that a runner and a wheel get the same kind of error from a reply. Returns this kind.
ErrorKind refusal_in(const std::string& bytes) {
  const auto runner = read_runner_reply(bytes);
  const auto wheel = read_wheel_reply(bytes);
  REQUIRE_FALSE(runner);
  REQUIRE_FALSE(wheel);
  CHECK(runner.error().kind == wheel.error().kind);
  CHECK(runner.error().message == wheel.error().message);
  return runner.error().kind;
}

constexpr auto kBoth = {&read_mk_token_reply, &read_get_token_reply};

std::string token_reply(const std::string& expire = "1795298299.5", const std::string& more = "") {
  return packed(R"({"start": 1.5, "expire": )" + expire +
                R"(, "name": "fred", "eauth": "pam", "token": "abc")" + more + "}");
}

auth::Grant grant_in(const std::string& bytes) {
  auto answer = read_mk_token_reply(bytes);
  if (!answer) FAIL(answer.error().message);
  return *std::move(answer);
}

}  // namespace

TEST_CASE("a publish reply has a jid, the expected minions and the unknown ids of a list") {
  const master::Job job = job_in(vector_file("04-publish-reply.bin"));
  CHECK(job.jid == "20261120233651543848");
  CHECK(job.minions == Ids{"pm-0"});
  CHECK(job.missing.empty());
  const master::Job missing = job_in(vector_file("09-publish-reply-missing.bin"));
  CHECK_FALSE(missing.jid.empty());
  CHECK(missing.minions == Ids{"pm-0"});
  CHECK(missing.missing == Ids{"ghost"});
}

TEST_CASE("a publication without minions has no jid, except with syndics") {
  const master::Job none = job_in(vector_file("08-publish-reply-no-match.bin"));
  CHECK(none.jid.empty());
  CHECK(none.minions.empty());
  CHECK(none.missing.empty());
  const master::Job job = job_in(packed(with_load(R"({"jid": "2026", "minions": [], "missing": null})")));
  CHECK(job.jid == "2026");
  CHECK(job.minions.empty());
}

TEST_CASE("wrong credentials and a missing permission have different errors") {
  const auto login = read_publish_reply(vector_file("10-publish-reply-auth-error.bin")).error();
  CHECK(login.kind == ErrorKind::authentication);
  CHECK(login.message == "Authentication error occurred.");
  const auto right = read_publish_reply(vector_file("11-publish-reply-authz-error.bin")).error();
  CHECK(right.kind == ErrorKind::authorization);
  CHECK(right.message == "Authorization error occurred.");
}

TEST_CASE("a malformed publish reply is an error with the reason") {
  check_malformed(
      read_publish_reply,
      {{"{}", "found an empty map"},
       {R"({"enc": "clear"})", "'load' is missing"},
       {with_load("[]"), "'load' is missing"},
       {with_load("{}"), "'jid' is missing"},
       {with_load(R"({"jid": null, "minions": []})"), "'jid' is missing"},
       {with_load(R"({"jid": "2026"})"), "'minions' is missing"},
       {with_load(R"({"jid": "2026", "minions": "a"})"), "'minions': expected a list"},
       {with_load(R"({"jid": "2026", "minions": ["a", 1]})"), "'minions': expected a list"},
       {with_load(R"({"jid": "2026", "minions": [], "missing": 1})"), "'missing': expected a list"},
       {with_load(R"({"error": "Master failed to assign jid"})"),
        R"(The Salt master answered "Master failed to assign jid".)"},
       {with_load(R"({"jid": "2026", "minions": ["a"], "error": "later"})"),
        R"(The Salt master answered "later".)"}});
  const std::string text(100000, 'x');
  CHECK(failure(read_publish_reply, packed("\"" + text + "\"")).size() < 1100);
}

TEST_CASE("a runner reply has a jid and a tag") {
  const auto answer = read_runner_reply(vector_file("13-runner-reply.bin"));
  REQUIRE(answer);
  CHECK(answer->jid == "20261120233655223239");
  CHECK(answer->tag == "salt/run/20261120233655223239");
}

TEST_CASE("a wheel reply is returned unchanged, also that of a failed wheel") {
  const auto answer = read_wheel_reply(vector_file("17-wheel-reply.bin"));
  REQUIRE(answer);
  const std::string& jid = answer->jid;
  CHECK(jid.size() == 20);
  const std::string& reply = answer->reply.text();
  CHECK(reply.starts_with(R"({"tag": "salt/wheel/)" + jid +
                          R"(", "data": {"fun": "wheel.key.list", "jid": ")" + jid));
  CHECK(holds(reply, R"("return": {"minions": )"));
  const char* const failed = R"({"tag": "t", "data": {"jid": "2026", "return": "x", "success": false}})";
  CHECK(read_wheel_reply(packed(failed))->reply.text() == failed);
}

TEST_CASE("a refused runner or wheel has an authentication error, or an authorization error with a token") {
  const std::string of_token = R"(Authentication failure of type \"token\" occurred)";
  CHECK(refusal_in(error("TokenAuthenticationError", of_token + ".")) == ErrorKind::authentication);
  CHECK(refusal_in(error("TokenAuthenticationError", of_token + " for user limited.")) ==
        ErrorKind::authorization);
  CHECK(refusal_in(vector_file("15-runner-reply-not-authorized.bin")) == ErrorKind::authentication);
  CHECK(refusal_in(error("EauthAuthenticationError", "occurred for user ssdev.")) ==
        ErrorKind::authentication);
  CHECK(refusal_in(error("UserAuthenticationError", "occurred")) == ErrorKind::authentication);
  CHECK(refusal_in(error("SaltInvocationError", "Check syntax.")) == ErrorKind::invocation);
  CHECK(read_runner_reply(error("SaltInvocationError", "x")).error().message == "x");
}

TEST_CASE("a malformed runner or wheel reply is an error with the reason") {
  check_malformed(read_runner_reply, {{"{}", "found an empty map"},
                                      {R"({"tag": "t"})", "'jid' or 'tag' is missing"},
                                      {R"({"jid": "2026"})", "'jid' or 'tag' is missing"},
                                      {R"({"jid": 2026, "tag": "t"})", "'jid' or 'tag' is missing"},
                                      {R"({"jid": "", "tag": "t"})", "'jid' or 'tag' is missing"}});
  check_malformed(read_wheel_reply, {{"{}", "found an empty map"},
                                     {R"({"tag": "t"})", "'data' is missing"},
                                     {R"({"data": []})", "'data' is missing"},
                                     {R"({"data": {"jid": 1}})", "'jid' of 'data' is missing"}});
  const std::string_view map_as_key =
      "\x81\xA4"
      "data\x82\xA3jid\xA1"
      "1\xA6return\x81\x81\x90\xC0\xC0";
  CHECK(holds(failure(read_wheel_reply, map_as_key),
              "Malformed msgpack: a key that is an array or map, inside another such key"));
}

TEST_CASE("a token reply has the owner, the groups and the expiry time") {
  for (const auto read : kBoth) {
    const auto answer = read(vector_file("18-mk_token-reply.bin"));
    REQUIRE(answer);
    CHECK(answer->name == "ssdev");
    CHECK(answer->eauth == "sharedsecret");
    CHECK(answer->groups.empty());
    CHECK(answer->token.reveal().text.size() == 64);
    CHECK(answer->expire > WallTime(std::chrono::seconds(1700000000)));
  }
  CHECK(grant_in(token_reply("5", R"(, "groups": ["ops", "dev"])")).groups == Ids{"ops", "dev"});
  CHECK(grant_in(token_reply("5", R"(, "groups": null)")).groups.empty());
}

TEST_CASE("the expiry time is in seconds and limited") {
  using std::chrono::seconds;
  const auto end_of = [](const char* expire) {
    return grant_in(token_reply(expire)).expire.time_since_epoch();
  };
  CHECK(end_of("1795298299.5") == seconds(1795298299) + std::chrono::milliseconds(500));
  CHECK(end_of("1795298299") == seconds(1795298299));
  CHECK(end_of("0.0") == seconds(0));
  CHECK(end_of("1e300") == seconds(100000000000));
  CHECK(end_of("9223372036854775807") == seconds(100000000000));
}

TEST_CASE("wrong credentials are an authentication error, which differs between mk_token and get_token") {
  const auto made = read_mk_token_reply(packed(R"("")"));
  CHECK(made.error().kind == ErrorKind::authentication);
  CHECK(made.error().message.empty());
  CHECK(read_get_token_reply(packed("{}")).error().kind == ErrorKind::authentication);
  CHECK(holds(failure(read_mk_token_reply, packed("{}")), "found an empty map"));
  CHECK(failure(read_get_token_reply, packed(R"("")")) == R"(The Salt master answered "".)");
  for (const auto read : kBoth) {
    const auto answer = read(error("AuthenticationError", "no"));
    CHECK(answer.error().kind == ErrorKind::authentication);
    CHECK(answer.error().message == "no");
  }
}

TEST_CASE("a malformed token reply is an error that does not show the token") {
  for (const auto read : kBoth) {
    check_malformed(read, {{R"({"name": "fred", "eauth": "pam", "token": "t"})", "'expire': expected"},
                           {R"({"name": "fred", "eauth": "pam", "token": "t", "expire": 5, "start": []})",
                            "'start': expected a time"}});
    for (const char* json : {R"({"name": "fred", "eauth": "pam", "expire": 5})",
                             R"({"name": "fred", "token": "canary", "expire": 5})",
                             R"({"eauth": "pam", "token": "canary", "expire": 5})",
                             R"({"name": 1, "eauth": "pam", "token": "canary", "expire": 5})"}) {
      CAPTURE(json);
      const std::string message = failure(read, packed(json));
      CHECK(holds(message, "'name', 'eauth' or 'token' is missing"));
      CHECK_FALSE(holds(message, "canary"));
    }
    for (const char* expire : {"null", "\"5\"", "-1", "-0.5", "[]"}) {
      CHECK_MESSAGE(holds(failure(read, token_reply(expire)), "'expire': expected a time"), expire);
    }
    CHECK(holds(failure(read, token_reply("5", R"(, "groups": "ops")")), "'groups': expected a list"));
    std::string nan = token_reply("0.5");
    nan.replace(nan.find("expire") + 7, 2, "\x7F\xF8");
    CHECK(holds(failure(read, nan), "'expire': expected a time"));
  }
}

}  // namespace rest_fcgi::salt
