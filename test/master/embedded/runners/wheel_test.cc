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
  const auto started =
      engine.wheel_async(engine.permit(R"("client": "wheel_async", "fun": "key.list", "match": "acc")"));
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

TEST_CASE("keys are empty, as there are none") {
  EmbeddedEngine engine;
  CHECK(returned(engine, R"("fun": "key.print", "match": "m*-0")") == R"({"minions": {"ms-0": ""}})");
  CHECK(returned(engine, R"("fun": "key.master_key_str")") == R"({"local": {"master.pub": ""}})");
}

TEST_CASE("key.finger gives each minion a fingerprint of its own, the same in each engine") {
  EmbeddedEngine engine;
  const auto finger_of = [](const std::string& returned, std::string_view status, std::string_view id) {
    JsonDocument document;
    REQUIRE(document.parse(returned));
    return std::string(document.root().find(status)->find(id)->text());
  };
  const std::string all = returned(engine, R"("fun": "key.finger", "match": "*")");
  const std::string finger = finger_of(all, "minions", "ms-1");
  CHECK(finger.size() == 32 * 3 - 1);
  for (std::size_t i = 0; i < finger.size(); ++i) {
    const std::string_view allowed = i % 3 == 2 ? ":" : "0123456789abcdef";
    CHECK(allowed.find(finger[i]) != std::string_view::npos);
  }
  CHECK(finger_of(all, "minions", "ms-2") != finger);
  CHECK(finger_of(all, "local", "master.pem") != finger_of(all, "local", "master.pub"));
  const std::string of_master = returned(engine, R"("fun": "key.finger_master")");
  CHECK(finger_of(of_master, "local", "master.pub") == finger_of(all, "local", "master.pub"));

  EmbeddedEngine other;
  CHECK(returned(other, R"("fun": "key.finger", "match": "ms-1", "hash_type": "sha256")") ==
        format(R"({{"minions": {{"ms-1": "{}"}}}})", finger));
  CHECK(finger_of(returned(engine, R"("fun": "key.finger", "match": "ms-1", "hash_type": "md5")"), "minions",
                  "ms-1")
            .size() == 16 * 3 - 1);
  CHECK(failure(engine, R"("fun": "key.finger", "match": "ms-1", "hash_type": "crc")").find("'crc'") !=
        std::string::npos);
  CHECK(failure(engine, R"("fun": "key.finger", "match": 5)") ==
        "Exception occurred in wheel key.finger: match must be a string, found int");
}

TEST_CASE("key.accept and key.reject show the minions that match, which all stay accepted") {
  EmbeddedEngine engine;
  CHECK(returned(engine, R"("fun": "key.reject", "match": "ms-1", "include_accepted": true)") ==
        R"({"minions": ["ms-1"]})");
  CHECK(returned(engine, R"("fun": "key.reject", "match": "nosuch")") == "{}");
  CHECK(returned(engine, R"("fun": "key.accept", "match": "ms-1", "include_rejected": true)") ==
        R"({"minions": ["ms-1"]})");
  CHECK(returned(engine, R"("fun": "key.list_all")") == kAll);
}

TEST_CASE("minions.connected lists all minions, and config.values what the configuration lets be seen") {
  embedded::Options options;
  options.config_values = Json::trusted(R"({"timeout": 5.0})");
  EmbeddedEngine engine(options);
  CHECK(returned(engine, R"("fun": "minions.connected")") == R"(["ms-0", "ms-1", "ms-2"])");
  CHECK(returned(engine, R"("fun": "config.values")") == R"({"timeout": 5.0})");
}

TEST_CASE("key.gen_accept makes a pair of RSA keys, and its public half is an accepted key from then on") {
  EmbeddedEngine engine;
  JsonDocument pair;
  REQUIRE(pair.parse(returned(engine, R"("fun": "key.gen_accept", "id_": "jerry")")));
  const std::string pub(pair.root().find("pub")->text());
  CHECK(pub.starts_with("-----BEGIN PUBLIC KEY-----\n"));
  CHECK(pair.root().find("priv")->text().starts_with("-----BEGIN RSA PRIVATE KEY-----\n"));
  CHECK(returned(engine, R"("fun": "key.list", "match": "acc")") ==
        R"({"minions": ["ms-0", "ms-1", "ms-2", "jerry"]})");
  CHECK(returned(engine, R"("fun": "key.print", "match": "jerry")") ==
        format(R"({{"minions": {{"jerry": {}}}}})", Json::string(pub).text()));
  CHECK(returned(engine, R"("fun": "key.finger", "match": "jerry")").size() ==
        std::string(R"({"minions": {"jerry": ""}})").size() + 95);
  CHECK(returned(engine, R"("fun": "minions.connected")") == R"(["ms-0", "ms-1", "ms-2"])");

  CHECK(returned(engine, R"("fun": "key.gen_accept", "id_": "jerry")") == "{}");
  CHECK(returned(engine, R"("fun": "key.gen_accept", "arg": ["ms-0"])") == "{}");
  engine.master = engine.reloaded();
  CHECK(returned(engine, R"("fun": "key.gen_accept", "id_": "jerry")") == "{}");
  REQUIRE(pair.parse(
      returned(engine, R"("fun": "key.gen_accept", "id_": "jerry", "keysize": 1024, "force": true)")));
  CHECK(pair.root().find("pub")->text() != pub);
  CHECK(pair.root().find("pub")->text().size() == pub.size());

  CHECK(returned(engine, R"("fun": "key.delete", "match": "jerr*")") == "{}");
  CHECK(returned(engine, R"("fun": "key.delete", "match": "ms-0")") == R"({"minions": ["ms-0"]})");
  CHECK(returned(engine, R"("fun": "key.list_all")") == kAll);
}

TEST_CASE("key.gen_accept says what it takes, and returns to nobody but its caller") {
  EmbeddedEngine engine;
  CHECK(failure(engine, R"("fun": "key.gen_accept", "id_": "../x")").find("the minion id") !=
        std::string::npos);
  CHECK(failure(engine, R"("fun": "key.gen_accept", "id_": 5)") ==
        "Exception occurred in wheel key.gen_accept: id_ must be a minion's id, found 5");
  CHECK(failure(engine, R"("fun": "key.gen_accept", "id_": "a", "keysize": 100000)") ==
        "Exception occurred in wheel key.gen_accept: keysize must be a number of bits up to 4096, found "
        "100000");
  CHECK(
      failure(engine, R"("fun": "key.gen_accept", "id_": "a", "keysize": "many")").ends_with("found 'many'"));
  const Error refused = engine.refusal(R"("client": "wheel_async", "fun": "key.gen_accept", "id_": "jerry")");
  CHECK(refused.kind == ErrorKind::invocation);
  CHECK(refused.message.find("is for the client wheel") != std::string::npos);
}
