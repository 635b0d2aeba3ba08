// SPDX-License-Identifier: MIT
#include "rest_fcgi/http/url.h"

#include <doctest/doctest.h>

using namespace rest_fcgi::http;

namespace {

std::string path(const std::string& script_name, const std::string& path_info, const std::string& uri) {
  Environ environ;
  environ.set("SCRIPT_NAME", script_name);
  environ.set("PATH_INFO", path_info);
  environ.set("REQUEST_URI", uri);
  const Path found = path_of(environ);
  return found.above + " " + found.below;
}

}  // namespace

TEST_CASE("path_of uses PATH_INFO, otherwise the decoded URL") {
  CHECK(path("/salt", "/a%2Fb", "/other") == "/salt /a%2Fb");
  CHECK(path("/salt", "", "/a%2Fb%20c?x=%20") == " /a/b c");
  CHECK(path("", "", "") == " /");
  CHECK(path("", "", "?x=1") == " ");
}

TEST_CASE("percent_byte decodes %XX") {
  CHECK(percent_byte("%41") == 'A');
  CHECK(percent_byte("%fFx") == '\xff');
  for (const char* const none : {"", "%", "%4", "%4g", "%g4", "%-1", "A41", "% 4"}) {
    CHECK_MESSAGE(!percent_byte(none), none);
  }
}

TEST_CASE("percent_decoded keeps malformed escapes and converts plus signs on request") {
  CHECK(percent_decoded("a+%2B%zz%4") == "a++%zz%4");
  CHECK(percent_decoded("a+%2B%zz%4", Plus::blank) == "a +%zz%4");
  CHECK(percent_decoded("%00%c3%a4") == std::string("\0\xc3\xa4", 3));
}
