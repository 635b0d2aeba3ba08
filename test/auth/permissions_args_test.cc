// SPDX-License-Identifier: MIT
#include <optional>

#include <doctest/doctest.h>

#include "acl_fixture.h"

namespace rest_fcgi::auth {
namespace {

/// fred may call cmd.run under these conditions, anywhere that `*` reaches.
AclFixture under(std::vector<ArgumentCondition> conditions) {
  return AclFixture::of_fred({on("*", {{"cmd.run", std::move(conditions)}})});
}

bool allows(const AclFixture& acl, const std::string& args, const std::string& kwargs = "{}") {
  return acl.local(R"({"fun": "cmd.run", "arg": )" + args + R"(, "kwarg": )" + kwargs + "}");
}

}  // namespace

TEST_CASE("positional arguments have to match their patterns in order") {
  const auto acl = under({{{"ls", "/srv/.*"}, {}}});
  CHECK(allows(acl, R"(["ls", "/srv/x"])"));
  CHECK(allows(acl, R"(["ls", "/srv/x", "more"])"));
  CHECK_FALSE(allows(acl, R"(["ls"])"));
  CHECK_FALSE(allows(acl, "[]"));
  CHECK_FALSE(allows(acl, R"(["/srv/x", "ls"])"));
  CHECK_FALSE(allows(acl, R"(["ls", "/etc"])"));
}

TEST_CASE("an argument has to match as a whole") {
  const auto acl = under({{{"ls|id"}, {}}});
  CHECK(allows(acl, R"(["id"])"));
  CHECK_FALSE(allows(acl, R"(["id; reboot"])"));
  CHECK_FALSE(allows(acl, R"(["id\n"])"));
  CHECK_FALSE(allows(acl, R"(["sudo id"])"));
}

TEST_CASE("an argument without a pattern has to be there, whatever it is") {
  const auto acl = under({{{std::nullopt, "x"}, {}}});
  CHECK(allows(acl, R"([{"a": 1}, "x"])"));
  CHECK(allows(acl, R"(["two\nlines", "x"])"));
  CHECK_FALSE(allows(acl, R"(["x"])"));
  CHECK_FALSE(allows(under({{{std::nullopt}, {}}}), "[]"));
}

TEST_CASE("keyword arguments have to be there and to match") {
  const auto acl = under({{{}, {{"cwd", "/srv(/.*)?"}, {"runas", std::nullopt}}}});
  CHECK(allows(acl, "[]", R"({"cwd": "/srv", "runas": "www"})"));
  CHECK(allows(acl, "[]", R"({"cwd": "/srv/x", "runas": null, "shell": "sh"})"));
  CHECK_FALSE(allows(acl, "[]", R"({"cwd": "/srv"})"));
  CHECK_FALSE(allows(acl, "[]", R"({"cwd": "/etc", "runas": "www"})"));
  CHECK_FALSE(allows(acl, R"(["/srv", "www"])"));
}

TEST_CASE("values of other types count as Python's str() writes them") {
  CHECK(allows(under({{{"True"}, {}}}), "[true]"));
  CHECK(allows(under({{{"None"}, {}}}), "[null]"));
  CHECK(allows(under({{{"[0-9]+"}, {}}}), "[15]"));
  CHECK_FALSE(allows(under({{{"[0-9]+"}, {}}}), "[15.5]"));
  CHECK(allows(under({{{"\\['a', 1\\]"}, {}}}), R"([["a", 1]])"));
}

TEST_CASE("both arguments and keyword arguments have to be right") {
  const auto acl = under({{{"ls"}, {{"cwd", "/srv"}}}});
  CHECK(allows(acl, R"(["ls"])", R"({"cwd": "/srv"})"));
  CHECK_FALSE(allows(acl, R"(["ls"])", R"({"cwd": "/"})"));
  CHECK_FALSE(allows(acl, R"(["id"])", R"({"cwd": "/srv"})"));
}

TEST_CASE("of several conditions one is enough, and none means any arguments") {
  const auto either = under({{{"ls"}, {}}, {{"id"}, {}}});
  CHECK(allows(either, R"(["ls"])"));
  CHECK(allows(either, R"(["id"])"));
  CHECK_FALSE(allows(either, R"(["ps"])"));
  CHECK(allows(under({}), R"(["anything"])"));
  CHECK(allows(under({{}}), R"(["anything"])"));
}

TEST_CASE("each function of a list is held against its own arguments") {
  const auto acl = under({{{"ls"}, {}}});
  CHECK(acl.local(R"([{"fun": "cmd.run", "arg": ["ls"]}, {"fun": "cmd.run", "arg": ["ls", "x"]}])"));
  CHECK_FALSE(acl.local(R"([{"fun": "cmd.run", "arg": ["ls"]}, {"fun": "cmd.run", "arg": ["reboot"]}])"));
  CHECK_FALSE(acl.local(R"([{"fun": "cmd.run", "arg": ["reboot"]}, {"fun": "cmd.run", "arg": ["ls"]}])"));
}

TEST_CASE("a keyword that comes twice has to be right both times") {
  const auto permissions =
      Permissions::make({{"auto", {}, {{"fred", {on("*", {{"cmd.run", {{{}, {{"cwd", "/srv"}}}}}})}}}}});
  REQUIRE(permissions);
  Options options;
  options.external_auth.push_back({"auto", {}, {}});
  options.allow_auto_eauth = true;
  const auto authenticator = Authenticator::make(options, system_clock());
  REQUIRE(authenticator);
  const auto fred =
      (*authenticator)->authenticate({Credentials::Kind::eauth, "auto", "fred", SecretView("x"), {}});
  REQUIRE(fred);
  JsonDocument document;
  REQUIRE(document.parse(R"(["/srv", "/"])"));
  auto values = document.root().elements().begin();
  const JsonMember good{"cwd", *values};
  const JsonMember bad{"cwd", *++values};
  const auto allows = [&](std::vector<JsonMember> kwargs) {
    const FunctionCall call{"cmd.run", {}, kwargs};
    return (*permissions)->allow_local(*fred, std::span(&call, 1), [](std::string_view) { return true; });
  };
  CHECK(allows({good, good}));
  CHECK_FALSE(allows({good, bad}));
  CHECK_FALSE(allows({bad, good}));
}

}  // namespace rest_fcgi::auth
