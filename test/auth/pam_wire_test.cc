// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/pam_wire.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace rest_fcgi::auth::pam {
TEST_CASE("names with a special meaning to modules are not user names, and a service is a plain file name") {
  using Names = std::vector<std::string>;
  for (const std::string& name :
       Names{"fred", "fred.smith", "DOM\\fred", "fred@example.org", "fr\u00e9d", "_x", "a b"}) {
    CAPTURE(name);
    CHECK(is_username(name));
  }
  for (const std::string& name : Names{"", "-x", "+x", "~x", " x", ".", "..", "a/b", "a:b", "a,b", "a\nb",
                                       "a\x7f", std::string("a\0b", 3), std::string(257, 'x')}) {
    CAPTURE(name);
    CHECK_FALSE(is_username(name));
  }
  for (const char* name : {"login", "common-auth", "a.b_c"}) CHECK(is_service(name));
  for (const std::string& name : Names{"", ".x", "-x", "a/b", "a b", "../login", std::string(65, 'x')})
    CHECK_FALSE(is_service(name));
}

}  // namespace rest_fcgi::auth::pam
