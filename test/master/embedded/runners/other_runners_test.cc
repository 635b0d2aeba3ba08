// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "../../../support/holds.h"
#include "runner_call.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;

TEST_CASE("manage.up, manage.down and manage.status show every minion as up") {
  EmbeddedEngine engine;
  CHECK(ret(engine, R"("fun": "manage.up")") == R"(["ms-0", "ms-1", "ms-2"])");
  CHECK(ret(engine, R"("fun": "manage.down")") == "[]");
  CHECK(ret(engine, R"("fun": "manage.status")") == R"({"up": ["ms-0", "ms-1", "ms-2"], "down": []})");
}

TEST_CASE("the manage runners take targets") {
  EmbeddedEngine engine;
  CHECK(ret(engine, R"("fun": "manage.up", "tgt": "ms-[12]")") == R"(["ms-1", "ms-2"])");
  CHECK(ret(engine, R"("fun": "manage.up", "arg": ["role:web", "grain"])") == R"(["ms-0", "ms-1"])");
  CHECK(ret(engine, R"("fun": "manage.up", "tgt": "ms-1,ms-0,nosuch", "tgt_type": "list")") ==
        R"(["ms-0", "ms-1"])");
  CHECK(ret(engine, R"("fun": "manage.up", "tgt": ["ms-1"], "tgt_type": "list")") == R"(["ms-1"])");
  CHECK(ret(engine, R"("fun": "manage.status", "tgt": "nosuch")") == R"({"up": [], "down": []})");
}

TEST_CASE("a manage runner with a wrong target fails") {
  EmbeddedEngine engine;
  for (const char* members :
       {R"("fun": "manage.up", "tgt": "ms-(", "tgt_type": "pcre")",
        R"("fun": "manage.down", "tgt": "x", "tgt_type": "range")",
        R"("fun": "manage.status", "tgt_type": "nosuch")", R"("fun": "manage.up", "tgt": 5)"}) {
    CAPTURE(members);
    const master::RunnerReturn returned = engine.runner(members);
    CHECK(holds(returned.ret.text(), "\"Exception occurred in runner manage."));
    CHECK(holds(returned.data.text(), "\"success\": false"));
  }
}

TEST_CASE("the manage runners about presence show every minion as present") {
  EmbeddedEngine engine;
  for (const char* fun : {"list_state", "present", "joined", "allowed", "alived", "reaped"}) {
    CAPTURE(fun);
    CHECK(ret(engine, format(R"("fun": "manage.{}")", fun)) == R"(["ms-0", "ms-1", "ms-2"])");
  }
  for (const char* fun :
       {"list_not_state", "not_present", "not_joined", "not_allowed", "not_alived", "not_reaped"}) {
    CAPTURE(fun);
    CHECK(ret(engine, format(R"("fun": "manage.{}")", fun)) == "[]");
  }
  CHECK(ret(engine, R"("fun": "manage.present", "subset": ["ms-1", "nosuch"])") == R"(["ms-1"])");
  CHECK(ret(engine, R"("fun": "manage.present", "arg": ["ms-1,ms-2", true])") ==
        R"({"ms-1": "127.0.0.1", "ms-2": "127.0.0.1"})");
  CHECK(holds(text(engine, R"("fun": "manage.not_present", "subset": 5)"), "found int"));
  const std::string versions = ret(engine, R"("fun": "manage.versions")");
  CHECK(versions.starts_with(R"({"Master": "3006.)"));
  CHECK(holds(versions, R"("Up to date": {"ms-0": )"));
}

TEST_CASE("cache.mine and state.orchestrate_show_sls return empty results") {
  EmbeddedEngine engine;
  CHECK(ret(engine, R"("fun": "cache.mine", "arg": ["*"])") == "{}");
  const std::string states = ret(engine, R"("fun": "state.orchestrate_show_sls", "arg": ["*"])");
  CHECK(states.ends_with(R"(_master": {}})"));
  CHECK(ret(engine, R"("fun": "state.orch_show_sls", "mods": "a")") == states);
}

TEST_CASE("cache.grains and cache.pillar show the data of minions") {
  EmbeddedEngine engine;
  const std::string grains = ret(engine, R"("fun": "cache.grains", "arg": ["role:db", "grain"])");
  CHECK(grains.starts_with(R"({"ms-2": {)"));
  CHECK(holds(grains, R"("role": "db")"));
  CHECK(ret(engine, R"("fun": "cache.pillar")") == R"({"ms-0": {}, "ms-1": {}, "ms-2": {}})");
  CHECK(holds(text(engine, R"("fun": "cache.grains")"), "missing 1 required positional argument: 'tgt'"));
}

TEST_CASE("the doc runners show the documentation of all functions") {
  EmbeddedEngine engine;
  for (const auto& [runner, name] : {std::pair("doc.runner", "manage.up"),
                                     {"doc.wheel", "key.list_all"},
                                     {"doc.execution", "test.ping"}}) {
    const std::string fun = runner;
    CAPTURE(fun);
    JsonDocument document;
    REQUIRE(document.parse(ret(engine, format(R"("fun": "{}")", fun))));
    const auto doc = document.root().find(name);
    REQUIRE(doc.has_value());
    CHECK(holds(doc->text(), name));
    for (const JsonMember member : document.root().members()) {
      CAPTURE(member.key);
      CHECK(member.value.text().size() > member.key.size() + 20);
    }
  }
}

TEST_CASE("the test runners return the same as Salt's test runners") {
  EmbeddedEngine engine;
  CHECK(ret(engine, R"("fun": "test.raw_arg", "arg": [1, "__b=2"])") ==
        R"({"args": [1], "kwargs": {"__b": 2}})");
  CHECK(ret(engine, R"("fun": "test.stdout_print")") == R"("bar")");
  CHECK(ret(engine, R"("fun": "test.metasyntactic", "locality": "uk")") ==
        R"(["wibble", "wobble", "wubble", "flob"])");
  CHECK(holds(ret(engine, R"("fun": "test.metasyntactic")"), R"(["foo", "bar")"));
  CHECK(ret(engine, R"("fun": "test.metasyntactic", "locality": "x")") == "null");
  CHECK(holds(text(engine, R"("fun": "test.get_opts")"), "config.values"));
}
