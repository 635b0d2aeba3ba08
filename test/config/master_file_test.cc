// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "../support/environment.h"
#include "config/sections.h"
#include "config_dir.h"

namespace rest_fcgi::config {
namespace {

/// Returns the merged configuration as JSON. If there is an error or a warning, returns its text instead.
std::string read(const ConfigDir& dir) {
  const auto master = read_master_file(dir / "master");
  if (!master) return dir.without_dir(master.error().message);
  return master->warnings.empty() ? yaml::to_json(master->root).text()
                                  : dir.without_dir(master->warnings.front());
}

std::string key(const ConfigDir& dir, const char* name) {
  const auto master = *read_master_file(dir / "master");
  const Entry* entry = master.root.find(name);
  return entry == nullptr ? "absent" : yaml::to_json(entry->value).text();
}

TEST_CASE("a master file alone is read as it is, and without keys it is an empty map") {
  CHECK(read(ConfigDir("timeout: 7\nid: x\n")) == R"({"timeout": 7, "id": "x"})");
  for (const char* text : {"", "# nothing here\n"}) CHECK(read(ConfigDir(text)) == "{}");
}

// The expected settings of the tests come from `salt.config.master_config` of Salt 3006.
ConfigDir& salts_files(ConfigDir& dir) {
  return dir
      .with("master.d/10-a.conf",
            "timeout: 2\n"
            "external_auth:\n"
            "  file:\n"
            "    ^filename: /a\n"
            "    alice: ['test.*', 'sys.*']\n"
            "netapi_enable_clients: [local, runner]\n"
            "rest_fcgi: {max_threads: 2, min_threads: 2}\n"
            "nested: {l: [1, {a: 1, b: 2}, 1.0, yes, x], m: {p: 1}}\n"
            "scalar_then_list: 5\n"
            "list_then_scalar: [1]\n"
            "include: sub/*.inc\n")
      .with("master.d/sub/z.inc",
            "timeout: 3\nnested: {l: [sub]}\nfrom_sub: 1\nnetapi_enable_clients: [wheel]\n")
      .with("master.d/20-b.conf",
            "external_auth:\n"
            "  file:\n"
            "    ^filename: /b\n"
            "    alice: ['grains.*', 'test.*', 'grains.*']\n"
            "    bob: ['test.ping']\n"
            "netapi_enable_clients: [runner, wheel, wheel]\n"
            "rest_fcgi: {max_threads: 3}\n"
            "nested: {l: [{b: 2, a: 1}, 1, true, '1', y], m: {q: 2}}\n"
            "scalar_then_list: [6]\n"
            "list_then_scalar: 7\n")
      .with("master.d/.hidden.conf", "timeout: 99\n")
      .with("master.d/30-c.yaml", "timeout: 98\n")
      .with("extra/x.conf", "token_expire: 7\ndefault_include: nothing/*.conf\n")
      .with("extra/Y.conf", "rest_fcgi: {send_timeout: 9}\ntoken_expire: 8\n");
}

TEST_CASE("included files are merged, then replace top-level keys, as in Salt, except rest_fcgi") {
  ConfigDir dir(
      "timeout: 1\n"
      "token_expire: 100\n"
      "include: extra/*.conf\n"
      "external_auth:\n"
      "  file:\n"
      "    ^filename: /main\n"
      "    main: ['main.*']\n"
      "netapi_enable_clients: [local, local_async]\n"
      "only_main: true\n"
      "rest_fcgi:\n"
      "  max_threads: 1\n"
      "  embedded: {minions: [main]}\n");
  salts_files(dir);
  CHECK(key(dir, "timeout") == "3");
  CHECK(key(dir, "token_expire") == "7");
  CHECK(
      key(dir, "external_auth") ==
      R"({"file": {"^filename": "/b", "alice": ["test.*", "sys.*", "grains.*", "grains.*"], "bob": ["test.ping"]}})");
  CHECK(key(dir, "netapi_enable_clients") == R"(["wheel", "runner"])");
  CHECK(key(dir, "only_main") == "true");
  CHECK(key(dir, "rest_fcgi") ==
        R"({"max_threads": 3, "embedded": {"minions": ["main"]}, "min_threads": 2, "send_timeout": 9})");
  CHECK(key(dir, "nested") == R"({"l": ["sub", {"b": 2, "a": 1}, 1, true, "1", "y"], "m": {"q": 2}})");
  CHECK(key(dir, "scalar_then_list") == "[6]");
  CHECK(key(dir, "list_then_scalar") == "7");
  CHECK(key(dir, "from_sub") == "1");
  CHECK(key(dir, "include") == R"("sub/*.inc")");
}

TEST_CASE("default_include of the main file replaces master.d/*.conf") {
  ConfigDir dir("default_include: other/*.conf\ntimeout: 1\n");
  dir.with("master.d/a.conf", "timeout: 2\n").with("other/a.conf", "timeout: 3\n");
  CHECK(key(dir, "timeout") == "3");
  CHECK(key(ConfigDir("default_include: ''\ntimeout: 1\n").with("master.d/a.conf", "timeout: 2\n"),
            "timeout") == "1");
  CHECK(key(ConfigDir("default_include:\ntimeout: 1\n").with("master.d/a.conf", "timeout: 2\n"), "timeout") ==
        "1");
}

TEST_CASE("include accepts a list, absolute paths and ~") {
  ConfigDir dir("");
  dir.with("one.conf", "one: 1\n").with("two.conf", "two: 2\n").with("home/three.conf", "three: 3\n");
  const std::string home = dir / "home";
  const test::ScopedVariable variable("HOME", home);
  dir.with("master", "include: [one.conf, '" + dir / "two.conf" + "', '~/three.conf']\n");
  CHECK(key(dir, "one") == "1");
  CHECK(key(dir, "two") == "2");
  CHECK(key(dir, "three") == "3");
}

TEST_CASE("an include that matches no file is a warning, and a default_include is not") {
  const ConfigDir dir("include: extra/*.conf\n");
  CHECK(read(dir) == "master: include: \"extra/*.conf\" matches no file");
  CHECK(read(ConfigDir("default_include: extra/*.conf\n")) == R"({"default_include": "extra/*.conf"})");
}

TEST_CASE("an include that is not a path is a mistake") {
  CHECK(read(ConfigDir("include: {a: b}\n")) ==
        "master:1: include: found a map, expected a path or a list of them");
  CHECK(read(ConfigDir("a: b\ninclude:\n  - x\n  - 5\n")) ==
        "master:4: include: found 5, expected a path or a list of them");
  CHECK(read(ConfigDir("default_include: 5\n")) ==
        "master:1: include: found 5, expected a path or a list of them");
}

TEST_CASE("files that include each other are a mistake") {
  ConfigDir dir("");
  dir.with("master.d/a.conf", "x: 1\ninclude: b.inc\n").with("master.d/b.inc", "include: a.conf\n");
  check_message(read(dir), "master.d/b.inc:1: include: ", {"16"});
}

TEST_CASE("a file that is not a map is a mistake with its name and line, and its text is not shown") {
  check_message(read(ConfigDir("- a\n")), "master:1: found a list");
  check_message(read(ConfigDir("\nhunter2\n")), "master:2: found one value");
  CHECK(read(ConfigDir("\nhunter2\n")).find("hunter2") == std::string::npos);
  check_message(read(ConfigDir("").with("master.d/a.conf", "x: 1\ny: [\n")),
                "master.d/a.conf:2: ", {"end of sequence flow not found"});
  check_message(read(ConfigDir("").with("master.d/a.conf", "include: 7\n")),
                "master.d/a.conf:1: include: found 7");
  check_message(read(ConfigDir("include: a.conf").with("a.conf", "include: b.conf").with("b.conf", "- 1")),
                "b.conf:1: found a list");
}

TEST_CASE("a file that cannot be read, is not regular or is too large is a mistake with the reason") {
  ConfigDir dir("include: [d]\n");
  const auto master = read_master_file(dir / "none");
  REQUIRE_FALSE(master);
  CHECK(master.error().kind == ErrorKind::configuration);
  check_message(dir.without_dir(master.error().message), "none: ", {"No such file or directory"});
  std::filesystem::create_directory(dir / "d");
  check_message(read(dir), "d: found ");
  std::filesystem::remove(dir / "d");
  // Without O_NONBLOCK, open(2) of a FIFO waits for a writer.
  REQUIRE(::mkfifo((dir / "d").c_str(), 0600) == 0);
  check_message(read(dir), "d: found ");
  std::filesystem::remove(dir / "d");
  std::filesystem::create_symlink("d", dir / "d");
  check_message(read(dir), "d: ", {"Too many levels of symbolic links"});
  REQUIRE(::truncate((dir / "master").c_str(), 16 * 1024 * 1024 + 1) == 0);
  check_message(read(dir), "master: found a file of 16777217 bytes");
}

TEST_CASE("a file of another user is a warning, also an included one") {
  ConfigDir dir("timeout: 7\n");
  dir.with("master.d/x.conf", "id: x\n");
  CHECK(read_master_file(dir / "master")->warnings.empty());
  if (::geteuid() != 0) return;  // Only root can give a file to another user.
  constexpr uid_t kOther = 65534;
  for (const char* name : {"master", "master.d/x.conf"}) {
    CAPTURE(name);
    REQUIRE(::chown((dir / name).c_str(), kOther, 0) == 0);
    const std::vector<std::string> warnings = read_master_file(dir / "master")->warnings;
    REQUIRE(warnings.size() == 1);
    CHECK(warnings.front().starts_with(dir / name));
    CHECK(warnings.front().find("chown root") != std::string::npos);
    REQUIRE(::chown((dir / name).c_str(), 0, 0) == 0);
  }
}

TEST_CASE("a file that every user may change is a mistake, also an included one") {
  const ConfigDir dir("");
  REQUIRE(::chmod((dir / "master").c_str(), 0666) == 0);
  check_message(read(dir), "master: found mode 0666", {"o-w"});
  ConfigDir other("");
  other.with("master.d/a.conf", "");
  REQUIRE(::chmod((other / "master.d/a.conf").c_str(), 0602) == 0);
  check_message(read(other), "master.d/a.conf: found mode 0602");
}

TEST_CASE("with_place names the line of the key of an error, or of the nearest section") {
  const ConfigDir dir(
      "rest_cherrypy:\n  port: 8000\n  disable_ssl: true\n"
      "rest_fcgi:\n  netapi: [rest_cherrypy]\n  metrics:\n    listen: '[::1]:9175'\n");
  REQUIRE(dir.error() == "");
  const auto settings = *dir.load();
  const auto placed = [&](const char* key) {
    return dir.without_dir(with_place(wrong_setting(key, "wrong"), settings).message);
  };
  CHECK(placed("rest_cherrypy: port: 0.0.0.0 port 1") ==
        "master:2: rest_cherrypy: port: 0.0.0.0 port 1: wrong");
  CHECK(placed("rest_cherrypy: ssl_crt") == "master:1: rest_cherrypy: ssl_crt: wrong");
  CHECK(placed("metrics: listen") == "master:7: metrics: listen: wrong");
  CHECK(placed("nodegroups: web") == "nodegroups: web: wrong");
  const Error other{ErrorKind::configuration, "rest_cherrypy: port: wrong"};
  CHECK(with_place(other, settings).message == other.message);
}

}  // namespace
}  // namespace rest_fcgi::config
