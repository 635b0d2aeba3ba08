// SPDX-License-Identifier: MIT
#include "auth/token_record.h"

#include <doctest/doctest.h>

namespace rest_fcgi::auth {
namespace {

WallTime at(double seconds) {
  return WallTime(std::chrono::duration_cast<WallTime::duration>(std::chrono::duration<double>(seconds)));
}

}  // namespace

TEST_CASE("a token's data is one JSON object with Salt's names") {
  const TokenRecord record{"fr\"ed", "file", {"ops", "dev"}, at(1700000000.5), at(1700043200.5)};
  CHECK(
      to_json(record) ==
      R"({"start": 1700000000.5, "expire": 1700043200.5, "name": "fr\"ed", "eauth": "file", "groups": ["ops", "dev"]})");
}

TEST_CASE("a token's data reads back as it was written") {
  const auto read = read_token_record(to_json({"fred", "file", {"ops"}, at(1), at(2)}));
  REQUIRE(read);
  CHECK(read->name == "fred");
  CHECK(read->eauth == "file");
  CHECK(read->groups == std::vector<std::string>{"ops"});
  CHECK(read->start == at(1));
  CHECK(read->expire == at(2));
}

TEST_CASE("anything else is no token's data") {
  const std::string_view wrong[] = {
      "",
      "{",
      "null",
      "[]",
      "{}",
      R"({"start": 1, "expire": 2, "name": "fred", "eauth": "file"})",
      R"({"start": 1, "expire": 2, "name": "fred", "groups": []})",
      R"({"start": 1, "expire": 2, "eauth": "file", "groups": []})",
      R"({"start": 1, "name": "fred", "eauth": "file", "groups": []})",
      R"({"expire": 2, "name": "fred", "eauth": "file", "groups": []})",
      R"({"start": 1, "expire": 2, "name": "", "eauth": "file", "groups": []})",
      R"({"start": 1, "expire": 2, "name": 7, "eauth": "file", "groups": []})",
      R"({"start": 1, "expire": 2, "name": "fred", "eauth": "file", "groups": "ops"})",
      R"({"start": 1, "expire": 2, "name": "fred", "eauth": "file", "groups": [1]})",
      R"({"start": 1, "expire": "2", "name": "fred", "eauth": "file", "groups": []})",
      R"({"start": -1, "expire": 2, "name": "fred", "eauth": "file", "groups": []})",
      R"({"start": 1, "expire": 1e300, "name": "fred", "eauth": "file", "groups": []})",
  };
  for (const std::string_view json : wrong) {
    CAPTURE(json);
    const auto read = read_token_record(json);
    REQUIRE_FALSE(read);
    CHECK(read.error().kind == ErrorKind::malformed);
  }
}

TEST_CASE("a token of negative life is refused") {
  const auto read =
      read_token_record(R"({"start": 3, "expire": 2, "name": "fred", "eauth": "file", "groups": []})");
  REQUIRE_FALSE(read);
  CHECK(read.error().message == "the token expires before it starts");
}

}  // namespace rest_fcgi::auth
