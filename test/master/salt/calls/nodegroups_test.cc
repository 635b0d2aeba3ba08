// SPDX-License-Identifier: MIT
#include "master/salt/calls/nodegroups.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace rest_fcgi::salt {
namespace {

using lowstate::TargetType;

Nodegroups groups() {
  return Nodegroups({
      {"ids", {"web1", "web2"}},
      {"one", {"web1"}},
      {"pattern", {"web[0-9]+", "db"}},
      {"compound", {"web*", "and", "not", "G@os:Debian"}},
      {"nested", {"N@ids", "or", "(", "N@compound", "and", "db1", ")"}},
      {"deep", {"N@nested"}},
      {"empty", {}},
      {"self", {"a*", "or", "N@self"}},
      {"left", {"N@right"}},
      {"right", {"N@left"}},
      {"lost", {"a*", "or", "N@nowhere"}},
  });
}

lowstate::Target target(TargetType type, std::string_view expression) {
  return {.type = type, .expression = expression, .list = {}, .as_sent = {}};
}

std::string expanded(const lowstate::Target& before) {
  const auto after = groups().expand(before);
  if (!after) {
    CHECK(after.error().kind == ErrorKind::invocation);
    return "refused: " + after.error().message;
  }
  CHECK(after->type == TargetType::compound);
  return std::get<std::string>(after->tgt);
}

std::string of_group(std::string_view name) {
  return expanded(target(TargetType::nodegroup, name));
}

std::string of_compound(std::string_view expression) {
  return expanded(target(TargetType::compound, expression));
}

}  // namespace

TEST_CASE("a nodegroup becomes a compound target, also inside another nodegroup or compound target") {
  CHECK(of_group("ids") == "L@web1,web2");
  CHECK(of_group("one") == "L@web1");
  CHECK(of_group("pattern") == "E@web[0-9]+,db");
  CHECK(of_group("compound") == "( web* and not G@os:Debian )");
  CHECK(of_group("nested") == "( L@web1,web2 or ( ( web* and not G@os:Debian ) and db1 ) )");
  CHECK(of_group("deep") == "( ( L@web1,web2 or ( ( web* and not G@os:Debian ) and db1 ) ) )");
  CHECK(of_compound("not  N@compound\tand E@db.*") == "not ( web* and not G@os:Debian ) and E@db.*");
  CHECK(of_compound("N@ids") == "L@web1,web2");
  CHECK(of_compound("a or N@ or xN@ids") == "a or N@ or xN@ids");
  CHECK(of_compound("web* and G@os:Debian") == "web* and G@os:Debian");
  CHECK(of_compound("") == "");
}

TEST_CASE("unknown, empty and recursive nodegroups are refused with Salt's texts") {
  const std::string unknown =
      "refused: unknown node group 'nowhere'; expected a name in `nodegroups` of the Salt master's file";
  for (const char* group : {"nowhere", "lost"}) CHECK(of_group(group) == unknown);
  CHECK(of_compound("a or N@nowhere") == unknown);
  CHECK(of_group("empty") == "refused: Node group empty is empty.");
  CHECK(of_group("self") == "refused: Node group self contains itself.");
  CHECK(of_group("left") == "refused: Node group left contains itself.");
  CHECK(of_compound("N@right") == "refused: Node group right contains itself.");
}

TEST_CASE("the size of expanded nodegroups is limited") {
  std::vector<master::NodegroupOptions> options = {{"g0", {"a*", "or", "b*"}}};
  for (int i = 1; i < 40; ++i) {
    const std::string inner = "N@g" + std::to_string(i - 1);
    options.push_back({"g" + std::to_string(i), {inner, "or", inner}});
  }
  const auto after = Nodegroups(options).expand(target(TargetType::nodegroup, "g39"));
  REQUIRE_FALSE(after);
  CHECK(after.error().kind == ErrorKind::invocation);
  CHECK(after.error().message == "The target with its node groups has more than 1048576 bytes.");
}

TEST_CASE("a list target stays a text or a list, as the caller sent it") {
  const auto sent = [](const char* json, std::vector<std::string_view> ids) {
    JsonDocument document;
    REQUIRE(document.parse(json));
    lowstate::Target before = target(TargetType::list, "");
    before.list = std::move(ids);
    before.as_sent = document.root();
    return groups().expand(before)->tgt;
  };
  using Ids = std::vector<std::string>;
  CHECK(std::get<std::string>(sent(R"("web1,web2")", {"web1", "web2"})) == "web1,web2");
  CHECK(std::get<std::string>(sent(R"("web1,,web2,")", {"web1", "web2"})) == "web1,,web2,");
  CHECK(std::get<std::string>(sent(R"("")", {})) == "");
  // Salt's minions compare the ids with their blanks.
  CHECK(std::get<std::string>(sent(R"("web1, web2")", {"web1", "web2"})) == "web1,web2");
  CHECK(std::get<Ids>(sent(R"(["web1", "web2"])", {"web1", "web2"})) == Ids{"web1", "web2"});
}

TEST_CASE("other targets are not changed") {
  for (const TargetType type : {TargetType::glob, TargetType::pcre, TargetType::grain,
                                TargetType::pillar_exact, TargetType::range, TargetType::ipcidr}) {
    lowstate::Target before = target(type, "N@ids a  b");
    before.delimiter = "|";
    const auto after = groups().expand(before);
    REQUIRE(after);
    CHECK(after->type == type);
    CHECK(std::get<std::string>(after->tgt) == "N@ids a  b");
    CHECK(after->delimiter == "|");
  }
}

}  // namespace rest_fcgi::salt
