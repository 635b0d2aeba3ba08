// SPDX-License-Identifier: MIT
#include <functional>
#include <string>

#include <doctest/doctest.h>

#include "../../../support/holds.h"
#include "../../../support/vector_file.h"
#include "fixtures.h"
#include "master/salt/calls/messages.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::salt {
namespace {

using lowstate::TargetType;
using test::holds;
using test::json_of;
using test::ReadChunk;

constexpr const char* kLogin = R"("eauth": "sharedsecret", "username": "ssdev", "password": "s3cret")";

/// Returns a wheel's load as JSON, from the member `fun` to the end of the inner map.
std::string wheel_json(const std::string& members, const master::Started* job = nullptr) {
  const ReadChunk chunk(
      format(R"({{"client": "{}", "token": "t", {}}})", job == nullptr ? "wheel" : "wheel_async", members));
  const std::string json = json_of(wheel_load(chunk->master(), {&chunk->credentials, "fred"}, job));
  const std::string_view before = R"({"enc": "clear", "load": {"cmd": "wheel", )";
  const std::string_view after = R"(, "token": "t"}, "version": 3})";
  REQUIRE(json.starts_with(before));
  REQUIRE(json.ends_with(after));
  return json.substr(before.size(), json.size() - before.size() - after.size());
}

std::string with(std::string text, std::string_view part, std::string_view instead) {
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), instead);
}

/// `part` contains additional members of the chunk as JSON.
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

TEST_CASE("a login passes on the password, the token for the back end, or both") {
  const auto load = [](std::string_view password, std::string_view token) {
    return json_of(token_load({.kind = auth::Credentials::Kind::eauth,
                               .eauth = "oidc",
                               .username = "fred",
                               .password = SecretView(password),
                               .token = SecretView(token)}));
  };
  const std::string begin =
      R"({"enc": "clear", "load": {"cmd": "mk_token", "eauth": "oidc", "username": "fred", )";
  const std::string end = R"(}, "version": 3})";
  CHECK(load("p", "") == begin + R"("password": "p")" + end);
  CHECK(load("", "a.b.c") == begin + R"("token": "a.b.c")" + end);
  CHECK(load("p", "a.b.c") == begin + R"("password": "p", "token": "a.b.c")" + end);
  CHECK(load("", "") == begin + R"("password": "")" + end);
}

TEST_CASE("a runner load equals that of Salt's client") {
  const ReadChunk chunk(
      std::string(R"({"client": "runner", "fun": "test.arg", "arg": ["x"], "kwarg": {"a": 1}, )") + kLogin +
      "}");
  const auto load = runner_load(chunk->master(), {&chunk->credentials, "ssdev"});
  REQUIRE(load);
  CHECK(*load == test::vector_file("12-runner-request.bin"));
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

TEST_CASE("a wheel gets the client keys that it has, and its texts stay texts") {
  CHECK(wheel_json(R"("fun": "key.finger", "match": "*", "tgt": "*", "a": 1)") ==
        R"("fun": "key.finger", "arg": [], "kwarg": {"match": "*", "a": 1})");
  const std::string members =
      R"("fun": "f.g", "arg": ["1", "a=2", 3], )"
      R"("kwarg": {"cmd": "publish", "full_return": true, "fun": "x", "token": "y", "jid": "z"})";
  CHECK(wheel_json(members) == members);
  const master::Started job{"2026", "salt/wheel/2026"};
  CHECK(wheel_json(R"("fun": "f.g")", &job) ==
        R"("fun": "f.g", "arg": [], "kwarg": {}, "__jid__": "2026", "__tag__": "salt/wheel/2026", )"
        R"("__user__": "fred")");
}

TEST_CASE("a wheel load equals that of Salt's client, with separate arguments") {
  const ReadChunk chunk(std::string(R"({"client": "wheel", "fun": "key.list", "match": "acc", )") + kLogin +
                        "}");
  const std::string real = test::vector_file("16-wheel-request.bin");
  const std::string arguments =
      "\xA3"
      "arg\x90\xA5kwarg\x81\xA5match\xA3";
  const std::string apart = with(with(real, "\xA5match\xA3", arguments), "load\x86", "load\x87");
  CHECK(wheel_load(chunk->master(), {&chunk->credentials, "ssdev"}) == apart);
}

TEST_CASE("token_load makes a token or asks for its owner") {
  const auth::Credentials login{auth::Credentials::Kind::eauth, "pam", "fred", SecretView("sesame"), {}};
  const std::string made =
      R"({"enc": "clear", "load": {"cmd": "mk_token", "eauth": "pam", "username": "fred", "password": "sesame")";
  CHECK(json_of(token_load(login)) == made + R"(}, "version": 3})");
  auth::Credentials short_lived = login;
  short_lived.token_life = std::chrono::milliseconds(1500);
  CHECK(json_of(token_load(short_lived)) == made + R"(, "token_expire": 1.5}, "version": 3})");
  const auth::Credentials token{auth::Credentials::Kind::token, {}, {}, {}, SecretView("abc")};
  CHECK(json_of(token_load(token)) ==
        R"({"enc": "clear", "load": {"cmd": "get_token", "token": "abc"}, "version": 3})");
}

namespace {

constexpr std::string_view kPamLogin = R"("eauth": "pam", "username": "fred", "password": "sesame")";

/// Returns the publish load for a chunk of the client `local` as JSON. `part` contains more members of the
/// chunk.
std::string load_of(const std::string& part, const std::function<void(PublishLoad&)>& change = {}) {
  const ReadChunk chunk(R"({"client": "local", "tgt": "*", )" + part + ", " + std::string(kPamLogin) + "}");
  PublishLoad load{
      .target = {TargetType::glob, "*"}, .call = &chunk->local(), .metadata = chunk->local().metadata};
  if (change) change(load);
  return json_of(pack_publish(load, {&chunk->credentials, "fred"}));
}

std::string expected(const std::string& call, const std::string& more_kwargs = "",
                     const std::string& jid = "", const std::string& end = "") {
  return R"({"enc": "clear", "load": {"cmd": "publish", "tgt": "*", )" + call +
         R"(, "tgt_type": "glob", "ret": "", )" + jid + R"("user": "fred", "kwargs": {)" +
         std::string(kPamLogin) + more_kwargs + "}" + end + R"(}, "version": 3})";
}

}  // namespace

TEST_CASE("publish and ping loads equal those of Salt's client") {
  const ReadChunk chunk(R"({"client": "local", "tgt": "pm-0", "fun": "test.ping", "eauth": "sharedsecret",
                            "username": "ssdev", "password": "s3cret"})");
  const PublishLoad load{.target = {TargetType::glob, "pm-0"}, .call = &chunk->local()};
  CHECK(pack_publish(load, {&chunk->credentials, "UNKNOWN"}) == test::vector_file("03-publish-request.bin"));
  CHECK(ping_load() == test::vector_file("01-ping-request.bin"));
}

TEST_CASE("keyword arguments follow the positional ones in a marked map, and a compound call has lists") {
  CHECK(
      load_of(R"("fun": "f.g", "arg": [1, "a", null, [true, 1.5]], "kwarg": {"b": {"c": "x"}, "d": ""})") ==
      expected(
          R"("fun": "f.g", "arg": [1, "a", null, [true, 1.5], {"__kwarg__": true, "b": {"c": "x"}, "d": ""}])"));
  CHECK(load_of(R"("fun": "f.g", "kwarg": {"b": 1})") ==
        expected(R"("fun": "f.g", "arg": [{"__kwarg__": true, "b": 1}])"));
  CHECK(load_of(R"("fun": ["f.g", "h.i"], "arg": [["a"], [2, {"__kwarg__": true, "b": 3}]])") ==
        expected(R"("fun": ["f.g", "h.i"], "arg": [["a"], [2, {"__kwarg__": true, "b": 3}]])"));
  CHECK(load_of(R"("fun": ["f.g", "h.i"])") == expected(R"("fun": ["f.g", "h.i"], "arg": [[], []])"));
  CHECK(load_of(R"("fun": ["f.g"])") == expected(R"("fun": ["f.g"], "arg": [[]])"));
}

TEST_CASE("a function of our own replaces the chunk's") {
  const std::string fun = R"("fun": "f.g")";
  CHECK(load_of(fun, [](PublishLoad& load) {
          load.call = PublishLoad::Function{"test.ping", {}};
        }) == expected(R"("fun": "test.ping", "arg": [])"));
  CHECK(load_of(fun, [](PublishLoad& load) {
          load.call = PublishLoad::Function{"saltutil.find_job", {"2026"}};
        }) == expected(R"("fun": "saltutil.find_job", "arg": ["2026"])"));
}

TEST_CASE("a list target is sent as a list of ids, and another target as an expression") {
  const std::string list = load_of(R"("fun": "f.g")", [](PublishLoad& load) {
    load.target = {TargetType::list, std::vector<std::string>{"a", "b,c"}};
  });
  CHECK(holds(list, R"("tgt": ["a", "b,c"], "fun": "f.g", "arg": [], "tgt_type": "list")"));
  const std::string exact = load_of(R"("fun": "f.g")", [](PublishLoad& load) {
    load.target = {TargetType::pillar_exact, "a:b"};
  });
  CHECK(holds(exact, R"("tgt": "a:b", "fun": "f.g", "arg": [], "tgt_type": "pillar_exact")"));
}

TEST_CASE("delimiter, metadata, jid and timeout for syndics are sent only if set") {
  CHECK(load_of(R"("fun": "f.g")", [](PublishLoad& load) { load.target.delimiter = "|"; }) ==
        expected(R"("fun": "f.g", "arg": [])", R"(, "delimiter": "|")"));
  CHECK(load_of(R"("fun": "f.g", "metadata": {"a": [1]})") ==
        expected(R"("fun": "f.g", "arg": [])", R"(, "metadata": {"a": [1]})"));
  CHECK(load_of(R"("fun": "f.g")", [](PublishLoad& load) { load.jid = "20261120233651543848"; }) ==
        expected(R"("fun": "f.g", "arg": [])", "", R"("jid": "20261120233651543848", )"));
  CHECK(load_of(R"("fun": "f.g")", [](PublishLoad& load) { load.to = std::chrono::seconds(5); }) ==
        expected(R"("fun": "f.g", "arg": [])", "", "", R"(, "to": 5)"));
}

TEST_CASE("a token is sent without other credentials, and missing ones are an empty map") {
  const ReadChunk chunk(R"({"client": "local", "tgt": "*", "fun": "f.g", "token": "abc", "eauth": "pam",
                            "username": "fred", "password": "sesame"})");
  const PublishLoad load{.target = {TargetType::glob, "*"}, .call = &chunk->local()};
  const std::string json = json_of(pack_publish(load, {&chunk->credentials, "fred"}));
  CHECK(holds(json, R"("kwargs": {"token": "abc"}})"));
  CHECK_FALSE(holds(json, "sesame"));
  const ReadChunk none(R"({"client": "local", "tgt": "*", "fun": "f.g"})");
  CHECK(holds(json_of(pack_publish(load, {&none->credentials, ""})), R"("kwargs": {}})"));
}

TEST_CASE("a chunk cannot set fields of the load") {
  const std::string load =
      load_of(R"("fun": "f.g", "key": "x", "user": "root", "id": "m", "cmd": "wheel", "master_id": "m",
                 "auth_list": ["x"], "nocache": true, "batch": 1, "ret_config": "x")");
  CHECK(load == expected(R"("fun": "f.g", "arg": [])"));
}

}  // namespace rest_fcgi::salt
