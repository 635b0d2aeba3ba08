// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/vector_file.h"
#include "master/salt/calls/messages.h"
#include "reply_fixture.h"

namespace rest_fcgi::salt {
namespace {

using test::packed;
using test::vector_file;
using Ids = std::vector<std::string>;

master::Job job_in(std::string_view bytes) {
  auto answer = read_publish_reply(bytes);
  if (!answer) FAIL(answer.error().message);
  return *std::move(answer);
}

Error publish_refusal_in(std::string_view bytes) {
  const auto answer = read_publish_reply(bytes);
  REQUIRE_FALSE(answer);
  return answer.error();
}

std::string failure(std::string_view json) {
  return test::failure(read_publish_reply, packed(json));
}

std::string with_load(const std::string& load) {
  return R"({"enc": "clear", "load": )" + load + "}";
}

}  // namespace

TEST_CASE("a publish reply has a jid and the expected minions") {
  const master::Job job = job_in(vector_file("04-publish-reply.bin"));
  CHECK(job.jid == "20261120233651543848");
  CHECK(job.minions == Ids{"pm-0"});
  CHECK(job.missing.empty());
}

TEST_CASE("unknown ids of a list target are missing") {
  const master::Job job = job_in(vector_file("09-publish-reply-missing.bin"));
  CHECK_FALSE(job.jid.empty());
  CHECK(job.minions == Ids{"pm-0"});
  CHECK(job.missing == Ids{"ghost"});
}

TEST_CASE("a publication without minions has no jid") {
  const master::Job job = job_in(vector_file("08-publish-reply-no-match.bin"));
  CHECK(job.jid.empty());
  CHECK(job.minions.empty());
  CHECK(job.missing.empty());
}

TEST_CASE("with syndics a job may have no minions yet") {
  const master::Job job = job_in(packed(with_load(R"({"jid": "2026", "minions": [], "missing": null})")));
  CHECK(job.jid == "2026");
  CHECK(job.minions.empty());
}

TEST_CASE("wrong credentials and a missing permission have different errors") {
  const auto login = publish_refusal_in(vector_file("10-publish-reply-auth-error.bin"));
  CHECK(login.kind == ErrorKind::authentication);
  CHECK(login.message == "Authentication error occurred.");
  const auto right = publish_refusal_in(vector_file("11-publish-reply-authz-error.bin"));
  CHECK(right.kind == ErrorKind::authorization);
  CHECK(right.message == "Authorization error occurred.");
}

TEST_CASE("a publication without jid is an error with the master's text") {
  CHECK(failure(with_load(R"({"error": "Master failed to assign jid"})")) ==
        R"(The Salt master answered "Master failed to assign jid".)");
  CHECK(failure(with_load(R"({"jid": "2026", "minions": ["a"], "error": "later"})")) ==
        R"(The Salt master answered "later".)");
}

TEST_CASE("a malformed publish reply is an error with the reason") {
  test::check_bad_replies(read_publish_reply);
  CHECK(failure("{}").find("found an empty map") != std::string::npos);
  CHECK(failure(R"({"enc": "clear"})").find("'load' is missing") != std::string::npos);
  CHECK(failure(with_load("[]")).find("'load' is missing") != std::string::npos);
  CHECK(failure(with_load("{}")).find("'jid' is missing") != std::string::npos);
  CHECK(failure(with_load(R"({"jid": null, "minions": []})")).find("'jid' is missing") != std::string::npos);
  CHECK(failure(with_load(R"({"jid": "2026"})")).find("'minions' is missing") != std::string::npos);
  CHECK(failure(with_load(R"({"jid": "2026", "minions": "a"})")).find("'minions': expected a list") !=
        std::string::npos);
  CHECK(failure(with_load(R"({"jid": "2026", "minions": ["a", 1]})")).find("'minions': expected a list") !=
        std::string::npos);
  CHECK(failure(with_load(R"({"jid": "2026", "minions": [], "missing": 1})"))
            .find("'missing': expected a list") != std::string::npos);
}

TEST_CASE("a long text of the master is cut") {
  const std::string text(100000, 'x');
  CHECK(test::failure(read_publish_reply, packed("\"" + text + "\"")).size() < 1100);
}

}  // namespace rest_fcgi::salt
