// SPDX-License-Identifier: MIT
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "config/sections.h"
#include "config_dir.h"

namespace rest_fcgi::config {
namespace {

std::string deployed(const char* name) {
  std::ostringstream text;
  text << std::ifstream(std::filesystem::path(__FILE__).parent_path() / "../../deploy" / name).rdbuf();
  return text.str();
}

using KeyNames = std::set<std::string, std::less<>>;

void add_keys(const std::string& file, KeyNames& names) {
  const auto root = *yaml::read("", file);
  Findings findings;
  static_cast<void>(read_settings(root, findings));
  for (const std::string& path : findings.read_keys()) {
    const std::size_t colon = path.rfind(": ");
    names.insert(colon == std::string::npos ? path : path.substr(colon + 2));
  }
}

/// Loads configurations that turn on every feature of both engines, and returns the names of the keys that
/// the program reads.
KeyNames read_keys() {
  KeyNames names;
  const std::string all =
      "netapi: [rest_wsgi, rest_cherrypy, rest_tornado]}\n"
      "rest_cherrypy: {api_acl: {users: {}}}\netcd.returner: my_etcd\nmy_etcd: {etcd.host: e1}\n";
  add_keys("rest_fcgi: {" + all + "eauth_tokens: etcd\n", names);
  add_keys("rest_fcgi: {engine: salt, ext_job_cache: etcd, " + all, names);
  for (const char* section : {"rest_fcgi", "rest_cherrypy", "rest_tornado", "rest_wsgi", "embedded",
                              "login_guard", "salt_ssh", "my_etcd", "users", "metrics"})
    names.erase(section);
  return names;
}

/// Returns the names of keys in backticks. For `section: key`, returns only `key`.
KeyNames code_words(std::string_view text) {
  KeyNames words;
  for (std::size_t at = text.find('`'); at != std::string_view::npos; at = text.find('`', at + 1)) {
    const std::size_t end = text.find('`', at + 1);
    if (end == std::string_view::npos) break;
    const std::string_view word = text.substr(at + 1, end - at - 1);
    const std::size_t colon = word.rfind(": ");
    words.emplace(colon == std::string_view::npos ? word : word.substr(colon + 2));
    at = end;
  }
  return words;
}

TEST_CASE("every key is in the reference, and every row of it is a key that is read") {
  const std::string page = deployed("configuration.md");
  const KeyNames keys = read_keys();
  CHECK(keys.size() > 100);
  const KeyNames named = code_words(page);
  for (const std::string& key : keys) CHECK_MESSAGE(named.contains(key), key);

  std::size_t rows = 0;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    ++rows;
    for (const std::string& key : code_words(line.substr(0, line.find(" | ")))) {
      const bool is_include = key == "default_include" || key == "include";
      CHECK_MESSAGE((keys.contains(key) || is_include), key);
    }
  }
  CHECK(rows <= 90);
}

TEST_CASE("the example of a master file is accepted") {
  const Settings settings = settings_of(deployed("master.example"));
  CHECK(settings.client.enabled.size() == 3);
  REQUIRE(settings.auth.external_auth.size() == 1);
  CHECK(settings.auth.external_auth[0].principals.size() == 1);
  CHECK(settings.gateway.listen == "fd:0");
  CHECK(settings.warnings.empty());
}

TEST_CASE("the examples of the pages are accepted") {
  std::size_t examples = 0;
  for (const char* name : {"configuration.md", "etcd.md", "logins.md", "modules.md", "rest.md"}) {
    const std::string page = deployed(name);
    for (std::size_t at = page.find("```yaml\n"); at != std::string::npos;
         at = page.find("```yaml\n", at + 1)) {
      const std::string example = page.substr(at + 8, page.find("```", at + 8) - at - 8);
      CAPTURE(example);
      // Skips an example that names a Python interpreter, because this host may lack the interpreter.
      if (example.find("python:") == std::string::npos) CHECK(error_of(example) == "");
      ++examples;
    }
  }
  CHECK(examples > 6);
}

}  // namespace
}  // namespace rest_fcgi::config
