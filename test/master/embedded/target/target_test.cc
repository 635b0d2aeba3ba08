// SPDX-License-Identifier: MIT
#include "master/embedded/target/target.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/holds.h"
#include "master/embedded/target/target.h"

using namespace rest_fcgi;
using namespace rest_fcgi::embedded;
using lowstate::TargetType;
using test::holds;
using Ids = std::vector<std::string>;

namespace {

std::shared_ptr<const Minions> five_minions() {
  const auto minion = [](const char* id, const char* grains) {
    return MinionOptions{id, Json::trusted(grains), Json::empty_object()};
  };
  return *Minions::make({minion("web1", R"({"os": "Debian", "roles": ["web", "cache"], "n": 1})"),
                         minion("web2", R"({"os": "Fedora", "roles": ["web"], "n": 2, "up": true})"),
                         minion("db1", R"({"os": "Debian", "disk": {"sda": {"size": "10"}, "a:b": "c"}})"),
                         minion("db2", R"({"os": "Fedora", "disks": [{"name": "sda"}, {"name": "sdb"}]})"),
                         minion("Mail", R"({"os": "Arch", "none": null})")});
}

lowstate::Target target_of(TargetType type, std::string_view expression) {
  lowstate::Target target;
  target.type = type;
  target.expression = expression;
  return target;
}

Ids ids_of(const Minions& minions, const Selection& selection) {
  Ids ids;
  for (const std::size_t position : selection.positions) ids.push_back(minions.all()[position].id);
  return ids;
}

Ids matched_ids(const lowstate::Target& target) {
  const auto minions = five_minions();
  const Result<Selection> selection = select(*minions, target);
  REQUIRE(selection);
  return ids_of(*minions, *selection);
}

Ids matched_ids(TargetType type, std::string_view expression) {
  return matched_ids(target_of(type, expression));
}

std::string error_of(TargetType type, std::string_view expression) {
  const auto minions = five_minions();
  const Result<Selection> selection = select(*minions, target_of(type, expression));
  REQUIRE_FALSE(selection);
  CHECK(selection.error().kind == ErrorKind::invocation);
  return selection.error().message;
}

std::string joined(const Ids& ids) {
  std::string text;
  for (const std::string& id : ids) text += id + " ";
  return text;
}

struct Row {
  std::string expression;
  Ids ids;
};

void check(TargetType type, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    CAPTURE(row.expression);
    CHECK(joined(matched_ids(type, row.expression)) == joined(row.ids));
  }
}

}  // namespace

TEST_CASE("a glob target matches whole ids with regard to case") {
  check(TargetType::glob, {{"*", {"Mail", "db1", "db2", "web1", "web2"}},
                           {"web*", {"web1", "web2"}},
                           {"web", {}},
                           {"?b[!1]", {"db2"}},
                           {"mail", {}},
                           {"", {}}});
}

TEST_CASE("a pcre target matches the start of an id") {
  check(TargetType::pcre, {{"web", {"web1", "web2"}},
                           {"b1", {}},
                           {"(web|db)1$", {"db1", "web1"}},
                           {"", matched_ids(TargetType::glob, "*")}});
}

TEST_CASE("a list target matches each id once, and returns the missing ids") {
  const auto minions = five_minions();
  lowstate::Target target = target_of(TargetType::list, "");
  target.list = {"web2", "nosuch", "db1", "web2", "nosuch", "web*"};
  const Result<Selection> selection = select(*minions, target);
  REQUIRE(selection);
  CHECK(ids_of(*minions, *selection) == Ids{"db1", "web2"});
  CHECK(selection->missing == Ids{"nosuch", "web*"});
}

TEST_CASE("a grain target is a glob for a value, without regard to case") {
  check(TargetType::grain, {{"os:Debian", {"db1", "web1"}},
                            {"os:debian", {"db1", "web1"}},
                            {"OS:Debian", {}},
                            {"os:f*a", {"db2", "web2"}},
                            {"os", {}},
                            {"nosuch:*", {}},
                            {"n:1", {"web1"}},
                            {"up:true", {"web2"}},
                            {"none:none", {"Mail"}}});
}

TEST_CASE("a grain target matches an element of a list, or one by its index") {
  check(TargetType::grain, {{"roles:web", {"web1", "web2"}},
                            {"roles:cache", {"web1"}},
                            {"roles:1:cache", {"web1"}},
                            {"roles:-1:web", {"web2"}},
                            {"roles:7:web", {}},
                            {"disks:name:sda", {"db2"}},
                            {"disks:1:name:sdb", {"db2"}},
                            {"disks:name", {"db2"}}});
}

TEST_CASE("a grain target matches values and keys in objects") {
  check(TargetType::grain, {{"disk:sda:size:10", {"db1"}},
                            {"disk:sda:size:11", {}},
                            {"disk:sda", {"db1"}},
                            {"disk:sda:size", {"db1"}},
                            {"disk:*", {"db1"}},
                            {"disk:s?a", {"db1"}},
                            {"disk:a:b:c", {}},
                            {"*:Arch", {"Mail"}},
                            {"disk:*:size:10", {"db1"}},
                            {"disk:*:10", {}}});
}

TEST_CASE("a grain target may have another delimiter") {
  lowstate::Target target = target_of(TargetType::grain, "disk|sda|size|10");
  target.delimiter = "|";
  CHECK(matched_ids(target) == Ids{"db1"});
  target.expression = "disk::sda::size::10";
  target.delimiter = "::";
  CHECK(matched_ids(target) == Ids{"db1"});
}

TEST_CASE("a grain target with too many levels is refused") {
  std::string expression = "a";
  for (std::size_t i = 0; i <= target::kMaxLevels; ++i) expression += ":a";
  CHECK(holds(error_of(TargetType::grain, expression), "65 levels"));
}

TEST_CASE("a compound target joins globs, G@, E@ and L@ by and, or, not and brackets") {
  check(TargetType::compound, {{"web*", {"web1", "web2"}},
                               {"G@os:Debian and web*", {"web1"}},
                               {"G@os:Debian and not web*", {"db1"}},
                               {"G@os:Debian not web*", {"db1"}},
                               {"E@^db\\d$ or Mail", {"Mail", "db1", "db2"}},
                               {"L@web1,db2,nosuch", {"db2", "web1"}},
                               {"not *", {}},
                               {"not ( web* or db* )", {"Mail"}},
                               {"( web* or db* ) and G@os:Fedora", {"db2", "web2"}},
                               {"G|@disk|sda|size|10", {"db1"}},
                               {"G§@disk§sda", {"db1"}},
                               {"nosuch", {}}});
}

TEST_CASE("not binds closer than and, which binds closer than or") {
  check(TargetType::compound, {{"Mail or web* and G@os:Debian", {"Mail", "web1"}},
                               {"web* and G@os:Debian or Mail", {"Mail", "web1"}},
                               {"not web* and db1", {"db1"}},
                               {"not Mail and web1 or db2", {"db2", "web1"}}});
}

TEST_CASE("a word with an unknown letter or an attached bracket is a glob") {
  check(TargetType::compound, {{"X@web*", {}}, {"G@", {}}, {"(web*", {}}, {"E@@", {}}});
}

TEST_CASE("a compound target may be a list of words") {
  lowstate::Target target = target_of(TargetType::compound, "");
  target.list = {"web*", "and", "not", "G@os:Debian"};
  CHECK(matched_ids(target) == Ids{"web2"});
}

TEST_CASE("a wrong compound target is refused with the number of the word") {
  const struct {
    const char* expression;
    const char* part;
  } rows[] = {{"", "found the end, expected a target such as"},
              {"and web*", "Word 1 of the compound target: found 'and', expected a target"},
              {"web* and", "found the end"},
              {"web* db*", "Word 2 of the compound target: found 'db*', expected 'and' or 'or'"},
              {"web* and or db*", "Word 3 of the compound target: found 'or'"},
              {"( web*", "found the end, expected ')', 'and' or 'or'"},
              {"web* )", "Word 2 of the compound target: found ')'"},
              {"( )", "Word 2 of the compound target: found ')'"},
              {"not not web*", "Word 2 of the compound target: found 'not'"},
              {"web* and E@(", "Word 3 of the compound target, 'E@(': "}};
  for (const auto& row : rows) {
    CAPTURE(row.expression);
    const std::string message = error_of(TargetType::compound, row.expression);
    CAPTURE(message);
    CHECK(holds(message, row.part));
  }
}

TEST_CASE("the words and brackets of a compound target are limited") {
  std::string words = "a";
  for (int i = 0; i < 125; ++i) words += " or a";
  CHECK(holds(error_of(TargetType::compound, words), "251 words"));
  std::string brackets = "a";
  for (int i = 0; i < 51; ++i) brackets = "( " + brackets + " )";
  CHECK(holds(error_of(TargetType::compound, brackets), "50 open brackets"));
}
