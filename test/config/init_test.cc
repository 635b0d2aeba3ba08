// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "config_dir.h"
#include "rest_fcgi/core/users.h"

namespace rest_fcgi::config {
namespace {

FirstSetup setup_in(const test::TempDir& dir) {
  FirstSetup setup;
  setup.config = dir / "master";
  setup.users = dir / "users";
  setup.user = "alice";
  setup.hash = "$y$j75$abcdefgh$vd9GBZ0X.Wgh3dsxBvCnIOYDItsueGfttJXG763.dDA";
  setup.group = ::getegid();
  return setup;
}

TEST_CASE("a first setup is a valid configuration and a file with the password, for owner and group") {
  const test::TempDir dir;
  REQUIRE(write_first_setup(setup_in(dir)));
  CommandLine command_line;
  command_line.config = dir / "master";
  const auto settings = load(command_line);
  REQUIRE_MESSAGE(settings, settings.error().message);
  CHECK(settings->warnings.empty());
  CHECK(settings->gateway.http.size() == 1);
  CHECK(dir.read("users") == "alice:" + setup_in(dir).hash + "\n");
  for (const char* name : {"master", "users"}) {
    struct stat status {};
    REQUIRE(::stat((dir / name).c_str(), &status) == 0);
    CHECK((status.st_mode & 07777U) == 0640U);
    CHECK(status.st_gid == ::getegid());
  }
}

TEST_CASE("a first setup replaces no file and writes no other one") {
  for (const auto& [present, absent] : {std::pair{"master", "users"}, {"users", "master"}}) {
    const test::TempDir dir;
    dir.write(present, "mine");
    const auto written = write_first_setup(setup_in(dir));
    REQUIRE_FALSE(written);
    CHECK(written.error().kind == ErrorKind::configuration);
    check_message(written.error().message, "--init: ", {dir / present});
    CHECK(dir.read(present) == "mine");
    CHECK_FALSE(std::filesystem::exists(dir / absent));
  }
}

TEST_CASE("a user of a first setup has no character of YAML or of a password file") {
  for (const char* user : {"", "a:b", "a b", "*", "-a", "^filename", "a\nb"}) {
    const test::TempDir dir;
    FirstSetup setup = setup_in(dir);
    setup.user = user;
    CHECK_FALSE(write_first_setup(setup));
    CHECK(std::filesystem::is_empty(dir.path()));
  }
}

TEST_CASE("a service in front of a master needs engine: salt and the master's user") {
  const std::string own = user_name(::geteuid()).value_or("");
  const ConfigDir without("user: " + own + "\n");
  const auto missing = check_salt(settings_of("user: " + own + "\n"), without.command_line());
  REQUIRE_FALSE(missing);
  check_message(missing.error().message, without / "master", {"engine: salt", "master.d/rest_fcgi.conf"});

  CHECK(check_salt(settings_of("user: " + own + "\nrest_fcgi: {engine: salt}\n"), without.command_line()));
  const auto other =
      check_salt(settings_of("user: somebody\nrest_fcgi: {engine: salt}\n"), without.command_line());
  REQUIRE_FALSE(other);
  CHECK(other.error().message.ends_with("\n[Service]\nUser=somebody"));
}

}  // namespace
}  // namespace rest_fcgi::config
