// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "../../../support/embedded_engine.h"
#include "../../../support/holds.h"

using namespace rest_fcgi;
using test::EmbeddedEngine;

namespace {

constexpr const char* kAll =
    R"({"minions": ["ms-0", "ms-1", "ms-2"], "minions_pre": [], "minions_rejected": [], "minions_denied": [], )"
    R"("local": ["master.pem", "master.pub"]})";

struct Wheels : EmbeddedEngine {
  using EmbeddedEngine::EmbeddedEngine;

  JsonDocument data_of(std::string_view members) {
    const auto reply = master->wheel(permit(format(R"("client": "wheel", {})", members)));
    REQUIRE(reply);
    JsonDocument whole;
    REQUIRE(whole.parse(reply->reply.text()));
    JsonDocument data;
    REQUIRE(data.parse(whole.root().find("data")->json().text()));
    return data;
  }
  std::string returned(std::string_view members) {
    const JsonDocument data = data_of(members);
    CHECK(data.root().find("success")->boolean());
    return data.root().find("return")->json().text();
  }
  std::string failure(std::string_view members) {
    const JsonDocument data = data_of(members);
    CHECK_FALSE(data.root().find("success")->boolean());
    return std::string(data.root().find("return")->text());
  }
};

}  // namespace

TEST_CASE_FIXTURE(Wheels, "a wheel's reply is Salt's event with its tag") {
  const auto reply = master->wheel(permit(R"("client": "wheel", "fun": "key.list_all")"));
  REQUIRE(reply);
  JsonDocument whole;
  REQUIRE(whole.parse(reply->reply.text()));
  const std::string stamp(whole.root().find("data")->find("_stamp")->text());
  CHECK(
      reply->reply.text() ==
      format(
          R"({{"tag": "salt/wheel/{0}", "data": {{"fun": "wheel.key.list_all", "jid": "{0}", "tag": "salt/wheel/{0}", )"
          R"("user": "fred", "_stamp": "{1}", "return": {2}, "success": true}}}})",
          reply->jid, stamp, kAll));
}

TEST_CASE_FIXTURE(Wheels, "key.list reads the beginning of a status") {
  for (const auto& [match, keys] : {std::pair("acc", R"({"minions": ["ms-0", "ms-1", "ms-2"]})"),
                                    {"pre", R"({"minions_pre": []})"},
                                    {"un", R"({"minions_pre": []})"},
                                    {"rejected", R"({"minions_rejected": []})"},
                                    {"den", R"({"minions_denied": []})"},
                                    {"all", kAll},
                                    {"nosuch", "{}"}}) {
    CHECK(returned(format(R"("fun": "key.list", "match": "{}")", match)) == keys);
    CHECK(returned(format(R"("fun": "key.list", "arg": ["{}"])", match)) == keys);
  }
}

TEST_CASE_FIXTURE(Wheels, "an unknown wheel, and one with wrong arguments, fail with Salt's texts") {
  CHECK(failure(R"("fun": "nosuch.fun")") == "'nosuch.fun' is not available.");
  CHECK(failure(R"("fun": "key.list_all", "match": "acc")") ==
        "Passed invalid arguments: list_all() got an unexpected keyword argument 'match'");
  CHECK(failure(R"("fun": "key.list", "match": 5)") ==
        "Exception occurred in wheel key.list: match: found int, expected a string");
}

TEST_CASE_FIXTURE(Wheels, "an asynchronous wheel returns to the job cache") {
  const auto started =
      begun(master->wheel_async(permit(R"("client": "wheel_async", "fun": "key.list", "match": "acc")")));
  REQUIRE(started);
  CHECK(started->tag == "salt/wheel/" + started->jid);
  CHECK(test::eventually([&] {
    return test::holds(lookup(started->jid),
                       R"("return": {"minions": ["ms-0", "ms-1", "ms-2"]}, "success": true)");
  }));
}

TEST_CASE_FIXTURE(Wheels, "wheels find minions by globs, show empty keys, and change no key") {
  CHECK(returned(R"("fun": "key.name_match", "match": "ms-[12]")") == R"({"minions": ["ms-1", "ms-2"]})");
  CHECK(returned(R"("fun": "key.name_match", "match": "ms-0,*-2")") == R"({"minions": ["ms-0", "ms-2"]})");
  CHECK(returned(R"("fun": "key.name_match", "match": ["ms-0"])") == R"({"minions": ["ms-0"]})");
  CHECK(returned(R"("fun": "key.name_match", "match": "nosuch")") == "{}");
  CHECK(returned(R"("fun": "key.print", "match": "m*-0")") == R"({"minions": {"ms-0": ""}})");
  CHECK(returned(R"("fun": "key.master_key_str")") == R"({"local": {"master.pub": ""}})");
  CHECK(returned(R"("fun": "key.reject", "match": "ms-1", "include_accepted": true)") ==
        R"({"minions": ["ms-1"]})");
  CHECK(returned(R"("fun": "key.reject", "match": "nosuch")") == "{}");
  CHECK(returned(R"("fun": "key.accept", "match": "ms-1", "include_rejected": true)") ==
        R"({"minions": ["ms-1"]})");
  CHECK(returned(R"("fun": "key.list_all")") == kAll);
}

TEST_CASE_FIXTURE(Wheels, "wheels take maps from a status to ids") {
  REQUIRE(test::holds(returned(R"("fun": "key.gen_accept", "id_": "ms-9")"), "PUBLIC KEY"));
  CHECK(returned(R"("fun": "key.accept_dict", "match": {"minions": ["ms-1", "nosuch", "*"]})") ==
        R"({"minions": ["ms-1"]})");
  CHECK(returned(R"("fun": "key.reject_dict", "match": {"minions_pre": ["ms-1"]})") == "{}");
  CHECK(returned(R"("fun": "key.delete_dict", "match": {"minions_denied": ["ms-9"]})") == "{}");
  CHECK(test::holds(returned(R"("fun": "key.list_all")"), "ms-9"));
  CHECK(returned(R"("fun": "key.delete_dict", "match": {"minions": ["ms-0", "ms-9"]})") ==
        R"({"minions": ["ms-0"]})");
  CHECK_FALSE(test::holds(returned(R"("fun": "key.list_all")"), "ms-9"));
  CHECK(test::holds(failure(R"("fun": "key.delete_dict", "match": "ms-0")"),
                    "match: found str, expected a map"));
}

TEST_CASE_FIXTURE(Wheels, "key.finger returns a stable fingerprint for each minion") {
  const auto finger_of = [](const std::string& keys, std::string_view status, std::string_view id) {
    JsonDocument document;
    REQUIRE(document.parse(keys));
    return std::string(document.root().find(status)->find(id)->text());
  };
  const std::string all = returned(R"("fun": "key.finger", "match": "*")");
  const std::string finger = finger_of(all, "minions", "ms-1");
  CHECK(finger.size() == 32 * 3 - 1);
  CHECK(finger_of(all, "minions", "ms-2") != finger);
  CHECK(finger_of(all, "local", "master.pem") != finger_of(all, "local", "master.pub"));
  const std::string of_master = returned(R"("fun": "key.finger_master")");
  CHECK(finger_of(of_master, "local", "master.pub") == finger_of(all, "local", "master.pub"));

  Wheels other;
  CHECK(other.returned(R"("fun": "key.finger", "match": "ms-1", "hash_type": "sha256")") ==
        format(R"({{"minions": {{"ms-1": "{}"}}}})", finger));
  CHECK(test::holds(failure(R"("fun": "key.finger", "match": "ms-1", "hash_type": "crc")"), "'crc'"));
}

TEST_CASE("config.values returns the options") {
  embedded::Options options;
  options.config_values = Json::trusted(R"({"timeout": 5.0})");
  CHECK(Wheels(options).returned(R"("fun": "config.values")") == R"({"timeout": 5.0})");
}

TEST_CASE_FIXTURE(Wheels, "key.gen_accept makes and accepts an RSA key") {
  JsonDocument pair;
  REQUIRE(pair.parse(returned(R"("fun": "key.gen_accept", "id_": "jerry")")));
  const std::string pub(pair.root().find("pub")->text());
  CHECK(pub.starts_with("-----BEGIN PUBLIC KEY-----\n"));
  CHECK(pair.root().find("priv")->text().starts_with("-----BEGIN RSA PRIVATE KEY-----\n"));
  CHECK(returned(R"("fun": "key.list", "match": "acc")") ==
        R"({"minions": ["ms-0", "ms-1", "ms-2", "jerry"]})");
  CHECK(returned(R"("fun": "key.print", "match": "jerry")") ==
        format(R"({{"minions": {{"jerry": {}}}}})", Json::string(pub).text()));
  CHECK(returned(R"("fun": "key.finger", "match": "jerry")").size() ==
        std::string(R"({"minions": {"jerry": ""}})").size() + 95);
  CHECK(returned(R"("fun": "minions.connected")") == R"(["ms-0", "ms-1", "ms-2"])");

  CHECK(returned(R"("fun": "key.gen_accept", "id_": "jerry")") == "{}");
  CHECK(returned(R"("fun": "key.gen_accept", "arg": ["ms-0"])") == "{}");
  master = reloaded();
  CHECK(returned(R"("fun": "key.gen_accept", "id_": "jerry")") == "{}");
  REQUIRE(pair.parse(returned(R"("fun": "key.gen_accept", "id_": "jerry", "keysize": 1024, "force": true)")));
  CHECK(pair.root().find("pub")->text() != pub);
  CHECK(pair.root().find("pub")->text().size() == pub.size());

  CHECK(returned(R"("fun": "key.delete", "match": "jerr*")") == "{}");
  CHECK(returned(R"("fun": "key.delete", "match": "ms-0")") == R"({"minions": ["ms-0"]})");
  CHECK(returned(R"("fun": "key.list_all")") == kAll);
}

TEST_CASE_FIXTURE(Wheels, "key.gen_accept refuses wrong arguments and the client wheel_async") {
  for (const auto& [arguments, part] : {std::pair(R"("id_": "../x")", "minion id"),
                                        {R"("id_": 5)", "id_: found 5"},
                                        {R"("id_": "a", "keysize": 100000)", "keysize: found 100000"},
                                        {R"("id_": "a", "keysize": "many")", "keysize: found 'many'"}}) {
    const std::string error = failure(format(R"("fun": "key.gen_accept", {})", arguments));
    CHECK(error.starts_with("Exception occurred in wheel key.gen_accept: "));
    CHECK(error.find(part) != std::string::npos);
  }
  const Error refused = refusal(R"("client": "wheel_async", "fun": "key.gen_accept", "id_": "jerry")");
  CHECK(refused.kind == ErrorKind::invocation);
}
