// SPDX-License-Identifier: MIT
#include <functional>
#include <string>

#include <doctest/doctest.h>

#include "../../../support/vector_file.h"
#include "chunk_fixture.h"
#include "master/salt/calls/messages.h"

namespace rest_fcgi::salt {
namespace {

using lowstate::TargetType;
using test::json_of;
using test::ReadChunk;

constexpr std::string_view kPamLogin = R"("eauth": "pam", "username": "fred", "password": "sesame")";

/// Returns the publish load for a chunk of the client `local` as JSON. `part` contains additional members of
/// the chunk. `change` may change the load.
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

TEST_CASE("a publish load equals that of Salt's client") {
  const ReadChunk chunk(R"({"client": "local", "tgt": "pm-0", "fun": "test.ping", "eauth": "sharedsecret",
                            "username": "ssdev", "password": "s3cret"})");
  const PublishLoad load{.target = {TargetType::glob, "pm-0"}, .call = &chunk->local()};
  CHECK(test::bytes_of(pack_publish(load, {&chunk->credentials, "UNKNOWN"})) ==
        test::vector_file("03-publish-request.bin"));
}

TEST_CASE("keyword arguments follow the positional ones in a marked map") {
  CHECK(
      load_of(R"("fun": "f.g", "arg": [1, "a", null, [true, 1.5]], "kwarg": {"b": {"c": "x"}, "d": ""})") ==
      expected(
          R"("fun": "f.g", "arg": [1, "a", null, [true, 1.5], {"__kwarg__": true, "b": {"c": "x"}, "d": ""}])"));
  CHECK(load_of(R"("fun": "f.g", "kwarg": {"b": 1})") ==
        expected(R"("fun": "f.g", "arg": [{"__kwarg__": true, "b": 1}])"));
}

TEST_CASE("an integer of 20 digits is sent as text") {
  CHECK(load_of(R"("fun": "f.g", "arg": [20261120233651543848])") ==
        expected(R"("fun": "f.g", "arg": ["20261120233651543848"])"));
}

TEST_CASE("a compound call has lists of functions and arguments") {
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
  CHECK(list.find(R"("tgt": ["a", "b,c"], "fun": "f.g", "arg": [], "tgt_type": "list")") !=
        std::string::npos);
  const std::string exact = load_of(R"("fun": "f.g")", [](PublishLoad& load) {
    load.target = {TargetType::pillar_exact, "a:b"};
  });
  CHECK(exact.find(R"("tgt": "a:b", "fun": "f.g", "arg": [], "tgt_type": "pillar_exact")") !=
        std::string::npos);
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

TEST_CASE("a token is sent without other credentials") {
  const ReadChunk chunk(R"({"client": "local", "tgt": "*", "fun": "f.g", "token": "abc", "eauth": "pam",
                            "username": "fred", "password": "sesame"})");
  const PublishLoad load{.target = {TargetType::glob, "*"}, .call = &chunk->local()};
  const std::string json = json_of(pack_publish(load, {&chunk->credentials, "fred"}));
  CHECK(json.find(R"("kwargs": {"token": "abc"}})") != std::string::npos);
  CHECK(json.find("sesame") == std::string::npos);
}

TEST_CASE("missing credentials are an empty map") {
  const ReadChunk chunk(R"({"client": "local", "tgt": "*", "fun": "f.g"})");
  const PublishLoad load{.target = {TargetType::glob, "*"}, .call = &chunk->local()};
  CHECK(json_of(pack_publish(load, {&chunk->credentials, ""})).find(R"("kwargs": {}})") != std::string::npos);
}

TEST_CASE("a chunk cannot set fields of the load") {
  const std::string load =
      load_of(R"("fun": "f.g", "key": "x", "user": "root", "id": "m", "cmd": "wheel", "master_id": "m",
                 "auth_list": ["x"], "nocache": true, "batch": 1, "ret_config": "x")");
  CHECK(load == expected(R"("fun": "f.g", "arg": [])"));
}

}  // namespace rest_fcgi::salt
