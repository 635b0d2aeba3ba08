// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "config_dir.h"

namespace rest_fcgi::config {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("nodegroups are texts or lists of words") {
  const Settings settings =
      settings_of("nodegroups:\n  web: 'web*  and G@os:Debian'\n  hosts: [a, b, 7]\n  one: db1\n");
  const auto& groups = settings.embedded.nodegroups;
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].name == "web");
  CHECK(groups[0].words == Words{"web*", "and", "G@os:Debian"});
  CHECK(groups[1].words == Words{"a", "b", "7"});
  CHECK(groups[2].words == Words{"db1"});
  CHECK(settings_of("nodegroups:\n").embedded.nodegroups.empty());
}

TEST_CASE("a malformed nodegroup is a mistake") {
  check_message(error_of("nodegroups: [a]\n"), "master:1: nodegroups: found a list");
  check_message(error_of("nodegroups:\n  a: {b: c}\n"), "master:2: nodegroups: a: found a map");
  check_message(error_of("nodegroups:\n  a:\n    - [b]\n"), "master:3: nodegroups: a: found a list");
}

TEST_CASE("config.values shows options, and neither users nor grains nor pillar data nor secrets") {
  const Settings settings = settings_of(
      "timeout: 7\nsharedsecret: hush\nnodegroups: {web: 'web*'}\nnetapi_enable_clients: [local]\n"
      "external_auth: {sharedsecret: {fred: [test.*]}}\n"
      "rest_fcgi: {embedded: {minions: {web1: {grains: {a: hidden-grain}, pillar: {b: hidden-pillar}}}}}\n");
  const std::string values = settings.embedded.config_values.text();
  JsonDocument document;
  REQUIRE(document.parse(values));
  CHECK(document.root().find("timeout")->number() == 7);
  CHECK(document.root().find("nodegroups")->json().text() == R"({"web": ["web*"]})");
  CHECK(document.root().find("netapi_enable_clients")->json().text() == R"(["local"])");
  CHECK(document.root().find("rest_fcgi")->find("embedded")->find("minions")->json().text() == R"(["web1"])");
  CHECK(document.root().find("saltgui_full_return")->boolean());
  for (const char* hidden : {"hush", "fred", "hidden"}) {
    CAPTURE(hidden);
    CHECK(values.find(hidden) == std::string::npos);
  }
}

TEST_CASE("config.values shows SaltGUI's own options as the master file has them") {
  const Settings settings =
      settings_of("saltgui_templates: {t1: {targettype: glob}}\nsaltgui_full_return: false\nother_key: 1\n");
  JsonDocument document;
  REQUIRE(document.parse(settings.embedded.config_values.text()));
  CHECK(document.root().find("saltgui_templates")->json().text() == R"({"t1": {"targettype": "glob"}})");
  CHECK_FALSE(document.root().find("saltgui_full_return")->boolean());
  CHECK_FALSE(document.root().find("other_key").has_value());
}

}  // namespace
}  // namespace rest_fcgi::config
