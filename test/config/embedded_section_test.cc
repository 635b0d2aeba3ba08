// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "config_dir.h"

namespace rest_fcgi::config {
namespace {

using Words = std::vector<std::string>;
using Folders = std::vector<std::string>;

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

TEST_CASE("minions are a list of ids, or have grains and pillar in a list or in a map") {
  CHECK(minions(" [ms-0, ms-1, 7]") == "ms-0 {} {}; ms-1 {} {}; 7 {} {}; ");
  CHECK(minions("").empty());
  CHECK(minions(" []").empty());
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

TEST_CASE("nodegroups are texts or lists of words, and a malformed one is a mistake") {
  const Settings settings =
      settings_of("nodegroups:\n  web: 'web*  and G@os:Debian'\n  hosts: [a, b, 7]\n  one: db1\n");
  const auto& groups = settings.embedded.nodegroups;
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].name == "web");
  CHECK(groups[0].words == Words{"web*", "and", "G@os:Debian"});
  CHECK(groups[1].words == Words{"a", "b", "7"});
  CHECK(groups[2].words == Words{"db1"});
  CHECK(settings_of("nodegroups:\n").embedded.nodegroups.empty());
  check_message(error_of("nodegroups: [a]\n"), "master:1: nodegroups: found a list");
  check_message(error_of("nodegroups:\n  a: {b: c}\n"), "master:2: nodegroups: a: found a map");
  check_message(error_of("nodegroups:\n  a:\n    - [b]\n"), "master:3: nodegroups: a: found a list");
}

TEST_CASE("config.values shows options, but neither users nor grains nor pillar data nor secrets") {
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
  const Settings own =
      settings_of("saltgui_templates: {t1: {targettype: glob}}\nsaltgui_full_return: false\nother_key: 1\n");
  JsonDocument shown;
  REQUIRE(shown.parse(own.embedded.config_values.text()));
  CHECK(shown.root().find("saltgui_templates")->json().text() == R"({"t1": {"targettype": "glob"}})");
  CHECK_FALSE(shown.root().find("saltgui_full_return")->boolean());
  CHECK_FALSE(shown.root().find("other_key").has_value());
}

embedded::ModuleOptions modules_with(const std::string& entry) {
  return settings_of("rest_fcgi: {embedded: {" + entry + "}}\n").embedded.modules;
}

std::string module_mistake(const std::string& entry) {
  const std::string message = error_of("rest_fcgi: {embedded: {" + entry + "}}\n");
  const std::string prefix = "master:1: rest_fcgi: embedded: ";
  return message.starts_with(prefix) ? message.substr(prefix.size()) : "without its place: " + message;
}

TEST_CASE("script modules have folders, a time limit and a user") {
  const embedded::ModuleOptions options =
      modules_with("module_dirs: [/srv/one, /srv/two], script_timeout: 2.5, script_user: nobody");
  CHECK(options.module_dirs == Folders{"/srv/one", "/srv/two"});
  CHECK(options.script_timeout == std::chrono::milliseconds(2500));
  CHECK(options.script_user == "nobody");
  CHECK(modules_with("").module_dirs.empty());
  CHECK(modules_with("").script_timeout == std::chrono::seconds(60));
}

TEST_CASE("run_helper is a path or a socket, and malformed keys of script modules are mistakes") {
  CHECK(modules_with("").run_helper.empty());
  CHECK(modules_with("run_helper: /opt/run").run_helper == "/opt/run");
  CHECK(modules_with("run_helper: 'unix:/run/x.sock'").run_helper == "unix:/run/x.sock");
  for (const char* wrong : {"run", "'unix:x'", "''", "5"}) {
    CHECK(module_mistake("run_helper: " + std::string(wrong))
              .find("expected a path that begins with a slash, or unix:PATH") != std::string::npos);
  }
  check_message(module_mistake("module_dirs: /srv"), "module_dirs: found \"/srv\"");
  check_message(module_mistake("module_dirs: [srv]"), "module_dirs: found \"srv\"");
  check_message(module_mistake("module_dirs: [/srv, 5]"), "module_dirs: found 5");
  check_message(module_mistake("script_timeout: 0"), "script_timeout: found 0");
  check_message(module_mistake("script_user: 5"), "script_user: found 5");
}

TEST_CASE("embedded: python is an executable file") {
  CHECK(modules_with("").python == "python3");
  CHECK(modules_with("").python_key.empty());
  const embedded::ModuleOptions options = modules_with("python: /bin/sh");
  CHECK(options.python == "/bin/sh");
  CHECK(options.python_key.ends_with("master:1: rest_fcgi: embedded: python"));
  check_message(module_mistake("python: /nosuch"), "python: found \"/nosuch\"",
                {"No such file or directory"});
  check_message(module_mistake("python: /etc/passwd"), "python: found \"/etc/passwd\"",
                {"Permission denied"});
  check_message(module_mistake("python: /tmp"), "python: found \"/tmp\"", {"not a file"});
  CHECK(module_mistake("python: python3").starts_with("python: found \"python3\", expected a"));
}

}  // namespace
}  // namespace rest_fcgi::config
