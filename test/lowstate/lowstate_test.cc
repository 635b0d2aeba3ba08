// SPDX-License-Identifier: MIT
#include "rest_fcgi/lowstate/lowstate.h"

#include <doctest/doctest.h>

#include "read.h"

using rest_fcgi::test::Read;
using rest_fcgi::test::refusal;
using namespace rest_fcgi::lowstate;
using rest_fcgi::auth::Credentials;

TEST_CASE("each object of a list is a chunk") {
  const Read read(
      R"([{"client": "local", "tgt": "*", "fun": "test.ping"}, {"client": "runner", "fun": "manage.up"}])");
  REQUIRE(read.chunks().size() == 2);
  CHECK(read.chunks()[0].index == 0);
  CHECK(read.chunks()[0].client == Client::local);
  CHECK(read.chunks()[1].index == 1);
  CHECK(read.chunks()[1].client == Client::runner);
}

TEST_CASE("a body is a list of chunks, which may be empty, or one chunk") {
  CHECK(Read("[]").chunks().empty());
  const Read read(R"({"client": "wheel", "fun": "key.list_all"})");
  REQUIRE(read.chunks().size() == 1);
  CHECK(read.chunks()[0].client == Client::wheel);
  CHECK(refusal("42") == "The body must be a list of lowstate objects; found int.");
  CHECK(refusal("null") == "The body must be a list of lowstate objects; found NoneType.");
  CHECK(refusal("\"[]\"") == "The body must be a list of lowstate objects; found str.");
}

TEST_CASE("the error for a chunk that is not an object has its index") {
  CHECK(refusal(R"([{"client": "runner", "fun": "a.b"}, "x"])") ==
        "Lowstate chunk 1: the chunk must be an object; found str.");
}

TEST_CASE("more chunks than allowed are refused") {
  CHECK(refusal("[{}, {}, {}]", {.json = {}, .max_chunks = 2}) ==
        "The body has 3 lowstate chunks; at most 2 are accepted.");
}

TEST_CASE("an unknown client is refused with Salt's text") {
  CHECK(refusal(R"({"client": "foo"})") == "Invalid client specified: 'foo'");
  CHECK(refusal(R"({"fun": "test.ping"})") == "Invalid client specified: 'None'");
  CHECK(refusal(R"({"client": null})") == "Invalid client specified: 'None'");
  CHECK(refusal(R"({"client": ["local"]})") == "Invalid client specified: '['local']'");
  CHECK(refusal(R"({"client": ""})") == "Invalid client specified: ''");
}

TEST_CASE("eauth credentials are read without a copy") {
  const Read read(R"({"client": "runner", "fun": "a.b", "eauth": "pam", "username": "u", "password": "p"})");
  const Credentials& credentials = read.chunk().credentials;
  CHECK(credentials.kind == Credentials::Kind::eauth);
  CHECK(credentials.eauth == "pam");
  CHECK(credentials.username == "u");
  CHECK(credentials.password.reveal() == "p");
}

TEST_CASE("a token wins over eauth, unless it is empty or null") {
  const auto kind_with = [](const std::string& token) {
    return Read(R"({"client": "runner", "fun": "a.b", "eauth": "pam", "username": "u", "token": )" + token +
                "}")
        .chunk()
        .credentials.kind;
  };
  CHECK(kind_with(R"("ab")") == Credentials::Kind::token);
  CHECK(kind_with(R"("")") == Credentials::Kind::eauth);
  CHECK(kind_with("null") == Credentials::Kind::eauth);
  CHECK(kind_with("[]") == Credentials::Kind::eauth);
  CHECK(kind_with("{}") == Credentials::Kind::eauth);
}

TEST_CASE("empty credentials beside a token count as absent") {
  for (const std::string empty : {"null", "\"\"", "[]", "{}"}) {
    CAPTURE(empty);
    const Read read(R"({"client": "runner", "fun": "a.b", "token": "ab", "username": )" + empty +
                    R"(, "password": )" + empty + R"(, "eauth": )" + empty + "}");
    CHECK(read.chunk().credentials.kind == Credentials::Kind::token);
    CHECK(read.chunk().credentials.username.empty());
  }
}

TEST_CASE("a chunk without an eauth, or with an empty one, has no credentials") {
  for (const std::string eauth : {"", R"("eauth": "", )"}) {
    const Read read(R"({"client": "runner", )" + eauth +
                    R"("fun": "a.b", "username": "u", "password": "p"})");
    CHECK(read.chunk().credentials.kind == Credentials::Kind::none);
  }
}

TEST_CASE("eauth without user and password means an empty user and an empty password") {
  const Read read(R"({"client": "runner", "fun": "a.b", "eauth": "pam"})");
  CHECK(read.chunk().credentials.kind == Credentials::Kind::eauth);
  CHECK(read.chunk().credentials.username.empty());
}

TEST_CASE("credentials of another type are refused without showing them") {
  for (const std::string key : {"eauth", "username", "password", "token"}) {
    CHECK(refusal(R"({"client": "runner", "fun": "a.b", ")" + key + R"(": 40961})") ==
          "Lowstate chunk 0: '" + key + "' must be a string; found int.");
    CHECK(refusal(R"({"client": "runner", "fun": "a.b", ")" + key + R"(": [1]})") ==
          "Lowstate chunk 0: '" + key + "' must be a string; found list.");
  }
}
