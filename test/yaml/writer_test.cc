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
  const auto read = yaml::transcribe(text);
  REQUIRE_MESSAGE(read.ok(), read.error().message);
  return read->json.text();
}

}  // namespace

TEST_CASE("write uses blocks with sorted keys, and numbers are written unchanged") {
  CHECK(written(R"({"return": [{"ms-1": true, "ms-0": null}], "a": {"b": 1}})") ==
        "a:\n  b: 1\nreturn:\n- ms-0: null\n  ms-1: true\n");
  CHECK(written(R"({"none": {}, "empty": []})") == "empty: []\nnone: {}\n");
  CHECK(written("[]") == "[]\n");
  CHECK(written("5") == "5\n");
  CHECK(written(R"([[1, [2]], {"a": [[]]}])") == "- - 1\n  - - 2\n- a:\n  - []\n");
  for (const char* number : {"0", "-1", "123456789012345678901234567890", "1.0", "-0.5"}) {
    CHECK(written(number) == std::string(number) + "\n");
  }
  CHECK(written("1e+16") == "1.0e+16\n");
  CHECK(written("1.5e-07") == "1.5e-07\n");
}

TEST_CASE("text that looks like another type is quoted") {
  for (const char* text : {"yes",        "null",   "~",        "",           "12",     "20261122000000000001",
                           "1_000",      "0x1F",   "12:30:45", "2026-11-22", "1e5",    ".5",
                           "+1",         "-",      "- a",      "=",          "<<",     "<< ",
                           "a: b",       "a #b",   "#b",       "*a",         "&a",     "!a",
                           "%a",         "@a",     "`a",       "[a",         "{a",     "a]",
                           "?",          "? a",    ":",        "'",          "\"",     "\\",
                           " a",         "a ",     "\t",       "a\nb",       "a\n",    "\n",
                           "\r\n",       "\u0001", "\u007f",   "\u00e4",     "\u2028", "\ufeff",
                           "\U0001F600", "...",    "---",      "--- a"}) {
    CAPTURE(text);
    const std::string json = Json::string(text).text();
    CHECK(read_back(written(json)) == json);
    const std::string key = "{" + json + ": [" + json + "]}";
    CHECK(read_back(written(key)) == key);
  }
  CHECK(written(R"(["20261122000000000001", "ms-0", "a b"])") == "- '20261122000000000001'\n- ms-0\n- a b\n");
}

TEST_CASE("text is written in the style of PyYAML's CSafeDumper") {
  const auto text = [](std::string_view value) {
    return written("[" + Json::string(value).text() + "]").substr(2);
  };
  for (const char* plain :
       {"1ab", "0bce", "1e5", "-a", "a:b", "a b", "it's", "a]", "y", "12:30:70", "\u00e9"}) {
    CHECK(text(plain) == std::string(plain) + "\n");
  }
  for (const char* quoted : {"", "yes", "12", "1.0", "2026-11-22", "1:20", "=", "<<", "- a", "a: b", "a #b",
                             " a", "a ", "---", "[a", "@a", "~"}) {
    CHECK(text(quoted) == "'" + std::string(quoted) + "'\n");
  }
  CHECK(text("'") == "''''\n");
  CHECK(text("a\nb\n") == "'a\n\n  b\n\n  '\n");
  CHECK(text("\t") == "\"\\t\"\n");
  CHECK(text("a \nb") == "\"a \\nb\"\n");
  CHECK(text("\U0001F600\x01") == "\"\\U0001F600\\x01\"\n");
}

TEST_CASE("long text is folded as by PyYAML's CSafeDumper") {
  std::string words;
  for (int i = 0; i < 20; ++i) words += "words ";
  words += "end";
  CHECK(written(R"({"a": ")" + words + R"("})") ==
        "a: " + words.substr(0, 83) + "\n  " + words.substr(84) + "\n");
  const std::string key(129, 'k');
  CHECK(written("{\"" + key + "\": [1]}") == "? " + key + "\n: - 1\n");
  CHECK(written("{\"" + key.substr(1) + "\": [1]}") == key.substr(1) + ":\n- 1\n");
  CHECK(written(R"({"": 1, "a\nb": {"c": 2}})") == "'': 1\n? 'a\n\n  b'\n: c: 2\n");
}
