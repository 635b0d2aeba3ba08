// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "config_dir.h"

namespace rest_fcgi::config {
namespace {

std::string file_with(const std::string& minions) {
  return "rest_fcgi:\n  embedded:\n    minions:" + minions + "\n";
}

std::string minions(const std::string& text) {
  const Settings settings = settings_of(file_with(text));
  std::string shown;
  for (const embedded::MinionOptions& minion : settings.embedded.minions) {
    shown += minion.id + " " + minion.grains.text() + " " + minion.pillar.text() + "; ";
  }
  return shown;
}

std::string minion_mistake(const std::string& text) {
  return error_of(file_with(text));
}

TEST_CASE("minions are a list of ids") {
  CHECK(minions(" [ms-0, ms-1, 7]") == "ms-0 {} {}; ms-1 {} {}; 7 {} {}; ");
  CHECK(minions("").empty());
  CHECK(minions(" []").empty());
}

TEST_CASE("minions have grains and pillar, in a list or in a map") {
  const std::string expected = R"(a {"role": "web"} {"n": [1, 2.5, true, null, "2020-01-01"]}; b {} {}; )";
  CHECK(minions("\n    - a: {grains: {role: web}, pillar: {n: [1, 2.5, yes, ~, 2020-01-01]}}\n    - b") ==
        expected);
  CHECK(minions("\n      a: {grains: {role: web}, pillar: {n: [1, 2.5, yes, ~, 2020-01-01]}}\n      b:") ==
        expected);
  CHECK(minions("\n      a: {grains: , pillar: }\n") == "a {} {}; ");
}

TEST_CASE("minions of another form are errors") {
  CHECK(
      minion_mistake(" ms-0") ==
      "master:3: rest_fcgi: embedded: minions: found \"ms-0\", expected a list of ids, or maps such as web1: "
      "{grains: {role: web}, pillar: {}}");
  const std::string expected = ", expected ids, or maps such as web1: {grains: {role: web}, pillar: {}}";
  CHECK(minion_mistake("\n    - a\n    - [b]") ==
        "master:5: rest_fcgi: embedded: minions: found a list" + expected);
  CHECK(minion_mistake("\n    - {a: {}, b: {}}") ==
        "master:4: rest_fcgi: embedded: minions: found a map" + expected);
  CHECK(minion_mistake("\n    - ~") == "master:4: rest_fcgi: embedded: minions: found nothing" + expected);
}

TEST_CASE("an unknown key of a minion is a mistake") {
  CHECK(minion_mistake("\n    - a: [b]") ==
        "master:4: rest_fcgi: embedded: minions: a: found a list, expected a map with grains and pillar");
  CHECK(minion_mistake("\n    - a: {grain: {}}") ==
        "master:4: rest_fcgi: embedded: minions: a: \"grain\": unknown key, did you mean grains?");
  CHECK(minion_mistake("\n    - a: {grains: [x]}") ==
        "master:4: rest_fcgi: embedded: minions: a: grains: found a list, expected a map");
  CHECK(minion_mistake("\n    - a: {pillar: x}") ==
        "master:4: rest_fcgi: embedded: minions: a: pillar: found \"x\", expected a map");
  CHECK(minion_mistake("\n    - a: {pillar: {x: .nan}}") ==
        "master:4: rest_fcgi: embedded: minions: a: pillar: found .nan, expected numbers that JSON can hold");
}

TEST_CASE("a malformed minion id is a mistake") {
  for (const char* id : {"", ".", "..", "a/b", "a\\\\b", "a b"}) {
    CAPTURE(id);
    const std::string shown = std::string(id) == "a\\\\b" ? "a\\b" : id;
    CHECK(minion_mistake(std::string(" [\"") + id + "\"]") ==
          "master:3: rest_fcgi: embedded: minions: found the id \"" + shown +
              "\", expected up to 255 characters without slashes and spaces");
  }
  CHECK(minion_mistake(" [" + std::string(256, 'a') + "]") ==
        "master:3: rest_fcgi: embedded: minions: found the id \"" + std::string(60, 'a') +
            "...\", expected up to 255 characters without slashes and spaces");
}

TEST_CASE("a repeated minion id is a mistake") {
  CHECK(minion_mistake("\n    - a\n    - b\n    - a: {}") ==
        "master:6: rest_fcgi: embedded: minions: found the id \"a\" for the second time");
}

}  // namespace
}  // namespace rest_fcgi::config
