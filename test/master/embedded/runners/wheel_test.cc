// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "../../../support/embedded_engine.h"

using namespace rest_fcgi;
using test::EmbeddedEngine;

namespace {

/// The reply's `data`, as a document.
JsonDocument data_of(EmbeddedEngine& engine, std::string_view members) {
  const auto reply = engine.master->wheel(engine.permit(format(R"("client": "wheel", {})", members)));
  REQUIRE(reply);
  JsonDocument whole;
  REQUIRE(whole.parse(reply->reply.text()));
  JsonDocument data;
  REQUIRE(data.parse(whole.root().find("data")->json().text()));
  return data;
}

std::string returned(EmbeddedEngine& engine, std::string_view members) {
  const JsonDocument data = data_of(engine, members);
  CHECK(data.root().find("success")->boolean());
  return data.root().find("return")->json().text();
}

std::string failure(EmbeddedEngine& engine, std::string_view members) {
  const JsonDocument data = data_of(engine, members);
  CHECK_FALSE(data.root().find("success")->boolean());
  return std::string(data.root().find("return")->text());
}

constexpr const char* kAll =
    R"({"minions": ["ms-0", "ms-1", "ms-2"], "minions_pre": [], "minions_rejected": [], "minions_denied": [], )"
    R"("local": ["master.pem", "master.pub"]})";

}  // namespace

TEST_CASE("a wheel's reply is Salt's whole event under its tag") {
  EmbeddedEngine engine;
  const auto reply = engine.master->wheel(engine.permit(R"("client": "wheel", "fun": "key.list_all")"));
  REQUIRE(reply);
  JsonDocument whole;
  REQUIRE(whole.parse(reply->reply.text()));
  const std::string stamp(whole.root().find("data")->find("_stamp")->text());
  CHECK(stamp.size() == 26);
  CHECK(
      reply->reply.text() ==
      format(
          R"({{"tag": "salt/wheel/{0}", "data": {{"fun": "wheel.key.list_all", "jid": "{0}", "tag": "salt/wheel/{0}", )"
          R"("user": "fred", "_stamp": "{1}", "return": {2}, "success": true}}}})",
          reply->jid, stamp, kAll));
}

TEST_CASE("key.list lists the keys of one status, by how its name begins") {
  EmbeddedEngine engine;
  const struct {
    const char* match;
    const char* keys;
  } rows[] = {{"acc", R"({"minions": ["ms-0", "ms-1", "ms-2"]})"},
              {"accepted", R"({"minions": ["ms-0", "ms-1", "ms-2"]})"},
              {"pre", R"({"minions_pre": []})"},
              {"un", R"({"minions_pre": []})"},
              {"unaccepted", R"({"minions_pre": []})"},
              {"rejected", R"({"minions_rejected": []})"},
              {"den", R"({"minions_denied": []})"},
              {"all", kAll},
              {"nosuch", "{}"}};
  for (const auto& row : rows) {
    CAPTURE(row.match);
    CHECK(returned(engine, format(R"("fun": "key.list", "match": "{}")", row.match)) == row.keys);
  }
  CHECK(returned(engine, R"("fun": "key.list", "arg": ["acc"])") == rows[0].keys);
}

TEST_CASE("a wheel that does not exist fails in one sentence") {
  EmbeddedEngine engine;
  CHECK(failure(engine, R"("fun": "nosuch.fun")") == "'nosuch.fun' is not available.");
}

TEST_CASE("a wheel whose arguments do not fit fails in one sentence") {
  EmbeddedEngine engine;
  CHECK(failure(engine, R"("fun": "key.list_all", "match": "acc")") ==
        "Passed invalid arguments: list_all() got an unexpected keyword argument 'match'");
  CHECK(failure(engine, R"("fun": "key.list_all", "arg": ["acc"])") ==
        "Passed invalid arguments: list_all() takes 0 positional arguments but 1 was given");
  CHECK(failure(engine, R"("fun": "key.list")") ==
        "Passed invalid arguments: list() missing 1 required positional argument: 'match'");
  CHECK(failure(engine, R"("fun": "key.list", "match": 5)") ==
        "Exception occurred in wheel key.list: match must be a string, found int");
}

TEST_CASE("an asynchronous wheel is started at once, and is found in the job cache afterwards") {
  EmbeddedEngine engine;
  const auto started = engine.master->wheel_async(
      engine.permit(R"("client": "wheel_async", "fun": "key.list", "match": "acc")"));
  REQUIRE(started);
  CHECK(started->tag == "salt/wheel/" + started->jid);
  const std::string lookup = format(R"("fun": "jobs.lookup_jid", "jid": "{}")", started->jid);
  CHECK(EmbeddedEngine::eventually([&] {
    return engine.runner(lookup).ret.text().find(
               R"("return": {"minions": ["ms-0", "ms-1", "ms-2"]}, "success": true)") != std::string::npos;
  }));
}

TEST_CASE("key.name_match finds minions by globs") {
  EmbeddedEngine engine;
  CHECK(returned(engine, R"("fun": "key.name_match", "match": "ms-[12]")") ==
        R"({"minions": ["ms-1", "ms-2"]})");
  CHECK(returned(engine, R"("fun": "key.name_match", "match": "ms-0,*-2")") ==
        R"({"minions": ["ms-0", "ms-2"]})");
  CHECK(returned(engine, R"("fun": "key.name_match", "match": ["ms-0"])") == R"({"minions": ["ms-0"]})");
  CHECK(returned(engine, R"("fun": "key.name_match", "match": "nosuch")") == "{}");
  CHECK(failure(engine, R"("fun": "key.name_match", "match": 5)") ==
        "Exception occurred in wheel key.name_match: match must be a string, found int");
}

TEST_CASE("keys and their fingerprints are empty, as there are none") {
  EmbeddedEngine engine;
  CHECK(returned(engine, R"("fun": "key.finger", "match": "ms-1")") == R"({"minions": {"ms-1": ""}})");
  CHECK(
      returned(engine, R"("fun": "key.finger", "match": "m*", "hash_type": "sha256")") ==
      R"({"minions": {"ms-0": "", "ms-1": "", "ms-2": ""}, "local": {"master.pem": "", "master.pub": ""}})");
  CHECK(returned(engine, R"("fun": "key.print", "match": "m*-0")") == R"({"minions": {"ms-0": ""}})");
  CHECK(returned(engine, R"("fun": "key.finger_master")") == R"({"local": {"master.pub": ""}})");
  CHECK(returned(engine, R"("fun": "key.master_key_str")") == R"({"local": {"master.pub": ""}})");
  CHECK(failure(engine, R"("fun": "key.finger", "match": 5)") ==
        "Exception occurred in wheel key.finger: match must be a string, found int");
}

TEST_CASE("minions.connected lists all minions, and config.values what the configuration lets be seen") {
  embedded::Options options;
  options.config_values = Json::trusted(R"({"timeout": 5.0})");
  EmbeddedEngine engine(options);
  CHECK(returned(engine, R"("fun": "minions.connected")") == R"(["ms-0", "ms-1", "ms-2"])");
  CHECK(returned(engine, R"("fun": "config.values")") == R"({"timeout": 5.0})");
}
