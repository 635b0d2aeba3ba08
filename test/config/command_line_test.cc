// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../support/temp_dir.h"
#include "rest_fcgi/config/config.h"

namespace rest_fcgi::config {
namespace {

using Action = CommandLine::Action;

Result<CommandLine> parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "rest_fcgi");
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

std::string argument_mistake(std::vector<const char*> arguments) {
  const auto parsed = parse(std::move(arguments));
  if (parsed) return "none";
  CHECK(parsed.error().kind == ErrorKind::configuration);
  const std::string prefix = "command line: ";
  const std::string suffix = "; --help lists what is accepted";
  const std::string& message = parsed.error().message;
  REQUIRE(message.starts_with(prefix));
  REQUIRE(message.ends_with(suffix));
  return message.substr(prefix.size(), message.size() - prefix.size() - suffix.size());
}

TEST_CASE("without options the server runs") {
  const auto parsed = parse({});
  REQUIRE(parsed);
  CHECK(parsed->action == Action::serve);
  CHECK_FALSE(parsed->listen);
  CHECK_FALSE(parsed->log_level);
}

TEST_CASE("--config wins over SALT_MASTER_CONFIG, and that over /etc/salt/master") {
  REQUIRE(::unsetenv("SALT_MASTER_CONFIG") == 0);
  CHECK(parse({})->config == "/etc/salt/master");
  REQUIRE(::setenv("SALT_MASTER_CONFIG", "", 1) == 0);
  CHECK(parse({})->config == "/etc/salt/master");
  REQUIRE(::setenv("SALT_MASTER_CONFIG", "/srv/master", 1) == 0);
  CHECK(parse({})->config == "/srv/master");
  CHECK(parse({"--config", "/a"})->config == "/a");
  CHECK(parse({"--config=/a"})->config == "/a");
  CHECK(parse({"-c", "/a"})->config == "/a");
  REQUIRE(::unsetenv("SALT_MASTER_CONFIG") == 0);
}

TEST_CASE("a directory stands for the master file in it") {
  const test::TempDir dir;
  CHECK(parse({"-c", dir.path().c_str()})->config == dir / "master");
}

TEST_CASE("--listen and --log-level are read") {
  CHECK(parse({"--listen", "unix:/run/x.sock"})->listen == "unix:/run/x.sock");
  CHECK(parse({"--log-level", "debug"})->log_level == log::Level::debug);
  CHECK(parse({"-l", "Quiet"})->log_level == log::Level::off);
}

TEST_CASE("options choose what is done") {
  CHECK(parse({"--check-config"})->action == Action::check_config);
  CHECK(parse({"--version"})->action == Action::show_version);
  CHECK(parse({"--help", "--version"})->action == Action::show_help);
}

TEST_CASE("--mk-token names the back end and the user") {
  const auto parsed = parse({"--mk-token", "file:alice:of:wonderland"});
  REQUIRE(parsed);
  CHECK(parsed->action == Action::make_token);
  CHECK(parsed->eauth == "file");
  CHECK(parsed->username == "alice:of:wonderland");
}

TEST_CASE("--revoke names a user, of one back end or of all") {
  auto parsed = parse({"--revoke", "alice"});
  REQUIRE(parsed);
  CHECK(parsed->action == Action::revoke);
  CHECK(parsed->eauth.empty());
  CHECK(parsed->username == "alice");
  parsed = parse({"--revoke", "pam:alice"});
  REQUIRE(parsed);
  CHECK(parsed->eauth == "pam");
  CHECK(parsed->username == "alice");
  for (const std::string user : {"", ":alice", "file:", ":"}) {
    CHECK(argument_mistake({"--revoke", user.c_str()}) ==
          "--revoke: found \"" + user + "\", expected USER or EAUTH:USER");
  }
}

TEST_CASE("--explain takes a user, a function and a target") {
  const auto parsed = parse({"--config", "/a", "--explain", "alice", "test.ping", "web* and G@os:Debian"});
  REQUIRE(parsed);
  CHECK(parsed->action == Action::explain);
  CHECK(parsed->username == "alice");
  CHECK(parsed->fun == "test.ping");
  CHECK(parsed->tgt == "web* and G@os:Debian");
  CHECK(parse({"--explain", "alice", "jobs.list_jobs", "@runner", "-c", "/a"})->config == "/a");
  const std::string expected = " arguments, expected USER FUN TGT, such as alice test.ping 'web*'";
  CHECK(argument_mistake({"--explain", "alice", "test.ping"}) == "--explain: found 2" + expected);
  CHECK(argument_mistake({"--explain", "alice", "test.ping", "*", "*"}) == "--explain: found 4" + expected);
  CHECK(argument_mistake({"--explain", "alice", "", "*"}) == "--explain: found 3" + expected);
}

TEST_CASE("what is wrong on the command line is named") {
  CHECK(argument_mistake({"--nonsense"}) == "unrecognised option '--nonsense'");
  CHECK(argument_mistake({"-x"}) == "unrecognised option '-x'");
  CHECK(argument_mistake({"--conf", "/a"}) == "unrecognised option '--conf'");
  CHECK(argument_mistake({"--positional", "/a"}) == "found \"/a\", which belongs to no option");
  CHECK(argument_mistake({"/a", "b"}) == "found \"/a\", which belongs to no option");
  CHECK(argument_mistake({"--check-config", "--", "-x"}) == "found \"-x\", which belongs to no option");
  CHECK(argument_mistake({"--config"}) == "the required argument for option '--config' is missing");
  CHECK(argument_mistake({"--config", "/a", "--config", "/b"}) ==
        "option '--config' cannot be specified more than once");
  CHECK(argument_mistake({"--version=1"}) == "option '--version' does not take any arguments");
  CHECK(argument_mistake({"--config", ""}) == "--config: found \"\", expected a file");
  CHECK(argument_mistake({"--listen", "9000"}) ==
        "--listen: found \"9000\", expected unix:PATH, tcp:HOST:PORT or fd:0");
  CHECK(argument_mistake({"--log-level", "loud"}) ==
        "--log-level: found \"loud\", expected all, garbage, trace, debug, "
        "profile, info, warning, error, critical or quiet");
}

TEST_CASE("a user for --mk-token without back end or name is an error") {
  for (const char* user : {"alice", ":alice", "file:", ":"}) {
    CAPTURE(user);
    CHECK(argument_mistake({"--mk-token", user}) ==
          std::string("--mk-token: found \"") + user + "\", expected EAUTH:USERNAME");
  }
}

TEST_CASE("the help names every option") {
  const std::string help = help_text();
  for (const char* option : {"-c [ --config ] FILE", "--listen ADDRESS", "-l [ --log-level ] LEVEL",
                             "--check-config", "--mk-token EAUTH:USERNAME", "--revoke [EAUTH:]USER",
                             "--explain USER FUN TGT", "--version", "--help"}) {
    CAPTURE(option);
    CHECK(help.find(option) != std::string::npos);
  }
  CHECK(help.find("positional") == std::string::npos);
}

}  // namespace
}  // namespace rest_fcgi::config
