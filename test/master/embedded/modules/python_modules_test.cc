// SPDX-License-Identifier: MIT
#include <signal.h>
#include <sys/stat.h>

#include <doctest/doctest.h>

#include "../../../support/captured_log.h"
#include "../../../support/execution.h"
#include "../../../support/temp_dir.h"

namespace rest_fcgi::embedded {
namespace {

class Shop {
 public:
  explicit Shop(
      const std::string& text = "def fun(a, b=2, **kwargs):\n    \"\"\"Sell.\"\"\"\n    return [a, b]\n") {
    ::signal(SIGPIPE, SIG_IGN);
    (void)dir.write("shop.py", text);
    options.module_dirs = {dir.path()};
  }
  [[nodiscard]] test::Execution minion() const { return test::Execution(R"({"os": "Debian"})", options); }

  test::TempDir dir;
  ModuleOptions options;
};

TEST_CASE("a function of a Python module has its documentation and its parameters") {
  const Shop shop;
  test::Execution minion = shop.minion();
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
  const Shop shop(
      "def fun():\n    try:\n        __salt__.call_native('shop.fun')\n    except KeyError as error:\n"
      "        return str(error)\ndef ping():\n    return __salt__.call_native('test.ping')\n");
  test::Execution minion = shop.minion();
  CHECK(minion.ret("shop.fun") == R"("'shop.fun'")");
  CHECK(minion.ret("shop.ping") == "true");
}

TEST_CASE("a Python module finds the script that wins over its own function") {
  Shop shop("def price():\n    return 'python'\ndef fun():\n    return __salt__['shop.price']()\n");
  const test::TempDir first;
  const std::string script = first.write("shop.price", "#!/bin/sh\necho '\"script\"'\n");
  REQUIRE(::chmod(script.c_str(), 0755) == 0);
  shop.options.module_dirs = {first.path(), shop.dir.path()};
  const test::CapturedLog log;
  test::Execution minion = shop.minion();
  CHECK(log.has("shop.price of " + shop.dir.path().string() + "/shop.py is left out: "));
  CHECK(minion.ret("shop.price") == R"("script")");
  CHECK(minion.ret("shop.fun") == R"("script")");
}

TEST_CASE("large and deep values are returned") {
  const Shop shop(
      "def fun(n):\n    return list(range(n))\ndef deep(n):\n    return [deep(n - 1)] if n else []\n");
  test::Execution minion = shop.minion();
  CHECK(minion.ret("shop.fun", "[200000]").ends_with(", 199998, 199999]"));
  CHECK(minion.ret("shop.deep", "[150]").starts_with("[[[["));
}

TEST_CASE("without Python native functions work, and others say why they are not available") {
  Shop shop;
  shop.options.python = "no_such_python3";
  const test::CapturedLog log;
  test::Execution minion = shop.minion();
  CHECK(log.has("shop.py is left out: Python modules need no_such_python3, which cannot be started: "));
  CHECK(minion.ret("test.ping") == "true");
  CHECK(minion.sentence("shop.fun")
            .starts_with("'shop' __virtual__ returned False: Python modules need no_such_python3"));
  CHECK(minion.sentence("disk.usage")
            .starts_with("'disk.usage' is not available: Python modules need no_such_python3"));
  CHECK(minion.ret("sys.list_modules").find("disk") == std::string::npos);
}

TEST_CASE("a program that is no Python is a configuration error, one that cannot start is a warning") {
  Shop shop;
  shop.options.python_key = "master:3: rest_fcgi: embedded: python";
  for (const char* program : {"/bin/true", "/bin/false", "/bin/cat"}) {
    shop.options.python = program;
    const auto modules = Modules::make(shop.options);
    REQUIRE_FALSE(modules);
    CHECK(modules.error().kind == ErrorKind::configuration);
    CHECK(modules.error().message.starts_with(shop.options.python_key + ": found " + program +
                                              ", expected a Python 3.9 or newer: "));
  }
  shop.options.python = "/nosuch/python";
  const test::CapturedLog log;
  CHECK(Modules::make(shop.options).ok());
  CHECK(log.has(shop.options.python_key + ": Python modules need /nosuch/python, which cannot be started: "));
}

}  // namespace
}  // namespace rest_fcgi::embedded
