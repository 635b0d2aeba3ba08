// SPDX-License-Identifier: MIT
#include "master/embedded/modules/module_files.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <doctest/doctest.h>

#include "../../../support/captured_log.h"
#include "../../../support/execution.h"
#include "../../../support/holds.h"
#include "../../../support/temp_dir.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

namespace fs = std::filesystem;
using test::check;
using test::holds;

class Scripts {
 public:
  /// If `python` is not empty, the folder has the Python module `shop` with this text.
  explicit Scripts(const std::string& python = "") {
    ::signal(SIGPIPE, SIG_IGN);
    options.module_dirs = {dir.path()};
    if (!python.empty()) (void)dir.write("shop.py", python);
  }

  Scripts& with(const std::string& name, const std::string& text, int mode = 0755) {
    const std::string path = dir.write(name, "#!/bin/sh\n" + text + "\n");
    REQUIRE(::chmod(path.c_str(), static_cast<mode_t>(mode)) == 0);
    return *this;
  }

  [[nodiscard]] test::Execution load() const { return test::Execution(R"({"os": "Debian"})", options); }
  master::Return run(std::string_view args = "[]", std::string_view kwargs = "{}") const {
    return load().run("my.fun", args, kwargs);
  }
  [[nodiscard]] Error refusal() const {
    const auto modules = Modules::make(options);
    REQUIRE_FALSE(modules);
    CHECK(modules.error().kind == ErrorKind::configuration);
    return modules.error();
  }

  test::TempDir dir;
  ModuleOptions options;
};

TEST_CASE_FIXTURE(Scripts, "a script reads its call as a JSON object, and returns the JSON that it prints") {
  check(with("my.fun", "echo '{\"a\":[1,2.50,null]}'").run(), R"({"a": [1, 2.5, null]})", 0);
  check(with("my.fun", "printf ' \"x\" \\n'").run(), R"("x")", 0);
  check(with("my.fun", ":").run(), "null", 0);
  check(with("my.fun", "echo '{\"result\": false}'").run(), R"({"result": false})", 1);
  with("my.fun", "cat");
  check(run(R"(["a", 1, "b=[x]"])", R"({"c": {"d": null}})"),
        R"({"id": "ms-0", "fun": "my.fun", "arg": ["a", 1], "kwarg": {"b": ["x"], "c": {"d": null}}, )"
        R"("jid": "20260101000000000001", "grains": {"os": "Debian"}, "pillar": null})",
        0);
}

TEST_CASE_FIXTURE(Scripts,
                  "a script fails that exits with another status, prints no JSON or takes too long") {
  check(with("my.fun", "echo 1; echo 'no\nluck' >&2; exit 3").run(),
        R"("The script my.fun ended with exit status 3: no\nluck")", 3);
  check(with("my.fun", "exit 255").run(), R"("The script my.fun ended with exit status 255.")", 255);
  check(with("my.fun", "kill -9 $$").run(), R"("The script my.fun was ended by signal 9.")", -9);
  const master::Return much = with("my.fun", "seq 10000 >&2; exit 1").run();
  CHECK(much.ret.text().ends_with(R"(\n9999\n10000")"));
  CHECK(much.ret.text().size() < 6000);
  for (const char* command : {"echo hello", "echo 1 2"}) {
    const master::Return bad = with("my.fun", command).run();
    CHECK(bad.ret.text().starts_with(R"("The script my.fun printed text that is not JSON: )"));
    CHECK(bad.retcode == 1);
  }
  check(with("my.fun", "head -c 9000000 /dev/zero | tr '\\0' 1").run(),
        R"("The script my.fun printed more than 8388608 bytes.")", 1);
  options.script_timeout = std::chrono::milliseconds(200);
  check(with("my.fun", "sleep 1000").run(),
        R"("The script my.fun took longer than 0.2 seconds and was ended.")", 1);
}

TEST_CASE_FIXTURE(Scripts, "values that JSON has no form for are replaced in a script's output") {
  const auto check_output = [this](const std::string& output, std::string_view expected) {
    CAPTURE(output);
    check(with("my.fun", "cat <<'END'\n" + output + "\nEND").run(), expected, 0);
  };
  check_output("NaN", "null");
  check_output(R"({"a": [1, NaN, {"b": -Infinity}], "c": "NaN\"Infinity", "d": [inf,-nan,+Infinity]})",
               R"({"a": [1, null, {"b": null}], "c": "NaN\"Infinity", "d": [null, null, null]})");
  check_output(R"({"a": 1e999, "b": 1e-999, "c": true, "d": NaN})",
               R"({"a": null, "b": 0.0, "c": true, "d": null})");
  check_output(R"({"name": "\udcff\ud83e\udd84", "\ud800": "\\ud800"})",
               "{\"name\": \"\xEF\xBF\xBD\xF0\x9F\xA6\x84\", \"\xEF\xBF\xBD\": \"\\\\ud800\"}");
  check_output("{\"name\": \"a\377b\", \"size\": 1}",
               "{\"name\": \"a\xEF\xBF\xBD"
               "b\", \"size\": 1}");
}

TEST_CASE_FIXTURE(Scripts, "a script runs in / as script_user with few variables") {
  with("my.fun",
       "names=$(env | grep -v '^_=' | cut -d= -f1 | sort | tr '\\n' ' ')\n"
       "printf '\"%s%s\"' \"$names\" \"$(pwd)\"");
  CHECK(run().ret.text() == R"("HOME LANG LOGNAME PATH PWD SHELL USER /")");
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root may run scripts as others");
    return;
  }
  fs::permissions(dir.path(), fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
  options.script_user = "nobody";
  with("my.fun", "printf '\"%s %s %s\"' \"$(id -un)\" \"$(id -Gn)\" \"$HOME\"");
  CHECK(run().ret.text() == R"("nobody nogroup /nonexistent")");
}

TEST_CASE_FIXTURE(Scripts, "sys shows scripts with their leading comment") {
  with("my.fun", "\n# Restart the shop.\n#\n#   my.fun NAME\n\n# no part of it\necho 1")
      .with("my.other", "echo 2");
  test::Execution minion = load();
  CHECK(minion.ret("sys.list_functions", R"(["my"])") == R"(["my.fun", "my.other"])");
  CHECK(minion.ret("sys.list_modules", R"(["my"])") == R"(["my"])");
  CHECK(minion.ret("sys.doc", R"(["my"])") ==
        R"({"my.fun": "Restart the shop.\n\n  my.fun NAME", "my.other": ""})");
  CHECK(minion.ret("sys.argspec", R"(["my.fun"])") ==
        R"({"my.fun": {"args": null, "defaults": null, "varargs": true, "kwargs": true}})");
  CHECK_FALSE(minion.modules().is_quick("my.fun"));
}

TEST_CASE_FIXTURE(Scripts, "files with a wrong name or mode are left out with a warning") {
  with("README.md", "no").with("data", "no", 0644).with("My.fun", "no").with("a.b.c", "no");
  with("fun", "no").with("x.y~", "no").with("x.y", "no", 0644).with("my.fun", "echo 1");
  fs::create_directory(dir.path() / "dir.dir");
  fs::create_symlink("/nosuch", dir.path() / "dead.link");
  const test::CapturedLog log;
  test::Execution minion = load();
  CHECK(minion.ret("my.fun") == "1");
  for (const char* name : {"x.y", "fun", "dir.dir", "dead.link", "a.b.c"}) {
    CHECK(minion.modules().find(name) == nullptr);
  }
  for (const char* name : {"/My.fun", "/x.y~", "/x.y"}) CHECK(log.has(std::string(name) + " is left out: "));
  CHECK_FALSE(log.has("/data"));
  CHECK_FALSE(log.has("dir.dir"));
}

TEST_CASE_FIXTURE(Scripts, "files that other users can write are left out with a warning") {
  with("my.fun", "echo 1").with("my.open", "echo 2", 0757).with("my.shared", "echo 3", 0775);
  const test::CapturedLog log;
  test::Execution minion = load();
  CHECK(minion.ret("my.fun") == "1");
  CHECK(minion.modules().find("my.open") == nullptr);
  CHECK(minion.modules().find("my.shared") == nullptr);
  CHECK(log.has("/my.open is left out: "));
  CHECK(log.has("/my.shared can be changed by users other than root"));
  REQUIRE(::chmod(dir.path().c_str(), 0777) == 0);
  CHECK(load().modules().find("my.fun") == nullptr);
  CHECK(log.has(dir.path().string() + " is left out: "));
}

TEST_CASE_FIXTURE(Scripts, "the target of a symbolic link is checked") {
  const test::TempDir elsewhere;
  fs::permissions(elsewhere.write("tool", "#!/bin/sh\necho 1\n"), fs::perms::owner_all);
  fs::create_symlink(elsewhere / "tool", dir.path() / "my.fun");
  CHECK(load().ret("my.fun") == "1");
  REQUIRE(::chmod((elsewhere / "tool").c_str(), 0777) == 0);
  CHECK(load().modules().find("my.fun") == nullptr);
}

TEST_CASE_FIXTURE(Scripts, "a script wins over a native function, and the first folder over the next") {
  const test::TempDir second;
  with("test.ping", "echo 5").with("test.extra", "echo 6").with("my.fun", "echo 1");
  fs::permissions(second.write("my.fun", "#!/bin/sh\necho 2\n"), fs::perms::owner_all);
  options.module_dirs.push_back(second.path());
  const test::CapturedLog log;
  test::Execution minion = load();
  CHECK(minion.ret("test.ping") == "5");
  CHECK(minion.ret("test.extra") == "6");
  CHECK(minion.ret("my.fun") == "1");
  CHECK(log.has("my.fun of " + second / "my.fun" + " is left out: "));
}

TEST_CASE_FIXTURE(Scripts, "a missing folder and an unknown user are configuration errors") {
  options.module_dirs = {"/nosuch/modules"};
  CHECK(holds(refusal().message, "module_dirs: /nosuch/modules: No such file"));
  options.module_dirs.clear();
  options.script_user = "nosuch-user";
  CHECK(holds(refusal().message, "script_user: unknown user nosuch-user"));
}

TEST_CASE("a function of a Python module has its documentation and its parameters") {
  const Scripts shop("def fun(a, b=2, **kwargs):\n    \"\"\"Sell.\"\"\"\n    return [a, b]\n");
  test::Execution minion = shop.load();
  CHECK(minion.ret("shop.fun", "[1]") == "[1, 2]");
  CHECK(minion.ret("shop.fun", R"(["a=x"])", R"({"b": null})") == R"(["x", null])");
  CHECK(minion.ret("sys.list_functions", R"(["shop"])") == R"(["shop.fun"])");
  CHECK(minion.ret("sys.doc", R"(["shop"])") == R"({"shop.fun": "Sell."})");
  CHECK(minion.ret("sys.argspec", R"(["shop.fun"])") ==
        R"({"shop.fun": {"args": ["a", "b"], "defaults": [2], "varargs": null, "kwargs": true}})");
  CHECK_FALSE(minion.modules().is_quick("shop.fun"));
  CHECK(minion.ret("shop.f").find(R"("shop.f": "'shop.f' is not available.")") != std::string::npos);
}

TEST_CASE("a Python module cannot have the server call Python functions") {
  const Scripts shop(
      "def fun():\n    try:\n        __salt__.call_native('shop.fun')\n    except KeyError as error:\n"
      "        return str(error)\ndef ping():\n    return __salt__.call_native('test.ping')\n");
  test::Execution minion = shop.load();
  CHECK(minion.ret("shop.fun") == R"("'shop.fun'")");
  CHECK(minion.ret("shop.ping") == "true");
}

TEST_CASE("a Python module finds the script that wins over its own function") {
  Scripts shop("def price():\n    return 'python'\ndef fun():\n    return __salt__['shop.price']()\n");
  const test::TempDir first;
  const std::string script = first.write("shop.price", "#!/bin/sh\necho '\"script\"'\n");
  REQUIRE(::chmod(script.c_str(), 0755) == 0);
  shop.options.module_dirs = {first.path(), shop.dir.path()};
  const test::CapturedLog log;
  test::Execution minion = shop.load();
  CHECK(log.has("shop.price of " + shop.dir.path().string() + "/shop.py is left out: "));
  CHECK(minion.ret("shop.price") == R"("script")");
  CHECK(minion.ret("shop.fun") == R"("script")");
}

TEST_CASE("large and deep values are returned") {
  const Scripts shop(
      "def fun(n):\n    return list(range(n))\ndef deep(n):\n    return [deep(n - 1)] if n else []\n");
  test::Execution minion = shop.load();
  CHECK(minion.ret("shop.fun", "[200000]").ends_with(", 199998, 199999]"));
  CHECK(minion.ret("shop.deep", "[150]").starts_with("[[[["));
}

TEST_CASE("without Python native functions work, and others say why they are not available") {
  Scripts shop("def fun(): pass\n");
  shop.options.python = "no_such_python3";
  const test::CapturedLog log;
  test::Execution minion = shop.load();
  CHECK(log.has("shop.py is left out: Python modules need no_such_python3, which cannot be started: "));
  CHECK(minion.ret("test.ping") == "true");
  CHECK(minion.sentence("shop.fun")
            .starts_with("'shop' __virtual__ returned False: Python modules need no_such_python3"));
  CHECK(minion.sentence("disk.usage")
            .starts_with("'disk.usage' is not available: Python modules need no_such_python3"));
  CHECK(minion.ret("sys.list_modules").find("disk") == std::string::npos);
}

TEST_CASE("a Python that does not work is a configuration error, a helper that does not start a warning") {
  Scripts shop("def fun(): pass\n");
  shop.options.python_key = "master:3: rest_fcgi: embedded: python";
  const std::string garbage = shop.dir.write("garbage",
                                             "\x7f"
                                             "ELF");
  REQUIRE(::chmod(garbage.c_str(), 0755) == 0);
  for (const std::string& program : {std::string("/bin/true"), std::string("/bin/false"),
                                     std::string("/bin/cat"), std::string("/nosuch/python"), garbage}) {
    shop.options.python = program;
    const std::string start =
        shop.options.python_key + ": found " + program + ", expected a Python 3.9 or newer: ";
    CHECK(shop.refusal().message.starts_with(start));
  }
  shop.options.python = "/usr/bin/python3";
  shop.options.run_helper = "/nosuch/run";
  const test::CapturedLog log;
  CHECK(Modules::make(shop.options).ok());
  CHECK(
      log.has(shop.options.python_key + ": Python modules need /usr/bin/python3, which cannot be started: "));
}

}  // namespace

}  // namespace rest_fcgi::embedded
