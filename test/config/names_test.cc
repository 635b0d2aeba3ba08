// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "config/reader.h"
#include "rest_fcgi/config/config.h"

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

TEST_CASE("idle_rule_line suggests the most similar name") {
  const auto line = [](const std::string& text) {
    return idle_rule_line("master:3: alice", text, "no such function",
                          {"test.ping", "test.*", "grains.items"});
  };
  const std::string beginning = "note:     master:3: alice: ";
  CHECK(line("test.pnig") == beginning + "\"test.pnig\": no such function; did you mean 'test.ping'?\n");
  CHECK(line("tset.*") == beginning + "\"tset.*\": no such function; did you mean 'test.*'?\n");
  CHECK(line("pkg.install") == beginning + "\"pkg.install\": no such function\n");
}

}  // namespace
}  // namespace rest_fcgi::config
