// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "../../../support/execution.h"

namespace rest_fcgi::embedded {
namespace {

TEST_CASE("sys.list_modules lists all modules, or those that are named or match a pattern") {
  test::Execution minion;
  const std::string all = minion.ret("sys.list_modules");
  CHECK(
      all ==
      R"(["beacons", "cmd", "config", "disk", "environ", "file", "grains", "group", "mine", "network", "pillar", )"
      R"("saltutil", "schedule", "status", "sys", "test", "user"])");
  CHECK(minion.ret("sys.list_modules", R"(["test", "sys", "nosuch", "test."])") == R"(["sys", "test"])");
  CHECK(minion.ret("sys.list_modules", R"(["sys.*", "*.fib"])") == R"(["sys", "test"])");
  CHECK(minion.ret("sys.list_modules", R"(["te?t"])") == "[]");
}

TEST_CASE("sys.list_functions lists all functions, or those of modules or that match a pattern") {
  test::Execution minion;
  CHECK(minion.ret("sys.list_functions", R"(["sys"])") ==
        R"(["sys.argspec", "sys.doc", "sys.list_functions", "sys.list_modules"])");
  CHECK(minion.ret("sys.list_functions", R"(["test.pin?", "sys.list_f*", "nosuch", ""])") ==
        R"(["sys.list_functions", "test.ping"])");
  CHECK(minion.ret("sys.list_functions", R"(["test.p*"])", R"({"garbage": 1})") ==
        R"(["test.ping", "test.providers"])");
  CHECK(minion.ret("sys.list_functions").find(R"("grains.equals", )") != std::string::npos);
  CHECK(minion.ret("sys.list_functions").find(R"("test.versions_report", )") != std::string::npos);
}

TEST_CASE("sys.doc returns the documentation of functions, of modules or of all in Salt's layout") {
  test::Execution minion;
  const std::string_view ping =
      R"("test.ping": "\n    Return ``True``: the minion is there. No ICMP is involved.)"
      R"(\n\n    CLI Example:\n\n        salt '*' test.ping\n    ")";
  CHECK(minion.ret("sys.doc", R"(["test.ping"])") == "{" + std::string(ping) + "}");
  CHECK(minion.ret("sys.doc", R"(["test.pi*", "test.ping"])") == "{" + std::string(ping) + "}");
  CHECK(minion.ret("sys.doc", R"(["nosuch", "test.pin?"])") == "{}");
  const std::string grains = minion.ret("sys.doc", R"(["grains"])");
  CHECK(grains.starts_with(R"({"grains.equals": )"));
  CHECK(grains.find("\"sys.doc\": ") == std::string::npos);
  CHECK(minion.ret("sys.doc").find("\"sys.doc\": ") != std::string::npos);
}

TEST_CASE("sys.argspec shows parameters") {
  test::Execution minion;
  CHECK(minion.ret("sys.argspec", R"(["test.arg"])") ==
        R"({"test.arg": {"args": null, "defaults": null, "varargs": true, "kwargs": true}})");
  CHECK(minion.ret("sys.argspec", R"(["file.get_h*"])") ==
        R"({"file.get_hash": {"args": ["path", "form", "chunk_size"], "defaults": ["sha256", 65536], )"
        R"("varargs": null, "kwargs": null}})");
  CHECK(minion.ret("sys.argspec", R"(["sys"])")
            .starts_with(R"({"sys.argspec": {"args": ["module"], "defaults": [""], )"));
  CHECK(minion.ret("sys.argspec") == "{}");
  CHECK(minion.ret("sys.argspec", R"(["nosuch"])") == "{}");
}

}  // namespace
}  // namespace rest_fcgi::embedded
