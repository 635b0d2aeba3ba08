// SPDX-License-Identifier: MIT
#include <chrono>
#include <stop_token>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "../../../support/execution.h"
#include "master/embedded/host/grains.h"
#include "rest_fcgi/core/version.h"

namespace rest_fcgi::embedded {
namespace {

TEST_CASE("test.sleep and test.rand_sleep return true, and refuse a wrong time") {
  test::Execution minion;
  CHECK(minion.ret("test.sleep", R"(["0"])") == "true");
  CHECK(minion.ret("test.rand_sleep", "[0]") == "true");
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
