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

TEST_CASE("a malformed minion is a mistake with its line and value") {
  const std::string key = "rest_fcgi: embedded: minions: ";
  const std::pair<const char*, std::string> minions[] = {
      {" ms-0", "master:3: " + key + "found \"ms-0\""},
      {"\n    - a\n    - [b]", "master:5: " + key + "found a list"},
      {"\n    - {a: {}, b: {}}", "master:4: " + key + "found a map"},
      {"\n    - ~", "master:4: " + key + "found nothing"},
      {"\n    - a: [b]", "master:4: " + key + "a: found a list"},
      {"\n    - a: {grain: {}}", "master:4: " + key + "a: \"grain\": unknown key, did you mean grains?"},
      {"\n    - a: {grains: [x]}", "master:4: " + key + "a: grains: found a list"},
      {"\n    - a: {pillar: x}", "master:4: " + key + "a: pillar: found \"x\""},
      {"\n    - a: {pillar: {x: .nan}}", "master:4: " + key + "a: pillar: found .nan"},
      {"\n    - a\n    - b\n    - a: {}", "master:6: " + key + "found the id \"a\""},
      {" [\"a\\\\b\"]", "master:3: " + key + "found the id \"a\\b\""}};
  for (const auto& [text, found] : minions) check_message(minion_mistake(text), found);
  for (const std::string id : {"", ".", "..", "a/b", "a b"})
    check_message(minion_mistake(" [\"" + id + "\"]"), "master:3: " + key + "found the id \"" + id + "\"");
  check_message(minion_mistake(" [" + std::string(256, 'a') + "]"),
                "master:3: " + key + "found the id \"aaa");
}

}  // namespace
}  // namespace rest_fcgi::config
