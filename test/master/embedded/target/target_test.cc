// SPDX-License-Identifier: MIT
#include "master/embedded/target/target.h"

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/holds.h"
#include "rest_fcgi/core/format.h"

using namespace rest_fcgi;
using namespace rest_fcgi::embedded;
using lowstate::TargetType;
using test::holds;

namespace {

using Groups = std::vector<master::NodegroupOptions>;
using MinionList = std::vector<MinionOptions>;

lowstate::Target target_of(TargetType type, std::string_view expression, std::string_view delimiter = ":") {
  lowstate::Target target;
  target.type = type;
  target.expression = expression;
  target.delimiter = delimiter;
  return target;
}

std::string matched(const MinionList& options, const lowstate::Target& wanted,
                    const Groups& nodegroups = {}) {
  const auto minions = Minions::make(options, nodegroups);
  REQUIRE(minions);
  target::Work work;
  const Result<Selection> selection = select(**minions, wanted, work);
  if (!selection) FAIL(selection.error().message);
  std::string ids;
  for (const std::size_t position : selection->positions) {
    ids.append(ids.empty() ? "" : " ").append((*minions)->all()[position].id);
  }
  return ids;
}

/// Checks that the target gives an invocation error. Returns the error's message.
std::string refusal(const MinionList& options, const lowstate::Target& wanted,
                    const Groups& nodegroups = {}) {
  const auto minions = Minions::make(options, nodegroups);
  REQUIRE(minions);
  target::Work work;
  const Result<Selection> selection = select(**minions, wanted, work);
  REQUIRE_FALSE(selection);
  CHECK(selection.error().kind == ErrorKind::invocation);
  return selection.error().message;
}

MinionList five_minions() {
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
  return matched(five_minions(), target);
}

std::string error_of(TargetType type, std::string_view expression) {
  return refusal(five_minions(), target_of(type, expression));
}

std::string times(std::size_t n, std::string_view text) {
  std::string all;
  for (std::size_t i = 0; i < n; ++i) all += text;
  return all;
}

struct Row {
  std::string_view expression;
  std::string_view ids;
};

void check(TargetType type, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    CHECK_MESSAGE(matched(target_of(type, row.expression)) == row.ids, row.expression);
  }
}

}  // namespace

TEST_CASE("a glob target matches whole ids with regard to case, and a pcre target the start of an id") {
  check(TargetType::glob,
        {{"*", "Mail db1 db2 web1 web2"}, {"web*", "web1 web2"}, {"?b[!1]", "db2"}, {"mail", ""}, {"", ""}});
  check(TargetType::pcre,
        {{"web", "web1 web2"}, {"b1", ""}, {"(web|db)1$", "db1 web1"}, {"", "Mail db1 db2 web1 web2"}});
}

TEST_CASE("a list target matches each id once, and returns the missing ids") {
  lowstate::Target target = target_of(TargetType::list, "");
  target.list = {"web2", "nosuch", "db1", "web2", "nosuch", "web*"};
  CHECK(matched(target) == "db1 web2");
  const auto minions = *Minions::make(five_minions());
  rest_fcgi::embedded::target::Work work;
  CHECK(select(*minions, target, work)->missing == std::vector<std::string>{"nosuch", "web*"});
}

TEST_CASE("a grain target is a glob for a value without regard to case, also in lists and objects") {
  check(TargetType::grain, {{"os:Debian", "db1 web1"},
                            {"os:debian", "db1 web1"},
                            {"OS:Debian", ""},
                            {"os:f*a", "db2 web2"},
                            {"os", ""},
                            {"nosuch:*", ""},
                            {"n:1", "web1"},
                            {"up:true", "web2"},
                            {"none:none", "Mail"}});
  check(TargetType::grain, {{"roles:web", "web1 web2"},
                            {"roles:1:cache", "web1"},
                            {"roles:-1:web", "web2"},
                            {"roles:7:web", ""},
                            {"disks:name:sda", "db2"},
                            {"disks:1:name:sdb", "db2"},
                            {"disks:name", "db2"}});
  check(TargetType::grain, {{"disk:sda:size:10", "db1"},
                            {"disk:sda:size", "db1"},
                            {"disk:*", "db1"},
                            {"disk:a:b:c", ""},
                            {"*:Arch", "Mail"},
                            {"disk:*:size:10", "db1"},
                            {"disk:*:10", ""}});
}

TEST_CASE("a grain target may have another delimiter, and 64 levels") {
  CHECK(matched(target_of(TargetType::grain, "disk|sda|size|10", "|")) == "db1");
  CHECK(matched(target_of(TargetType::grain, "disk::sda::size::10", "::")) == "db1");
  CHECK(holds(error_of(TargetType::grain, "a" + times(target::kMaxLevels + 1, ":a")), "65 levels"));
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
  check(TargetType::compound, {{"Mail or web* and G@os:Debian", "Mail web1"},
                               {"web* and G@os:Debian or Mail", "Mail web1"},
                               {"not web* and db1", "db1"},
                               {"not Mail and web1 or db2", "db2 web1"}});
  check(TargetType::compound, {{"X@web*", ""}, {"G@", ""}, {"(web*", ""}, {"E@@", ""}});
}

TEST_CASE("a compound target may be a list of words") {
  lowstate::Target target = target_of(TargetType::compound, "");
  target.list = {"web*", "and", "not", "G@os:Debian"};
  CHECK(matched(target) == "web2");
}

TEST_CASE("a wrong compound target is refused with the number of the word") {
  const Row rows[] = {{"", "found the end, expected a target such as"},
                      {"and web*", "Word 1 of the compound target: found 'and', expected a target"},
                      {"web* and", "found the end"},
                      {"web* db*", "Word 2 of the compound target: found 'db*', expected 'and' or 'or'"},
                      {"web* and or db*", "Word 3 of the compound target: found 'or'"},
                      {"( web*", "found the end, expected ')', 'and' or 'or'"},
                      {"web* )", "Word 2 of the compound target: found ')'"},
                      {"( )", "Word 2 of the compound target: found ')'"},
                      {"not not web*", "Word 2 of the compound target: found 'not'"},
                      {"web* and E@(", "Word 3 of the compound target, 'E@(': "}};
  for (const auto& [expression, part] : rows) {
    const std::string message = error_of(TargetType::compound, expression);
    CHECK_MESSAGE(holds(message, part), message);
  }
}

TEST_CASE("the words and brackets of a compound target are limited") {
  CHECK(holds(error_of(TargetType::compound, "a" + times(125, " or a")), "251 words"));
  CHECK(holds(error_of(TargetType::compound, times(51, "( ") + "a" + times(51, " )")), "50 open brackets"));
}

namespace {

MinionList three_minions() {
  return {
      {"web1",
       Json::trusted(R"({"os": "Debian", "ipv4": ["10.1.0.1", "127.0.0.1"], "ipv6": ["::1", "fe80::1"]})"),
       Json::trusted(R"({"role": "web", "ports": [80, 443], "app": {"db": {"host": "A:b"}}})")},
      {"web2", Json::trusted(R"({"os": "Fedora", "ipv4": ["10.2.0.1"], "ipv6": []})"),
       Json::trusted(R"({"role": "Web*", "app": {"db": {"port": 5432}}})")},
      {"db1",
       Json::trusted(R"({"os": "Debian", "ipv4": "192.168.0.7", "ipv6": null, "roles": ["x-1", "y"]})"),
       Json::trusted(R"({"role": "db", "a": {"b:c": "d"}})")}};
}

std::string matched(TargetType type, std::string_view expression, const Groups& nodegroups = {},
                    std::string_view delimiter = ":") {
  return matched(three_minions(), target_of(type, expression, delimiter), nodegroups);
}

std::string refusal(TargetType type, std::string_view expression, const Groups& nodegroups = {}) {
  return refusal(three_minions(), target_of(type, expression), nodegroups);
}

std::string mistake(const Groups& nodegroups) {
  const auto minions = Minions::make(three_minions(), nodegroups);
  REQUIRE_FALSE(minions);
  CHECK(minions.error().kind == ErrorKind::configuration);
  return minions.error().message;
}

}  // namespace

TEST_CASE("a grain_pcre target matches the start of a value, without regard to case") {
  CHECK(matched(TargetType::grain_pcre, "os:Deb") == "db1 web1");
  CHECK(matched(TargetType::grain_pcre, "os:(DEBIAN|fedora)$") == "db1 web1 web2");
  CHECK(matched(TargetType::grain_pcre, "os:bian").empty());
  CHECK(matched(TargetType::grain_pcre, "roles:[xz]-\\d") == "db1");
  CHECK(matched(TargetType::grain_pcre, "os").empty());
  CHECK(matched(TargetType::grain_pcre, "os|Deb", {}, "|") == "db1 web1");
}

TEST_CASE("a regular expression may contain the delimiter, and is refused with the offset of a mistake") {
  CHECK(matched(TargetType::pillar_pcre, "app:db:host:a:b") == "web1");
  CHECK(matched(TargetType::pillar_pcre, "role:(?:web|db)$") == "db1 web1");
  CHECK(matched(TargetType::pillar_pcre, "*:*:(?:host|port)$") == "web1 web2");
  const std::string message = refusal(TargetType::grain_pcre, "os:(deb");
  CHECK(holds(message, "The target 'os:(deb'"));
  CHECK(holds(message, "offset"));
  CHECK(holds(refusal(TargetType::compound, "J@role:["), "Word 1 of the compound target, 'J@role:['"));
}

TEST_CASE("a pcre target may have 16 levels") {
  const std::string expression = "a" + times(target::kMaxPcreLevels + 1, ":a");
  CHECK(holds(refusal(TargetType::pillar_pcre, expression), "17 levels"));
  CHECK(matched(TargetType::pillar, expression).empty());
}

namespace {

constexpr std::int64_t kLittleWork = 100'000;

/// Returns the part of `kLittleWork` that a failing match did not use.
std::int64_t work_left_by(const std::string& expression, std::string_view delimiter,
                          target::DataMatcher::How how, const std::string& data) {
  JsonDocument document;
  REQUIRE(document.parse(data, JsonLimits::none()));
  target::Work to_compile;
  const auto matcher = target::DataMatcher::compile(expression, delimiter, how, to_compile);
  REQUIRE(matcher);
  target::Work work(kLittleWork);
  CHECK_FALSE(matcher->matches(document.root(), work));
  CHECK(work.is_spent() == (work.left() == 0));
  return work.left();
}

}  // namespace

/// Without a work limit, each match in this test takes more than a day.
TEST_CASE("work on long expressions and long data is limited") {
  using How = target::DataMatcher::How;
  const std::string deep = times(50, R"({"a": )") + "1" + times(50, "}");
  const struct {
    const char* what;
    std::string expression;
    How how;
    std::string data;
  } rows[] = {
      {"levels below another delimiter than the one that is counted", "a|" + times(1'000'000, "a:") + "x",
       How::glob, R"({"a": {"a": {"a": 1}}})"},
      {"stars and a long text", "a|" + times(300'000, "*b") + "c", How::glob,
       R"({"a": ")" + times(600'000, "b") + "\"}"},
      {"a long text for each of many values", "a|" + times(100'000, "x"), How::exact,
       R"({"a": [1)" + times(100'000, ", 1") + "]}"},
      {"any key, and many levels of levels", times(60, "*|") + times(2000, "*:") + "x", How::glob, deep},
      {"a regular expression that tries all ways", "a|(.+)+[!?]$", How::pcre,
       R"({"a": ["c")" + times(10'000, R"(, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac")") + "]}"}};
  for (const auto& row : rows) {
    CHECK_MESSAGE(work_left_by(row.expression, "|", row.how, row.data) == 0, row.what);
  }
  CHECK(work_left_by("a:b:c", ":", How::glob, R"({"a": {"b": ["x", "y"]}})") > kLittleWork - 10);
}

TEST_CASE("all words of a compound target share one limit of work") {
  const std::string endless = "I|@" + times(60, "*|") + times(2000, "*:") + "x";
  CHECK(holds(refusal(TargetType::compound, endless + times(124, " or " + endless)), "too long"));
  CHECK(matched(TargetType::compound, times(124, "I@role:nosuch or ") + "I@role:web*") == "web1 web2");
}

TEST_CASE("the chunks of a request share one limit of work, and a match beyond PCRE2's limits ends it") {
  const auto minions = *Minions::make(three_minions(), {});
  const auto wanted = target_of(TargetType::compound, "E@web.* or web*");
  target::Work work(400);
  std::size_t done = 0;
  while (select(*minions, wanted, work)) ++done;
  CHECK(done > 0);
  CHECK(work.is_spent());
  CHECK(select(*minions, target_of(TargetType::glob, "web*"), work).error().kind == ErrorKind::invocation);
  target::Work late(target::Work::kMost, system_clock().steady());
  CHECK(holds(select(*minions, target_of(TargetType::pcre, "(.+)+[!?]"), late).error().message, "too long"));
  const MinionList long_ids{{std::string(60, 'a'), Json::empty_object(), Json::empty_object()}};
  CHECK(holds(refusal(long_ids, target_of(TargetType::pcre, "(.+)+[!?]")), "too long"));
  CHECK(holds(refusal(long_ids, target_of(TargetType::compound, "not E@(.+)+[!?]")), "too long"));
}

TEST_CASE("a pillar target matches as a grain target does, and pillar_exact has no wildcards") {
  CHECK(matched(TargetType::pillar, "role:web*") == "web1 web2");
  CHECK(matched(TargetType::pillar, "ports:443") == "web1");
  CHECK(matched(TargetType::pillar, "app:db:port") == "web2");
  CHECK(matched(TargetType::pillar, "app:db:host:A:b") == "web1");
  CHECK(matched(TargetType::pillar, "a|b:c|d", {}, "|") == "db1");
  CHECK(matched(TargetType::pillar, "os:Debian").empty());
  CHECK(matched(TargetType::pillar_exact, "role:web*") == "web2");
  CHECK(matched(TargetType::pillar_exact, "role:WEB") == "web1");
  CHECK(matched(TargetType::pillar_exact, "ports:80") == "web1");
  CHECK(matched(TargetType::pillar_exact, "app:db:p*").empty());
}

TEST_CASE("an ipcidr target matches addresses and networks, and is refused if it is neither") {
  CHECK(matched(TargetType::ipcidr, "10.1.0.1") == "web1");
  CHECK(matched(TargetType::ipcidr, "10.0.0.0/8") == "web1 web2");
  CHECK(matched(TargetType::ipcidr, "10.2.0.0/255.255.0.0") == "web2");
  CHECK(matched(TargetType::ipcidr, "192.168.0.7/32") == "db1");
  CHECK(matched(TargetType::ipcidr, "fe80::/10") == "web1");
  CHECK(matched(TargetType::ipcidr, "0:0:0:0:0:0:0:1") == "web1");
  CHECK(matched(TargetType::ipcidr, "11.0.0.0/8").empty());
  for (const char* expression : {"", "10.0.0.1/8", "10.0.0", "web*", "10.0.0.0/33", "fe80::/129"}) {
    CHECK_MESSAGE(holds(refusal(TargetType::ipcidr, expression), "expected an address such as 10.0.0.1"),
                  expression);
  }
}

TEST_CASE("a compound target supports Salt's letters") {
  const Groups groups = {{"web", {"web*"}}};
  const auto of = [&groups](std::string_view words) { return matched(TargetType::compound, words, groups); };
  CHECK(of("P@os:(deb|fed)") == "db1 web1 web2");
  CHECK(of("I@role:web") == "web1");
  CHECK(of("J@role:web") == "web1 web2");
  CHECK(of("S@10.0.0.0/8 and not S@10.1.0.1") == "web2");
  CHECK(of("N@web and G@os:Debian") == "web1");
  CHECK(of("not N@web") == "db1");
  CHECK(of("J|@app|db|port and P|@os|fed") == "web2");
}

TEST_CASE("targets of type range and unknown nodegroups are refused") {
  CHECK(holds(refusal(TargetType::range, "%web"), "range"));
  CHECK(holds(refusal(TargetType::compound, "web* or R@%web"), "Word 3 of the compound target, 'R@%web'"));
  CHECK(holds(refusal(TargetType::nodegroup, "x", {{"b", {"*"}}, {"a", {"*"}}}), "nodegroups: a, b"));
  CHECK(holds(refusal(TargetType::compound, "N@x", {{"a", {"*"}}}), "'N@x': unknown nodegroup"));
}

TEST_CASE("a nodegroup is a compound target, which may contain nodegroups") {
  const Groups groups = {{"all", {"N@web", "or", "N@debian"}},
                         {"web", {"web*"}},
                         {"debian", {"G@os:Debian", "and", "not", "N@web"}},
                         {"list", {"web1", "db1", "nosuch"}},
                         {"pattern", {"web[12]"}},
                         {"none", {"nosuch*"}}};
  const auto of = [&groups](std::string_view name) { return matched(TargetType::nodegroup, name, groups); };
  CHECK(of("all") == "db1 web1 web2");
  CHECK(of("web") == "web1 web2");
  CHECK(of("debian") == "db1");
  CHECK(of("list") == "db1 web1");
  CHECK(of("pattern") == "web1 web2");
  CHECK(of("none").empty());
}

TEST_CASE("commas in the words of a nodegroup separate ids, as in Salt") {
  const Groups groups = {{"text", {"web1,web2"}},
                         {"blank", {"web1,", "web2"}},
                         {"list", {"web1", "web2,db1"}},
                         {"one", {"web1, db1"}},
                         {"ends", {",web1,"}},
                         {"pattern", {"web[12]", "db1"}},
                         {"outer", {"N@text", "or", "db1"}}};
  for (const auto& [name, ids] : {std::pair("text", "web1 web2"),
                                  {"blank", "web1 web2"},
                                  {"list", "db1 web1 web2"},
                                  {"one", "db1 web1"},
                                  {"ends", "web1"},
                                  {"pattern", ""},
                                  {"outer", "db1 web1 web2"}}) {
    CHECK(matched(TargetType::nodegroup, name, groups) == ids);
    CHECK(matched(TargetType::compound, format("N@{}", name), groups) == ids);
  }
}

TEST_CASE("a nodegroup that is no target, or contains itself, is a configuration error") {
  CHECK(mistake({{"a", {}}}).starts_with("nodegroups: a: "));
  CHECK(mistake({{"a", {"N@b"}}}) == "nodegroups: a: unknown nodegroup b");
  CHECK(holds(mistake({{"a", {"web*", "and"}}}), "nodegroups: a: "));
  CHECK(
      holds(mistake({{"a", {"N@b", "or", "*"}}, {"b", {"N@c"}}, {"c", {"not", "N@a"}}}), "contains itself"));
}
