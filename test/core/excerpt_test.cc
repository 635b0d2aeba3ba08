// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/excerpt.h"

#include <string>

#include <doctest/doctest.h>

using namespace rest_fcgi;

TEST_CASE("an excerpt cuts long text and adds three dots") {
  CHECK(excerpt("", 3) == "");
  CHECK(excerpt("abc", 3) == "abc");
  CHECK(excerpt("abcd", 3) == "abc...");
}

TEST_CASE("an excerpt ends between characters") {
  CHECK(excerpt("a\u00e4b", 2) == "a...");
  CHECK(excerpt("a\u20acb", 3) == "a...");
  CHECK(excerpt("a\u20acb", 4) == "a\u20ac...");
  CHECK(excerpt("\x80\x80\x80\x80", 2) == "...");
}

TEST_CASE("quoted text is cut at 64 bytes") {
  CHECK(quoted_excerpt("a") == "'a'");
  CHECK(rest_fcgi::quoted_excerpt(std::string(64, 'x')) == "'" + std::string(64, 'x') + "'");
  CHECK(rest_fcgi::quoted_excerpt(std::string(65, 'x')) == "'" + std::string(64, 'x') + "...'");
}
