// SPDX-License-Identifier: MIT
#include "master/embedded/text.h"

#include <sys/stat.h>

#include <string>

#include <doctest/doctest.h>

#include "../../support/temp_dir.h"

namespace rest_fcgi::embedded {
namespace {

std::string merged(std::string_view base, std::string_view over, bool merge_lists) {
  const JsonDocument below = own_document(Json::trusted(std::string(base)));
  const JsonDocument above = own_document(Json::trusted(std::string(over)));
  return written_json(
             [&](JsonWriter& writer) { write_merged(writer, below.root(), above.root(), merge_lists); })
      .text();
}

TEST_CASE("write_merged merges maps at all levels, and replaces or joins lists") {
  CHECK(merged(R"({"a": {"x": [1, 2], "y": 1}, "b": 1})", R"({"a": {"x": [2, 3]}, "c": null})", false) ==
        R"({"a": {"x": [2, 3], "y": 1}, "b": 1, "c": null})");
  CHECK(merged(R"({"a": {"x": [1, 2]}, "b": [1]})", R"({"a": {"x": [2, 3]}, "b": 2})", true) ==
        R"({"a": {"x": [1, 2, 3]}, "b": 2})");
}

TEST_CASE("read_text reads files up to a limit, and does not wait for a pipe") {
  const test::TempDir dir;
  const std::string file = dir.write("f", std::string(100'000, 'x'));
  CHECK(read_text(file)->size() == 100'000);
  CHECK(read_text(file, 70'000)->size() == 70'000);
  CHECK(read_text("/proc/version").value_or("").starts_with("Linux"));
  CHECK_FALSE(read_text(dir / "nosuch"));
  CHECK_FALSE(read_text(dir.path().string()));
  REQUIRE(::mkfifo((dir / "pipe").c_str(), 0600) == 0);
  CHECK(read_text(dir / "pipe") == "");
}

TEST_CASE("lines_of leaves out empty lines, and key_and_value splits at the first colon") {
  CHECK(lines_of("a\n\nb c\n").size() == 2);
  CHECK(lines_of("").empty());
  const auto [key, value] = key_and_value("model name\t: CPU: fast ");
  CHECK(key == "model name");
  CHECK(value == "CPU: fast");
  CHECK(key_and_value("no colon").first.empty());
}

}  // namespace
}  // namespace rest_fcgi::embedded
