// SPDX-License-Identifier: MIT
#include "master/embedded/text.h"

#include <sys/stat.h>

#include <string>

#include <doctest/doctest.h>

#include "../../support/temp_dir.h"

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
  std::string many = "[0";
  for (int i = 0; i < 120'000; ++i) many += ", 0";
  CHECK(own_document(Json::trusted(many + "]")).root().size() == 120'001);
  CHECK(own_document(Json::trusted("[")).root().is(JsonValue::Kind::null));
  CHECK(own_document(Json::trusted("[1]")).root().size() == 1);
}

using Words = std::vector<std::string_view>;

TEST_CASE("a file is read up to a limit") {
  const test::TempDir dir;
  const std::string file = dir.write("f", std::string(100'000, 'x'));
  CHECK(read_text(file)->size() == 100'000);
  CHECK(read_text(file, 70'000)->size() == 70'000);
  CHECK(read_text(file, 0) == "");
}

TEST_CASE("files of /proc are read though they have no size") {
  CHECK(read_text("/proc/version").value_or("").starts_with("Linux"));
}

TEST_CASE("what cannot be read is absent") {
  const test::TempDir dir;
  CHECK_FALSE(read_text(dir / "nosuch"));
  CHECK_FALSE(read_text(dir.path().string()));
}

TEST_CASE("a pipe without a writer is read at once") {
  const test::TempDir dir;
  REQUIRE(::mkfifo((dir / "pipe").c_str(), 0600) == 0);
  CHECK(read_text(dir / "pipe") == "");
}

TEST_CASE("lines come without empty ones, words without blanks") {
  CHECK(lines_of("a\n\nb c\n").size() == 2);
  CHECK(lines_of("").empty());
  CHECK(lines_of("last") == Words{"last"});
  CHECK(split_words(" a\tb\r\n c ") == Words{"a", "b", "c"});
  CHECK(split_words(" \t").empty());
  CHECK(stripped(" \ta b\n") == "a b");
  CHECK(stripped(" \n").empty());
}

TEST_CASE("an entry is what stands around the first colon") {
  const auto entry = entry_of("model name\t: CPU: fast ");
  REQUIRE(entry);
  CHECK(entry->key == "model name");
  CHECK(entry->value == "CPU: fast");
  CHECK_FALSE(entry_of("no colon"));
}

}  // namespace
}  // namespace rest_fcgi::embedded
