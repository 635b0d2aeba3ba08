// SPDX-License-Identifier: MIT
#include "master/embedded/json_text.h"

#include <string>

#include <doctest/doctest.h>

namespace rest_fcgi::embedded {
namespace {

std::string merged(std::string_view base, std::string_view over, bool lists) {
  JsonDocument below;
  JsonDocument above;
  REQUIRE(below.parse(base));
  REQUIRE(above.parse(over));
  std::string text;
  JsonWriter writer(text);
  write_merged(writer, below.root(), above.root(), lists);
  return text;
}

TEST_CASE("maps are laid over each other, and lists replaced or joined") {
  CHECK(merged(R"({"a": {"x": [1, 2], "y": 1}, "b": 1})", R"({"a": {"x": [2, 3]}, "c": null})", false) ==
        R"({"a": {"x": [2, 3], "y": 1}, "b": 1, "c": null})");
  CHECK(merged(R"({"a": {"x": [1, 2]}, "b": [1]})", R"({"a": {"x": [2, 3]}, "b": 2})", true) ==
        R"({"a": {"x": [1, 2, 3]}, "b": 2})");
}

TEST_CASE("what was written is read without limits") {
  JsonDocument document;
  std::string many = "[0";
  for (int i = 0; i < 120'000; ++i) many += ", 0";
  CHECK(read_own(document, many + "]"));
  CHECK_FALSE(read_own(document, "["));
  CHECK(own_document(Json::trusted("[1]")).root().size() == 1);
}

}  // namespace
}  // namespace rest_fcgi::embedded
