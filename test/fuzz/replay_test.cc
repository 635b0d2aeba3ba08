// SPDX-License-Identifier: MIT
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "targets.h"

TEST_CASE("what fuzzers began with, and what they found, breaks nothing") {
  const rest_fcgi::test::CapturedLog log;
  for (const auto& target : rest_fcgi::fuzz::kTargets) {
    std::size_t inputs = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator("test/fuzz/seeds/" + std::string(target.name))) {
      CAPTURE(entry.path());
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string input(std::istreambuf_iterator<char>(file), {});
      CHECK_NOTHROW(target.run(input));
      ++inputs;
    }
    CHECK(inputs != 0);
  }
}
