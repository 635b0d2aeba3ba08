// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/yaml/yaml.h"

using namespace rest_fcgi;

namespace {

std::string written(std::string_view json) {
  JsonDocument document;
  REQUIRE(document.parse(json));
  return yaml::write(document.root());
}

std::string read_back(const std::string& text) {
  const auto node = yaml::read({}, text);
  REQUIRE_MESSAGE(node.ok(), node.error().message);
  return yaml::to_json(*node).text();
}

}  // namespace

TEST_CASE("maps and lists stand in blocks, with their keys sorted and a line feed at the end") {
  CHECK(written(R"({"return": [{"ms-1": true, "ms-0": null}], "a": {"b": 1}})") ==
        "a:\n  b: 1\nreturn:\n  - ms-0: null\n    ms-1: true\n");
  CHECK(written(R"({"none": {}, "empty": []})") == "empty: []\nnone: {}\n");
  CHECK(written("[]") == "[]\n");
  CHECK(written("5") == "5\n");
}

TEST_CASE("text that would be read as something else is in quotes") {
  for (const char* text : {"yes",    "null",       "~",        "",           "12",     "20261122000000000001",
                           "1_000",  "0x1F",       "12:30:45", "2026-11-22", "1e5",    ".5",
                           "+1",     "-",          "- a",      "=",          "<<",     "<< ",
                           "a: b",   "a #b",       "#b",       "*a",         "&a",     "!a",
                           "%a",     "@a",         "`a",       "[a",         "{a",     "a]",
                           "?",      "? a",        ":",        "'",          "\"",     "\\",
                           " a",     "a ",         "\t",       "a\nb",       "a\n",    "\n",
                           "\r\n",   "\u0001",     "\u007f",   "\u0085",     "\u00e4", "\u2028",
                           "\ufeff", "\U0001F600", "...",      "---",        "--- a"}) {
    CAPTURE(text);
    const std::string json = Json::string(text).text();
    CHECK(read_back(written(json)) == json);
    const std::string key = "{" + json + ": [" + json + "]}";
    CHECK(read_back(written(key)) == key);
  }
  CHECK(written(R"(["20261122000000000001", "ms-0", "a b"])") == "- '20261122000000000001'\n- ms-0\n- a b\n");
}

TEST_CASE("numbers come back as they were") {
  for (const char* number : {"0", "-1", "123456789012345678901234567890", "1.0", "-0.5"}) {
    CHECK(written(number) == std::string(number) + "\n");
  }
  CHECK(written("1e+16") == "1.0e+16\n");
  CHECK(written("1.5e-07") == "1.5e-07\n");
}

TEST_CASE("of a key that stands twice the last value counts") {
  CHECK(written(R"({"a": 1, "a": 2})") == "a: 2\n");
}
