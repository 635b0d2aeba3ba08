// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "targets.h"

namespace {

std::size_t replay(const rest_fcgi::fuzz::Target& target, const std::filesystem::path& folder) {
  std::size_t inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / target.name)) {
    CAPTURE(entry.path());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string input(std::istreambuf_iterator<char>(file), {});
    CHECK_NOTHROW(target.run(input));
    ++inputs;
  }
  return inputs;
}

}  // namespace

/// REST_FCGI_FUZZ_CORPUS can name a second folder of inputs, which `make fuzz` has found.
TEST_CASE("all inputs in the seed folders pass the fuzz targets") {
  const rest_fcgi::test::CapturedLog log;
  const char* corpus = std::getenv("REST_FCGI_FUZZ_CORPUS");
  for (const auto& target : rest_fcgi::fuzz::kTargets) {
    SUBCASE(std::string(target.name).c_str()) {
      CHECK(replay(target, "test/fuzz/seeds") != 0);
      if (corpus != nullptr) replay(target, corpus);
    }
  }
}
