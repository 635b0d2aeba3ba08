// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "config_dir.h"

namespace rest_fcgi::config {
namespace {

using Folders = std::vector<std::string>;

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
}

TEST_CASE("by default there are no script modules") {
  CHECK(modules_with("").module_dirs.empty());
  CHECK(modules_with("module_dirs: []").module_dirs.empty());
  CHECK(modules_with("").script_timeout == std::chrono::seconds(60));
  CHECK(modules_with("").script_user.empty());
}

TEST_CASE("run_helper is the path of a program, or a socket") {
  CHECK(modules_with("").run_helper.empty());
  CHECK(modules_with("run_helper: /opt/run").run_helper == "/opt/run");
  CHECK(modules_with("run_helper: 'unix:/run/x.sock'").run_helper == "unix:/run/x.sock");
  for (const char* wrong : {"run", "'unix:x'", "''", "5"}) {
    CHECK(module_mistake("run_helper: " + std::string(wrong))
              .find("expected a path that begins with a slash, or unix:PATH") != std::string::npos);
  }
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

TEST_CASE("malformed keys of script modules are mistakes") {
  check_message(module_mistake("module_dirs: /srv"), "module_dirs: found \"/srv\"");
  check_message(module_mistake("module_dirs: [srv]"), "module_dirs: found \"srv\"");
  check_message(module_mistake("module_dirs: [/srv, 5]"), "module_dirs: found 5");
  check_message(module_mistake("script_timeout: 0"), "script_timeout: found 0");
  check_message(module_mistake("script_user: 5"), "script_user: found 5");
}

}  // namespace
}  // namespace rest_fcgi::config
