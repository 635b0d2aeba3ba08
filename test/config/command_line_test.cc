// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "config_dir.h"

namespace rest_fcgi::config {
namespace {

using Action = CommandLine::Action;

Result<CommandLine> parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "rest_fcgi");
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

void check_mistake(std::vector<const char*> arguments, std::initializer_list<std::string_view> facts) {
  const Error error = parse(std::move(arguments)).error();
  CHECK(error.kind == ErrorKind::configuration);
  check_message(error.message, "command line: ", facts);
}

TEST_CASE("--init has a default file, and accepts a user and a password") {
  const auto asking = *parse({"--init"});
  CHECK(asking.action == Action::init);
  CHECK(asking.config == "/etc/rest_fcgi/master");
  CHECK(asking.username.empty());
  CHECK_FALSE(asking.has_password_on_stdin);
  const auto silent = *parse({"--init", "--user", "alice", "--password-stdin", "-c", "/srv/master"});
  CHECK(silent.config == "/srv/master");
  CHECK(silent.username == "alice");
  CHECK(silent.has_password_on_stdin);
  check_mistake({"--user", "alice"}, {"--init"});
}

TEST_CASE("--engine is embedded or salt, beside every action") {
  CHECK_FALSE(parse({})->engine);
  CHECK(parse({"--engine", "salt"})->engine == Engine::salt);
  CHECK(parse({"--check-config", "--engine", "embedded"})->engine == Engine::embedded);
  check_mistake({"--engine", "Salt"}, {"--engine", "\"Salt\"", "embedded or salt"});
}

TEST_CASE("--undo and --reload need no configuration") {
  CHECK(parse({"--undo"})->action == Action::undo);
  CHECK(parse({"--reload"})->action == Action::reload);
  CHECK(parse({"--reload"})->config.empty());
}

TEST_CASE("--config replaces SALT_MASTER_CONFIG, and that replaces /etc/salt/master") {
  REQUIRE(::unsetenv("SALT_MASTER_CONFIG") == 0);
  CHECK(parse({})->config == "/etc/salt/master");
  REQUIRE(::setenv("SALT_MASTER_CONFIG", "", 1) == 0);
  CHECK(parse({})->config == "/etc/salt/master");
  REQUIRE(::setenv("SALT_MASTER_CONFIG", "/srv/master", 1) == 0);
  CHECK(parse({})->config == "/srv/master");
  CHECK(parse({"--config", "/a"})->config == "/a");
  CHECK(parse({"--config=/a"})->config == "/a");
  CHECK(parse({"-c", "/a"})->config == "/a");
  const test::TempDir dir;
  CHECK(parse({"-c", dir.path().c_str()})->config == dir / "master");
  REQUIRE(::unsetenv("SALT_MASTER_CONFIG") == 0);
}

TEST_CASE("options choose the action, the listening socket and the log level") {
  CHECK(parse({})->action == Action::serve);
  CHECK(parse({"--check-config"})->action == Action::check_config);
  CHECK(parse({"--version"})->action == Action::show_version);
  CHECK(parse({"--help", "--version"})->action == Action::show_help);
  CHECK(parse({"--listen", "unix:/run/x.sock"})->listen == "unix:/run/x.sock");
  CHECK(parse({"--log-level", "debug"})->log_level == log::Level::debug);
  CHECK(parse({"-l", "Quiet"})->log_level == log::Level::off);
}

TEST_CASE("--mk-token names a back end and a user, and --revoke a user of one back end or of all") {
  struct Row {
    const char* option;
    const char* user;
    Action action;
    std::string_view eauth;
    std::string_view username;
  };
  for (const Row& row :
       {Row{"--mk-token", "file:alice:of:wonderland", Action::make_token, "file", "alice:of:wonderland"},
        Row{"--revoke", "alice", Action::revoke, "", "alice"},
        Row{"--revoke", "pam:alice", Action::revoke, "pam", "alice"}}) {
    CAPTURE(row.user);
    const auto parsed = *parse({row.option, row.user});
    CHECK(parsed.action == row.action);
    CHECK(parsed.eauth == row.eauth);
    CHECK(parsed.username == row.username);
  }
  for (const std::string user : {"", ":alice", "file:", ":"}) {
    check_mistake({"--revoke", user.c_str()}, {"--revoke: found \"" + user + "\"", "EAUTH:USER"});
  }
}

TEST_CASE("--add-user and --passwd name a user, and --backup and --restore a file") {
  const auto added = *parse({"--add-user", "bob", "--password-stdin"});
  CHECK(added.action == Action::add_user);
  CHECK(added.username == "bob");
  CHECK(added.has_password_on_stdin);
  const auto changed = *parse({"--passwd", "bob"});
  CHECK(changed.action == Action::set_password);
  CHECK_FALSE(changed.has_password_on_stdin);
  CHECK(parse({"--backup", "/a"})->action == Action::back_up);
  CHECK(parse({"--restore", "/a"})->action == Action::restore);
  CHECK(parse({"--restore", "/a"})->copy == "/a");
  for (const char* option : {"--add-user", "--passwd", "--backup", "--restore"}) {
    check_mistake({option, ""}, {option, "found \"\""});
    check_mistake({option}, {option});
  }
  check_mistake({"--password-stdin", "--check-config"}, {"--password-stdin"});
}

TEST_CASE("--watch takes the address and the token's file from options or variables") {
  REQUIRE(::unsetenv("SALTAPI_URL") == 0);
  const auto plain = *parse({"--watch"});
  CHECK(plain.action == Action::watch);
  CHECK(plain.watch.url.empty());
  CHECK(plain.watch.tags.empty());
  CHECK_FALSE(plain.watch.as_json);
  REQUIRE(::setenv("SALTAPI_URL", "http://a:1", 1) == 0);
  CHECK(parse({"--watch"})->watch.url == "http://a:1");
  const auto full = *parse(
      {"--watch", "--url", "http://b:1", "--tag", "salt/*", "--tag", "b", "--json", "--token-file", "f"});
  CHECK(full.watch.url == "http://b:1");
  CHECK(full.watch.tags == std::vector<std::string>{"salt/*", "b"});
  CHECK(full.watch.as_json);
  CHECK(full.token_file == "f");
  check_mistake({"--json"}, {"--json", "--watch"});
  REQUIRE(::unsetenv("SALTAPI_URL") == 0);
}

TEST_CASE("the token of --watch is never empty") {
  CommandLine command_line;
  REQUIRE(::setenv("SALTAPI_TOKEN", "abc", 1) == 0);
  CHECK(read_token(command_line)->reveal().text == "abc");
  REQUIRE(::unsetenv("SALTAPI_TOKEN") == 0);
  check_message(read_token(command_line).error().message, "--watch: ", {"--token-file", "$SALTAPI_TOKEN"});
  ConfigDir files("{}");
  command_line.token_file = files.with("token", "def\n") / "token";
  CHECK(read_token(command_line)->reveal().text == "def");
  files.with("token", "\n");
  check_message(read_token(command_line).error().message, "--watch: ", {"/token", "an empty line"});
}

TEST_CASE("only one option chooses what the program does, and --help goes first") {
  check_mistake({"--check-config", "--health"}, {"--check-config", "--health"});
  check_mistake({"--mk-token", "file:alice", "--revoke", "alice"}, {"--mk-token", "--revoke"});
  CHECK(parse({"--check-config", "--help", "--health"})->action == Action::show_help);
  CHECK(parse({"-h"})->action == Action::show_help);
  CHECK(parse({"-V"})->action == Action::show_version);
}

TEST_CASE("--explain takes a user, a function and a target") {
  const auto parsed = *parse({"--config", "/a", "--explain", "alice", "test.ping", "web* and G@os:Debian"});
  CHECK(parsed.action == Action::explain);
  CHECK(parsed.username == "alice");
  CHECK(parsed.fun == "test.ping");
  CHECK(parsed.tgt == "web* and G@os:Debian");
  CHECK(parse({"--explain", "alice", "jobs.list_jobs", "@runner", "-c", "/a"})->config == "/a");
  CHECK(parsed.eauth.empty());
  const auto of_eauth = *parse({"-c", "/a", "--explain", "file:alice", "test.ping", "*"});
  CHECK(of_eauth.eauth == "file");
  CHECK(of_eauth.username == "alice");
  check_mistake({"--explain", "alice", "test.ping"}, {"--explain: found 2", "USER FUN TGT"});
  check_mistake({"--explain", "file:", "test.ping", "*"}, {"--explain: found \"file:\"", "EAUTH:USER"});
  check_mistake({"--explain", "alice", "test.ping", "*", "*"}, {"--explain: found 4"});
  check_mistake({"--explain", "alice", "", "*"}, {"--explain: found 3"});
}

TEST_CASE("a mistake on the command line names the option or the argument") {
  check_mistake({"--nonsense"}, {"--nonsense"});
  check_mistake({"-x"}, {"-x"});
  check_mistake({"--conf", "/a"}, {"--conf"});
  check_mistake({"/a", "b"}, {"found \"/a\""});
  check_mistake({"--positional", "/a"}, {"found \"/a\""});
  check_mistake({"--check-config", "--", "-x"}, {"found \"-x\""});
  check_mistake({"--config"}, {"--config"});
  check_mistake({"--config", "/a", "--config", "/b"}, {"--config", "more than once"});
  check_mistake({"--version=1"}, {"--version"});
  check_mistake({"--config", ""}, {"--config: found \"\""});
  check_mistake({"--listen", "9000"}, {"--listen: found \"9000\"", "unix:PATH"});
  check_mistake({"--log-level", "loud"}, {"--log-level: found \"loud\"", "quiet"});
  for (const std::string user : {"alice", ":alice", "file:", ":"})
    check_mistake({"--mk-token", user.c_str()}, {"--mk-token: found \"" + user + "\"", "EAUTH:USERNAME"});
}

}  // namespace
}  // namespace rest_fcgi::config
