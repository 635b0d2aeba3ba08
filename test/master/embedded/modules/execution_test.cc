// SPDX-License-Identifier: MIT
#include "../../../support/execution.h"

#include <doctest/doctest.h>

#include "master/embedded/modules/loader.h"

namespace rest_fcgi::embedded {
namespace {

void check(const master::Return& outcome, std::string_view ret, int retcode, bool success,
           std::string_view out) {
  CHECK(outcome.ret.text() == ret);
  CHECK(outcome.retcode == retcode);
  CHECK(outcome.success == success);
  CHECK(outcome.out == out);
}

TEST_CASE("a return code other than 0, and an object whose result or success is false, are failures") {
  test::Execution minion;
  check(minion.run("test.false"), "false", 0, true, "");
  check(minion.run("test.retcode"), "true", 42, false, "");
  check(minion.run("test.retcode", "[0]"), "true", 0, true, "");
  check(minion.run("test.echo", R"([{"result": false}])"), R"({"result": false})", 1, false, "");
  check(minion.run("test.echo", R"([{"result": true, "success": 0}])"), R"({"result": true, "success": 0})",
        1, false, "");
  check(minion.run("test.echo", R"([{"result": true}])"), R"({"result": true})", 0, true, "");
  check(minion.run("test.echo", R"([{"a": {"result": false}}])"), R"({"a": {"result": false}})", 0, true, "");
  check(minion.run("test.echo", R"([["result"]])"), R"(["result"])", 0, true, "");
}

TEST_CASE("a function that does not exist is not available") {
  test::Execution minion;
  check(minion.run("nosuch.fun"), R"("'nosuch.fun' is not available.")", 1, false, "nested");
  check(minion.run("test.true_"), R"("'test.true_' is not available.")", 1, false, "nested");
}

TEST_CASE("an incomplete name returns the documentation of the functions that it begins") {
  test::Execution minion;
  const master::Return outcome = minion.run("grains.l");
  check(
      outcome,
      R"({"grains.ls": "\n    Return the names of all grains.\n\n    CLI Example:\n\n        salt '*' grains.ls\n    ", )"
      R"("grains.l": "'grains.l' is not available."})",
      1, false, "nested");
}

TEST_CASE("a return has its function's outputter") {
  test::Execution minion(R"({"os": "Debian"})");
  check(minion.run("grains.items"), R"({"os": "Debian"})", 0, true, "nested");
  check(minion.run("grains.item", R"(["os"])"), R"({"os": "Debian"})", 0, true, "nested");
  check(minion.run("grains.get", R"(["os"])"), R"("Debian")", 0, true, "");
}

TEST_CASE("functions that sleep or run a program are not quick") {
  const test::Execution minion;
  for (const std::string_view name : {"test.sleep", "test.rand_sleep", "sys.doc", "disk.usage"}) {
    CAPTURE(name);
    CHECK(minion.modules().find(name) != nullptr);
    CHECK_FALSE(minion.modules().is_quick(name));
  }
  for (const std::string_view name :
       {"test.ping", "test.version", "config.get", "pillar.items", "grains.items"}) {
    CAPTURE(name);
    CHECK(minion.modules().find(name) != nullptr);
    CHECK(minion.modules().is_quick(name));
  }
  CHECK(minion.modules().find("nosuch.fun") == nullptr);
  CHECK(minion.modules().is_quick("nosuch.fun"));
}

}  // namespace
}  // namespace rest_fcgi::embedded
