// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "config/reader.h"
#include "rest_fcgi/config/config.h"

namespace rest_fcgi::config {
namespace {

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
