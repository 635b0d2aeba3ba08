// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/holds.h"
#include "selection.h"

using namespace rest_fcgi;
using namespace rest_fcgi::embedded;
using lowstate::TargetType;
using test::holds;

namespace {

std::vector<MinionOptions> five_minions() {
  const auto minion = [](const char* id, const char* grains) {
    return MinionOptions{id, Json::trusted(grains), Json::empty_object()};
  };
  return {minion("web1", R"({"os": "Debian", "roles": ["web", "cache"], "n": 1})"),
          minion("web2", R"({"os": "Fedora", "roles": ["web"], "n": 2, "up": true})"),
          minion("db1", R"({"os": "Debian", "disk": {"sda": {"size": "10"}, "a:b": "c"}})"),
          minion("db2", R"({"os": "Fedora", "disks": [{"name": "sda"}, {"name": "sdb"}]})"),
          minion("Mail", R"({"os": "Arch", "none": null})")};
}

std::string matched(const lowstate::Target& target) {
  return test::matched(five_minions(), target);
}

std::string error_of(TargetType type, std::string_view expression) {
  return test::refusal(five_minions(), test::target_of(type, expression));
}

struct Row {
  std::string_view expression;
  std::string_view ids;
};

void check(TargetType type, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    CAPTURE(row.expression);
    CHECK(matched(test::target_of(type, row.expression)) == row.ids);
  }
}

}  // namespace

TEST_CASE("a glob target matches whole ids with regard to case") {
  check(TargetType::glob,
        {{"*", "Mail db1 db2 web1 web2"}, {"web*", "web1 web2"}, {"?b[!1]", "db2"}, {"mail", ""}, {"", ""}});
}

TEST_CASE("a pcre target matches the start of an id") {
  check(TargetType::pcre,
        {{"web", "web1 web2"}, {"b1", ""}, {"(web|db)1$", "db1 web1"}, {"", "Mail db1 db2 web1 web2"}});
}

TEST_CASE("a list target matches each id once, and returns the missing ids") {
  lowstate::Target target = test::target_of(TargetType::list, "");
  target.list = {"web2", "nosuch", "db1", "web2", "nosuch", "web*"};
  CHECK(matched(target) == "db1 web2");
  const auto minions = *Minions::make(five_minions());
  CHECK(select(*minions, target)->missing == std::vector<std::string>{"nosuch", "web*"});
}

TEST_CASE("a grain target is a glob for a value, without regard to case") {
  check(TargetType::grain, {{"os:Debian", "db1 web1"},
                            {"os:debian", "db1 web1"},
                            {"OS:Debian", ""},
                            {"os:f*a", "db2 web2"},
                            {"os", ""},
                            {"nosuch:*", ""},
                            {"n:1", "web1"},
                            {"up:true", "web2"},
                            {"none:none", "Mail"}});
}

TEST_CASE("a grain target matches an element of a list, or one by its index") {
  check(TargetType::grain, {{"roles:web", "web1 web2"},
                            {"roles:1:cache", "web1"},
                            {"roles:-1:web", "web2"},
                            {"roles:7:web", ""},
                            {"disks:name:sda", "db2"},
                            {"disks:1:name:sdb", "db2"},
                            {"disks:name", "db2"}});
}

TEST_CASE("a grain target matches values and keys in objects") {
  check(TargetType::grain, {{"disk:sda:size:10", "db1"},
                            {"disk:sda:size", "db1"},
                            {"disk:*", "db1"},
                            {"disk:a:b:c", ""},
                            {"*:Arch", "Mail"},
                            {"disk:*:size:10", "db1"},
                            {"disk:*:10", ""}});
}

TEST_CASE("a grain target may have another delimiter") {
  CHECK(matched(test::target_of(TargetType::grain, "disk|sda|size|10", "|")) == "db1");
  CHECK(matched(test::target_of(TargetType::grain, "disk::sda::size::10", "::")) == "db1");
}

TEST_CASE("a grain target with too many levels is refused") {
  std::string expression = "a";
  for (std::size_t i = 0; i <= target::kMaxLevels; ++i) expression += ":a";
  CHECK(holds(error_of(TargetType::grain, expression), "65 levels"));
}

TEST_CASE("a compound target joins globs, G@, E@ and L@ by and, or, not and brackets") {
  check(TargetType::compound, {{"web*", "web1 web2"},
                               {"G@os:Debian and web*", "web1"},
                               {"G@os:Debian and not web*", "db1"},
                               {"G@os:Debian not web*", "db1"},
                               {"E@^db\\d$ or Mail", "Mail db1 db2"},
                               {"L@web1,db2,nosuch", "db2 web1"},
                               {"not *", ""},
                               {"not ( web* or db* )", "Mail"},
                               {"( web* or db* ) and G@os:Fedora", "db2 web2"},
                               {"G|@disk|sda|size|10", "db1"},
                               {"G§@disk§sda", "db1"},
                               {"nosuch", ""}});
}

TEST_CASE("not binds closer than and, which binds closer than or") {
  check(TargetType::compound, {{"Mail or web* and G@os:Debian", "Mail web1"},
                               {"web* and G@os:Debian or Mail", "Mail web1"},
                               {"not web* and db1", "db1"},
                               {"not Mail and web1 or db2", "db2 web1"}});
}

TEST_CASE("a word with an unknown letter or an attached bracket is a glob") {
  check(TargetType::compound, {{"X@web*", ""}, {"G@", ""}, {"(web*", ""}, {"E@@", ""}});
}

TEST_CASE("a compound target may be a list of words") {
  lowstate::Target target = test::target_of(TargetType::compound, "");
  target.list = {"web*", "and", "not", "G@os:Debian"};
  CHECK(matched(target) == "web2");
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
