// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "../../../support/execution.h"

namespace rest_fcgi::embedded {
namespace {

test::Execution minion_with_settings() {
  test::Execution made(R"({"os": "Debian", "both": "grain", "map": {"g": 1, "x": 1}, "id": "grain"})");
  made.set_pillar(R"({"both": "pillar", "map": {"p": 2, "x": 2}, "list": [1], "own": "p", )"
                  R"("master": {"list": [2], "map": {"m": 3}, "far": "m", "status.x": 1}})");
  return made;
}

TEST_CASE("config.get searches options, grains, pillar and the pillar's master in this order") {
  test::Execution m = minion_with_settings();
  CHECK(m.ret("config.get", R"(["id"])") == R"("ms-0")");
  CHECK(m.ret("config.get", R"(["both"])") == R"("grain")");
  CHECK(m.ret("config.get", R"(["both"])", R"({"omit_grains": true})") == R"("pillar")");
  CHECK(m.ret("config.get", R"(["own"])", R"({"omit_pillar": true})") == R"("")");
  CHECK(m.ret("config.get", R"(["far"])") == R"("m")");
  CHECK(m.ret("config.get", R"(["far", "none"])", R"({"omit_master": true})") == R"("none")");
  CHECK(m.ret("config.get", R"(["id"])", R"({"omit_opts": true})") == R"("grain")");
  CHECK(m.ret("config.get", R"(["map|x"])", R"({"delimiter": "|"})") == "1");
}

TEST_CASE("config.get merges all that it searches with the argument merge") {
  test::Execution m = minion_with_settings();
  CHECK(m.ret("config.get", R"(["map"])", R"({"merge": "recurse"})") ==
        R"({"m": 3, "p": 2, "x": 1, "g": 1})");
  CHECK(m.ret("config.get", R"(["map"])", R"({"merge": "overwrite"})") == R"({"g": 1, "x": 1})");
}

TEST_CASE("config.get shows nothing of the server's own configuration") {
  test::Execution m;
  const std::string all = m.ret("config.get", "[[]]");
  CHECK(all.find(R"("id": "ms-0")") != std::string::npos);
  CHECK(all.find(R"("hash_type": "sha256")") != std::string::npos);
  for (const char* key : {"sharedsecret", "external_auth", "rest_fcgi", "token_dir"}) {
    CAPTURE(key);
    CHECK(m.ret("config.get", "[\"" + std::string(key) + "\"]") == R"("")");
    CHECK(all.find("\"" + std::string(key) + "\":") == std::string::npos);
  }
}

}  // namespace
}  // namespace rest_fcgi::embedded
