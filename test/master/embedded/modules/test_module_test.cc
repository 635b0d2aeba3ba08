// SPDX-License-Identifier: MIT
#include <chrono>
#include <stop_token>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "../../../support/execution.h"
#include "master/embedded/host/grains.h"
#include "outcome.h"
#include "rest_fcgi/core/version.h"

namespace rest_fcgi::embedded {
namespace {

using test::kException;

TEST_CASE("test.retcode accepts the same texts as Python's int()") {
  test::Execution minion;
  CHECK(minion.run("test.retcode", R"(["7"])").retcode == 7);
  CHECK(minion.run("test.retcode", "[7.9]").retcode == 7);
  CHECK(minion.run("test.retcode", "[true]").retcode == 1);
  CHECK(minion.run("test.retcode", "[99999999999]").retcode == 2147483647);
  CHECK(minion.sentence("test.retcode", R"(["x"])") ==
        kException + "ValueError: invalid literal for int() with base 10: 'x'");
}

TEST_CASE("test.sleep returns true after the time") {
  test::Execution minion;
  CHECK(minion.ret("test.sleep", "[0]") == "true");
  const auto begin = std::chrono::steady_clock::now();
  CHECK(minion.ret("test.sleep", R"(["1"])") == "true");
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::seconds(1));
  CHECK(minion.ret("test.rand_sleep", "[0]") == "true");
}

TEST_CASE("test.sleep and test.rand_sleep refuse a wrong time") {
  test::Execution minion;
  const std::string start = "ERROR executing 'test.sleep': length ";
  for (const std::string_view bad : {"[-1]", R"(["abc"])", "[[1]]"}) {
    CHECK(minion.sentence("test.sleep", bad).starts_with(start));
  }
  CHECK(minion.sentence("test.rand_sleep", "[-1]").starts_with("ERROR executing 'test.rand_sleep': max "));
}

TEST_CASE("test.sleep ends at a stop request") {
  test::Execution minion;
  std::stop_source source;
  std::jthread stopper([&source] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    source.request_stop();
  });
  const master::Return outcome = minion.run("test.sleep", "[9223372036854775807]", "{}", source.get_token());
  CHECK(outcome.ret.text() == R"("Job terminated: it was asked to stop before it ended.")");
  CHECK(outcome.retcode == 1);
  CHECK_FALSE(outcome.success);
}

TEST_CASE("test.assertion raises unless Python takes its argument for true") {
  test::Execution minion;
  for (const std::string_view value : {"[1]", "[\"false\"]", "[[0]]", "[0.5]", "[true]"}) {
    CHECK(minion.ret("test.assertion", value) == "null");
  }
  for (const std::string_view value : {"[0]", "[\"\"]", "[[]]", "[{}]", "[0.0]", "[null]", "[false]"}) {
    CHECK(minion.sentence("test.assertion", value) == kException + "AssertionError");
  }
}

TEST_CASE("no function calls another one by name") {
  const test::Execution minion;
  for (const std::string_view name : {"test.cross_test", "test.try", "test.try_"})
    CHECK(minion.modules().find(name) == nullptr);
}

TEST_CASE("the functions about versions show this program's own") {
  test::Execution minion;
  CHECK(minion.ret("test.version") == Json::string(kSaltVersion).text());
  const std::string start = R"({"rest_fcgi Version": {"rest_fcgi": ")" + std::string(kVersion);
  CHECK(minion.ret("test.versions_information").starts_with(start));
  CHECK(minion.ret("test.versions_report")
            .starts_with(R"("rest_fcgi Version:\n     rest_fcgi: )" + std::string(kVersion)));
  CHECK(minion.ret("test.versions") == minion.ret("test.versions_report"));
}

}  // namespace
}  // namespace rest_fcgi::embedded
