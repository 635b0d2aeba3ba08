// SPDX-License-Identifier: MIT
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>

#include "../../../support/environment.h"
#include "../../../support/execution.h"
#include "../../../support/holds.h"
#include "../../../support/temp_dir.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

using test::check;
using test::holds;

class Cmd : public test::Execution {
 public:
  Cmd() { ::signal(SIGPIPE, SIG_IGN); }

  void returns(std::string_view args, std::string_view kwargs, std::string_view ret, int retcode = 0) {
    check(run("cmd.run", args, kwargs), ret, retcode);
  }
  std::string complaint(std::string_view kwargs) { return sentence("cmd.run", R"(["true"])", kwargs); }
};

std::string without_pid(const master::Return& outcome) {
  JsonDocument document;
  REQUIRE(document.parse(outcome.ret.text()));
  std::string text;
  for (const JsonMember member : document.root().members()) {
    if (member.key == "pid") {
      CHECK(member.value.integer().value_or(0) > 1);
    } else {
      text += format("{}={} ", member.key, member.value.json().text());
    }
  }
  return text;
}

struct WithCmd {
  Cmd cmd;
};

TEST_CASE("a shell runs the command only with python_shell, and a command may be a list of words") {
  Cmd cmd;
  check(cmd.run("cmd.run", R"(["echo $HOME; echo * | cat"])"), R"("$HOME; echo * | cat")", 0);
  check(cmd.run("cmd.run", R"(["echo x | tr x y"])", R"({"python_shell": true})"), R"("y")", 0);
  check(cmd.run("cmd.run", R"(["echo x | tr x y"])", R"({"python_shell": null})"), R"("x | tr x y")", 0);
  check(cmd.run("cmd.shell", R"(["echo x | tr x y"])"), R"("y")", 0);
  check(cmd.run("cmd.shell", R"(["echo x >&2"])"), R"("x")", 0);
  check(cmd.run("cmd.run", R"([["printf", "%s|", "a b", 1, true]])"), R"("a b|1|True|")", 0);
  check(cmd.run("cmd.run", R"([["echo $0 $1", "x", "y"]])", R"({"python_shell": true})"), R"("x y")", 0);
  check(cmd.run("cmd.run", R"([""])"), R"("ERROR: There is no command to run: 'cmd' is empty.")", 1);
  check(cmd.run("cmd.run", R"(["echo 'a"])"),
        R"("The minion function caused an exception: ValueError: No closing quotation")", 1);
}

TEST_CASE("cmd.run_all returns both outputs and the return code, and options redirect or hide them") {
  Cmd cmd;
  const std::string_view args = R"(["echo out; echo err >&2; exit 7"])";
  const std::string_view shell = R"({"python_shell": true})";
  const master::Return all = cmd.run("cmd.run_all", args, shell);
  CHECK(all.ret.text().starts_with(R"({"pid": )"));
  CHECK(without_pid(all) == R"(retcode=7 stdout="out" stderr="err" )");
  CHECK(all.retcode == 7);
  CHECK(without_pid(cmd.run("cmd.run_all", args, R"({"python_shell": true, "redirect_stderr": true})")) ==
        R"(retcode=7 stdout="out\nerr" stderr="" )");
  check(cmd.run("cmd.run_stdout", args, R"({"python_shell": true, "hide_output": true})"), R"("")", 7);
}

TEST_CASE_FIXTURE(WithCmd, "options say which results count as a success") {
  const auto exits = [this](std::string_view option) {
    return cmd.run("cmd.retcode", R"(["echo all fine; echo oh >&2; exit 7"])",
                   format(R"({{"python_shell": true, {}}})", option));
  };
  check(exits(R"("ignore_retcode": true)"), "7", 0);
  check(exits(R"("success_retcodes": [6, 7])"), "0", 0);
  check(exits(R"("success_stdout": ["all", "x"])"), "0", 0);
  CHECK(cmd.run("cmd.run_all", R"(["echo oh >&2; exit 7"])",
                R"({"python_shell": true, "success_stderr": "oh"})")
            .retcode == 0);
  CHECK(cmd.complaint(R"({"success_retcodes": "a"})") ==
        "ERROR executing 'cmd.run': success_retcodes must be a list of integers");
  cmd.returns(R"(["echo no; false"])", R"({"python_shell": true, "raise_err": true})", R"("ERROR: no")", 1);
  cmd.returns(R"(["echo yes"])", R"({"raise_err": true})", R"("yes")");
}

TEST_CASE("a command that exceeds its timeout returns Salt's text, and a stop request ends a command") {
  Cmd cmd;
  cmd.returns(R"(["sleep 1000"])", R"({"timeout": 0.1})",
              R"("['sleep', '1000'] : Timed out after 0.1 seconds")", 1);
  const master::Return all =
      cmd.run("cmd.run_all", R"(["sleep 1000"])", R"({"timeout": 0.1, "ignore_retcode": true})");
  CHECK(without_pid(all) ==
        R"(stdout="['sleep', '1000'] : Timed out after 0.1 seconds" stderr="" retcode=1 )");
  CHECK(all.retcode == 0);
  check(cmd.run("cmd.run", R"(["echo a"])", R"({"timeout": 0})"), R"("a")", 0);
  CHECK(cmd.sentence("cmd.run", R"(["sleep 1000"])", R"({"timeout": -1})").ends_with("after -1 seconds"));
  CHECK(holds(cmd.complaint(R"({"timeout": "soon"})"), "found 'soon'"));
  std::stop_source stop;
  stop.request_stop();
  const master::Return outcome = cmd.run("cmd.run", R"(["sleep 1000"])", "{}", stop.get_token());
  CHECK(outcome.ret.text() == Json::string(kTerminated).text());
  CHECK_FALSE(outcome.success);
}

TEST_CASE_FIXTURE(WithCmd, "a program that cannot start is Salt's error") {
  cmd.returns(
      R"(["nosuch a"])", R"({"cwd": "/"})",
      R"("ERROR: Unable to run command '['nosuch', 'a']', reason: [Errno 2] No such file or directory: 'nosuch'")",
      1);
  check(
      cmd.run("cmd.run_all", R"([["/etc/passwd"]])", R"({"cwd": "/", "timeout": 5})"),
      R"("ERROR: Unable to run command '['/etc/passwd']', reason: [Errno 13] Permission denied: '/etc/passwd'")",
      1);
  check(cmd.run("cmd.retcode", R"(["nosuch"])", R"({"python_shell": true})"), "127", 127);
  check(cmd.run("cmd.run", R"([["echo", "a\u0000b"]])"),
        R"("The minion function caused an exception: ValueError: embedded null byte")", 1);
}

TEST_CASE_FIXTURE(WithCmd, "a command runs in cwd, or in the home folder") {
  const test::TempDir dir;
  check(cmd.run("cmd.run", R"(["pwd", "/usr"])"), R"("/usr")", 0);
  for (const std::string_view cwd : {"/nosuch", "usr"}) {
    CHECK(cmd.complaint(format(R"({{"cwd": "{}"}})", cwd)) ==
          format("ERROR: Specified cwd '{}' either not absolute or does not exist", cwd));
  }
  {
    const test::ScopedVariable home("HOME", dir.path());
    check(cmd.run("cmd.run", R"(["pwd"])"), Json::string(dir.path().string()).text(), 0);
  }
  const test::ScopedVariable home("HOME", "/nosuch");
  check(cmd.run("cmd.run", R"(["pwd"])"), R"("/")", 0);
}

TEST_CASE_FIXTURE(WithCmd, "stdin is the standard input, with \\n for line feeds") {
  cmd.returns(R"(["cat"])", "{}", R"("")");
  cmd.returns(R"(["cat"])", R"({"stdin": "a\\nb"})", R"("a\nb")");
  cmd.returns(R"(["cat"])", R"({"stdin": "a\\nb", "stdin_raw_newlines": true})", R"("a\\nb")");
  cmd.returns(R"(["cat"])", R"({"stdin": 5})", R"("5")");
}

TEST_CASE_FIXTURE(WithCmd, "a command inherits the environment, with the C locale and the given variables") {
  ::setenv("REST_FCGI_TEST", "1", 1);
  ::setenv("LC_TIME", "de_DE", 1);
  ::setenv("NOTIFY_SOCKET", "/run/x", 1);
  const auto shows = [this](std::string_view options) {
    return cmd.ret("cmd.run", R"(["echo $REST_FCGI_TEST,$A,$LC_TIME,$LANGUAGE,$NOTIFY_SOCKET"])",
                   format(R"({{"python_shell": true, {}}})", options));
  };
  CHECK(shows(R"("env": null)") == R"("1,,C,C,")");
  CHECK(shows(R"("env": {"A": "x", "LC_TIME": "fr_FR"})") == R"("1,x,fr_FR,C,")");
  CHECK(shows(R"("env": [{"A": 1}, {"REST_FCGI_TEST": null}])") == R"(",1,C,C,")");
  CHECK(shows(R"("env": {"NOTIFY_SOCKET": "y"}, "reset_system_locale": false)") == R"("1,,de_DE,,y")");
  CHECK(shows(R"("clean_env": true, "env": {"A": "x"})") == R"(",x,C,C,")");
  CHECK(cmd.ret("cmd.run", R"(["env"])",
                R"({"clean_env": true, "reset_system_locale": false, "env": {"A": 1}})") == R"("A=1")");
  for (const std::string_view bad : {R"("A=1")", R"(["A=1"])", R"({"A=1": 1})"}) {
    const std::string error = cmd.sentence("cmd.run", R"(["env"])", format(R"({{"env": {}}})", bad));
    CHECK(error.starts_with("ERROR executing 'cmd.run': "));
    CHECK(holds(error, "'A=1'"));
  }
  for (const char* name : {"REST_FCGI_TEST", "LC_TIME", "NOTIFY_SOCKET"}) ::unsetenv(name);
}

TEST_CASE_FIXTURE(WithCmd, "umask is octal and not zero, and shell names another shell") {
  cmd.returns(R"(["umask"])", R"({"python_shell": true})", R"("0022")");
  cmd.returns(R"(["umask"])", R"({"python_shell": true, "umask": "077"})", R"("0077")");
  cmd.returns(R"(["umask"])", R"({"python_shell": true, "umask": 27})", R"("0027")");
  CHECK(cmd.complaint(R"({"umask": "000"})") == "ERROR: Zero umask is not allowed.");
  for (const std::string_view bad : {"8", "1777"}) {
    CHECK(cmd.complaint(format(R"({{"umask": "{}"}})", bad)) == format("ERROR: Invalid umask: '{}'", bad));
  }
  cmd.returns(R"(["echo ${0##*/}"])", R"({"python_shell": true, "shell": "/bin/bash"})", R"("bash")");
  CHECK(cmd.complaint(R"({"shell": "/nosuch"})") == "ERROR: The shell /nosuch is not available");
}

TEST_CASE_FIXTURE(WithCmd, "arguments that are not supported are refused with a reason") {
  for (const std::string_view name : {"template", "use_vt", "bg", "log_callback", "password", "encoded_cmd",
                                      "pillarenv", "output_encoding"}) {
    const std::string error = cmd.complaint(format(R"({{"{}": "x"}})", name));
    CHECK(error.starts_with("ERROR executing 'cmd.run': "));
    CHECK(holds(error, name));
  }
  cmd.returns(
      R"(["echo a"])",
      R"({"use_vt": false, "bg": false, "template": null, "output_encoding": "UTF-8", "saltenv": "base",)"
      R"( "output_loglevel": "quiet"})",
      R"("a")");
}

TEST_CASE_FIXTURE(WithCmd, "output beyond the limit is cut with a note") {
  const std::string text =
      cmd.ret("cmd.run", R"(["head -c 9000000 /dev/zero | tr '\\0' x"])", R"({"python_shell": true})");
  CHECK(text.size() < 8'389'000);
  CHECK(text.ends_with(R"(xx\n[Output truncated: it has more than 8388608 bytes.]")"));
}

TEST_CASE_FIXTURE(WithCmd, "with runas a command has the user's groups, home and login variables") {
  CHECK(cmd.complaint(R"({"runas": "nosuch-user"})") == "ERROR: User 'nosuch-user' is not available");
  CHECK(cmd.complaint(R"({"group": "nosuch-group"})") == "ERROR: Group 'nosuch-group' is not available");
  if (::geteuid() != 0) {
    CHECK(holds(cmd.complaint(R"({"runas": "root"})"), "runas"));
    MESSAGE("skipped: only root may run commands as others");
    return;
  }
  cmd.returns(R"-(["echo $(id -un) $(id -Gn) $USER $LOGNAME $HOME $(pwd)"])-",
              R"({"python_shell": true, "runas": "nobody"})",
              R"("nobody nogroup nobody nobody /nonexistent /")");
  cmd.returns(R"(["id -gn"])", R"({"runas": "nobody", "group": "daemon"})", R"("daemon")");
  cmd.returns(R"-(["echo $(id -un) $(id -gn)"])-", R"({"python_shell": true, "group": "daemon"})",
              R"("root daemon")");
}

TEST_CASE_FIXTURE(WithCmd, "cmd.exec_code runs code from a temporary file") {
  const std::string code = R"-("import sys; print(sys.argv[1:], open(sys.argv[0]).name); sys.exit(4)")-";
  const master::Return outcome = cmd.run("cmd.exec_code", format(R"(["/usr/bin/python3", {}])", code),
                                         R"({"args": ["a b", 1], "cwd": "/"})");
  CHECK(outcome.retcode == 4);
  const std::string text = outcome.ret.text();
  REQUIRE(text.starts_with(R"("['a b', '1'] /tmp/)"));
  const std::string path = text.substr(text.find('/'), text.rfind('"') - text.find('/'));
  CHECK_FALSE(std::filesystem::exists(path));
  if (::geteuid() != 0) return;
  CHECK(cmd.ret("cmd.exec_code", R"(["sh", "id -un"])", R"({"runas": "nobody"})") == R"("nobody")");
}

}  // namespace
}  // namespace rest_fcgi::embedded
