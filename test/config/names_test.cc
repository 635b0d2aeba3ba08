// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "config/reader.h"

namespace rest_fcgi::config {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("near_names returns at most three names, the closest first") {
  CHECK(near_names("timeout", {"timeoot", "timeout", "tineoot", "timeouts"}) ==
        Names{"timeout", "timeoot", "timeouts"});
  CHECK(near_names("max_nestign", {"max_nesting", "max_chunks", "listen"}) == Names{"max_nesting"});
  CHECK(near_names("zebra", {"listen", "engine"}).empty());
  CHECK(near_names("", {"listen"}).empty());
  CHECK(near_names("ab", {"abc", "abcd"}) == Names{"abc"});
}

}  // namespace
}  // namespace rest_fcgi::config
