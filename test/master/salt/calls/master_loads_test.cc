// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "../../../support/vector_file.h"
#include "chunk_fixture.h"
#include "master/salt/calls/messages.h"

namespace rest_fcgi::salt {
namespace {

using test::bytes_of;
using test::json_of;
using test::ReadChunk;

constexpr const char* kLogin = R"("eauth": "sharedsecret", "username": "ssdev", "password": "s3cret")";

std::string with(std::string text, std::string_view part, std::string_view instead) {
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), instead);
}

/// Returns the arguments in a runner's load as JSON. `part` contains additional members of the chunk as JSON.
std::string runner_arguments(const std::string& part, const std::string& fun = "f.g") {
  const ReadChunk chunk(R"({"client": "runner", "fun": ")" + fun + R"(", "token": "t", )" + part + "}");
  const auto load = runner_load(chunk->master(), {&chunk->credentials, "fred"});
  REQUIRE(load);
  const std::string json = json_of(*load);
  const std::string before =
      R"({"enc": "clear", "load": {"cmd": "runner", "fun": ")" + fun + R"(", "token": "t", "kwarg": )";
  const std::string after = R"(}, "version": 3})";
  REQUIRE(json.size() > before.size() + after.size());
  REQUIRE(json.substr(0, before.size()) == before);
  return json.substr(before.size(), json.size() - before.size() - after.size());
}

}  // namespace

TEST_CASE("a runner load equals that of Salt's client") {
  const ReadChunk chunk(
      std::string(R"({"client": "runner", "fun": "test.arg", "arg": ["x"], "kwarg": {"a": 1}, )") + kLogin +
      "}");
  const auto load = runner_load(chunk->master(), {&chunk->credentials, "ssdev"});
  REQUIRE(load);
  CHECK(bytes_of(*load) == test::vector_file("12-runner-request.bin"));
}

TEST_CASE("texts of a runner are read as on a command line, and kwarg wins") {
  CHECK(runner_arguments(R"("arg": ["1", "a=2", "b=[x, 1]", "true", "c==d"], "kwarg": {"a": "3"})") ==
        R"({"kwarg": {"b": ["x", 1], "a": "3"}, "arg": [1, true, "c==d"]})");
  CHECK(runner_arguments(R"("arg": ["20261120233651543848", 20261120233651543848])") ==
        R"({"kwarg": {}, "arg": ["20261120233651543848", "20261120233651543848"]})");
  CHECK(runner_arguments(R"("jid": 5)") == R"({"kwarg": {"jid": 5}, "arg": []})");
}

TEST_CASE("a runner of Salt gets the client keys that it has as parameters") {
  const std::string keys =
      R"("tgt": "*", "tgt_type": "glob", "expr_form": "glob", "outputter": "json", "ret": "x", "jid": "1", "a": 2)";
  CHECK(runner_arguments(keys, "jobs.lookup_jid") == R"({"kwarg": {"jid": "1", "a": 2}, "arg": []})");
  CHECK(runner_arguments(keys, "jobs.list_jobs") == R"({"kwarg": {"outputter": "json", "a": 2}, "arg": []})");
  CHECK(runner_arguments(keys, "state.orchestrate") == R"({"kwarg": {"a": 2}, "arg": []})");
  CHECK(runner_arguments(keys, "manage.up") ==
        R"({"kwarg": {"tgt": "*", "tgt_type": "glob", "a": 2}, "arg": []})");
  for (const std::string any : {"test.arg", "mymodule.fun"}) {
    CHECK(
        runner_arguments(keys, any) ==
        R"({"kwarg": {"tgt": "*", "tgt_type": "glob", "expr_form": "glob", "outputter": "json", "ret": "x", )"
        R"("jid": "1", "a": 2}, "arg": []})");
  }
  const std::string more =
      R"("nodegroup": "n", "match": "*", "saltenv": "base", "ret_options": {}, "mid": "m", "raise_err": true)";
  CHECK(runner_arguments(more, "jobs.list_jobs") == R"({"kwarg": {}, "arg": []})");
  CHECK(runner_arguments(more, "state.orch") == R"({"kwarg": {"saltenv": "base"}, "arg": []})");
  CHECK(runner_arguments(R"("arg": ["1", "outputter=x"], "kwarg": {"tgt": "*"})", "jobs.lookup_jid") ==
        R"({"kwarg": {}, "arg": [1]})");
}

TEST_CASE("a wheel of Salt gets the client keys that it has as parameters") {
  const ReadChunk chunk(
      R"({"client": "wheel", "fun": "key.finger", "token": "t", "match": "*", "tgt": "*", "a": 1})");
  CHECK(json_of(wheel_load(chunk->master(), {&chunk->credentials, "fred"})) ==
        R"({"enc": "clear", "load": {"cmd": "wheel", "fun": "key.finger", "arg": [], )"
        R"("kwarg": {"match": "*", "a": 1}, "token": "t"}, "version": 3})");
}

TEST_CASE("a wheel load equals that of Salt's client, with separate arguments") {
  const ReadChunk chunk(std::string(R"({"client": "wheel", "fun": "key.list", "match": "acc", )") + kLogin +
                        "}");
  const std::string real = test::vector_file("16-wheel-request.bin");
  const std::string apart = with(with(real,
                                      "\xA5match\xA3"
                                      "acc",
                                      "\xA3"
                                      "arg\x90\xA5kwarg\x81\xA5match\xA3"
                                      "acc"),
                                 "load\x86", "load\x87");
  CHECK(bytes_of(wheel_load(chunk->master(), {&chunk->credentials, "ssdev"})) == apart);
}

TEST_CASE("texts of a wheel stay texts and never become fields of the load") {
  const ReadChunk chunk(R"({"client": "wheel", "fun": "f.g", "token": "t", "arg": ["1", "a=2", 3],
                            "kwarg": {"cmd": "publish", "full_return": true, "fun": "x", "token": "y", "jid": "z"}})");
  CHECK(
      json_of(wheel_load(chunk->master(), {&chunk->credentials, "fred"})) ==
      R"({"enc": "clear", "load": {"cmd": "wheel", "fun": "f.g", "arg": ["1", "a=2", 3], )"
      R"("kwarg": {"cmd": "publish", "full_return": true, "fun": "x", "token": "y", "jid": "z"}, "token": "t"}, )"
      R"("version": 3})");
}

TEST_CASE("an asynchronous wheel load has its jid, tag and user") {
  const ReadChunk chunk(R"({"client": "wheel_async", "fun": "f.g", "token": "t"})");
  const master::Started job{"2026", "salt/wheel/2026"};
  CHECK(
      json_of(wheel_load(chunk->master(), {&chunk->credentials, "fred"}, &job)) ==
      R"({"enc": "clear", "load": {"cmd": "wheel", "fun": "f.g", "arg": [], "kwarg": {}, "__jid__": "2026", )"
      R"("__tag__": "salt/wheel/2026", "__user__": "fred", "token": "t"}, "version": 3})");
}

TEST_CASE("a ping load equals that of Salt's client") {
  CHECK(bytes_of(ping_load()) == test::vector_file("01-ping-request.bin"));
}

TEST_CASE("token_load makes a token or asks for its owner") {
  const auth::Credentials login{auth::Credentials::Kind::eauth, "pam", "fred", SecretView("sesame"), {}};
  CHECK(
      json_of(token_load(login)) ==
      R"({"enc": "clear", "load": {"cmd": "mk_token", "eauth": "pam", "username": "fred", "password": "sesame"}, )"
      R"("version": 3})");
  auth::Credentials short_lived = login;
  short_lived.token_life = std::chrono::milliseconds(1500);
  CHECK(
      json_of(token_load(short_lived)) ==
      R"({"enc": "clear", "load": {"cmd": "mk_token", "eauth": "pam", "username": "fred", "password": "sesame", )"
      R"("token_expire": 1.5}, "version": 3})");
  const auth::Credentials token{auth::Credentials::Kind::token, {}, {}, {}, SecretView("abc")};
  CHECK(json_of(token_load(token)) ==
        R"({"enc": "clear", "load": {"cmd": "get_token", "token": "abc"}, "version": 3})");
}

}  // namespace rest_fcgi::salt
