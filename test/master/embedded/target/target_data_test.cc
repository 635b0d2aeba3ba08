// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/holds.h"
#include "selection.h"

using namespace rest_fcgi;
using namespace rest_fcgi::embedded;
using lowstate::TargetType;
using test::Groups;
using test::holds;

namespace {

std::vector<MinionOptions> three_minions() {
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
  return test::matched(three_minions(), test::target_of(type, expression, delimiter), nodegroups);
}

std::string refusal(TargetType type, std::string_view expression, const Groups& nodegroups = {}) {
  return test::refusal(three_minions(), test::target_of(type, expression), nodegroups);
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

TEST_CASE("a regular expression may contain the delimiter") {
  CHECK(matched(TargetType::pillar_pcre, "app:db:host:a:b") == "web1");
  CHECK(matched(TargetType::pillar_pcre, "role:(?:web|db)$") == "db1 web1");
  CHECK(matched(TargetType::pillar_pcre, "*:*:(?:host|port)$") == "web1 web2");
}

TEST_CASE("a wrong regular expression is refused with the offset") {
  const std::string message = refusal(TargetType::grain_pcre, "os:(deb");
  CHECK(holds(message, "The target 'os:(deb'"));
  CHECK(holds(message, "offset"));
  CHECK(holds(refusal(TargetType::compound, "J@role:["), "Word 1 of the compound target, 'J@role:['"));
}

TEST_CASE("a pcre target may have 16 levels") {
  std::string expression = "a";
  for (std::size_t i = 0; i <= target::kMaxPcreLevels; ++i) expression += ":a";
  CHECK(holds(refusal(TargetType::pillar_pcre, expression), "17 levels"));
  CHECK(matched(TargetType::pillar, expression).empty());
}

namespace {

std::string times(std::size_t n, std::string_view text) {
  std::string all;
  for (std::size_t i = 0; i < n; ++i) all += text;
  return all;
}

/// Runs a match that must fail. Returns the part of the work limit that the match did not use.
int work_left_by(const std::string& expression, std::string_view delimiter, target::DataMatcher::How how,
                 const std::string& data) {
  JsonDocument document;
  REQUIRE(document.parse(data, JsonLimits::none()));
  const auto matcher = target::DataMatcher::compile(expression, delimiter, how);
  REQUIRE(matcher);
  int work_left = target::kMaxWork;
  CHECK_FALSE(matcher->matches(document.root(), work_left));
  return work_left;
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
      {"a regular expression that tries all ways", "a|(a+)+(b+)+$", How::pcre,
       R"({"a": ["c")" + times(10'000, R"(, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac")") + "]}"}};
  for (const auto& row : rows) {
    CAPTURE(row.what);
    CHECK(work_left_by(row.expression, "|", row.how, row.data) == 0);
  }
  CHECK(work_left_by("a:b:c", ":", How::glob, R"({"a": {"b": ["x", "y"]}})") > target::kMaxWork - 10);
}

TEST_CASE("all words of a compound target share one limit of work") {
  const std::string endless = "I|@" + times(60, "*|") + times(2000, "*:") + "x";
  std::string words = endless;
  for (int i = 1; i < 125; ++i) words += " or " + endless;
  CHECK(matched(TargetType::compound, words) == "");
  words = "I@role:nosuch";
  for (int i = 1; i < 124; ++i) words += " or I@role:nosuch";
  CHECK(matched(TargetType::compound, words + " or I@role:web*") == "web1 web2");
}

TEST_CASE("a pillar target matches pillar as a grain target matches grains") {
  CHECK(matched(TargetType::pillar, "role:web*") == "web1 web2");
  CHECK(matched(TargetType::pillar, "ports:443") == "web1");
  CHECK(matched(TargetType::pillar, "app:db:port") == "web2");
  CHECK(matched(TargetType::pillar, "app:db:host:A:b") == "web1");
  CHECK(matched(TargetType::pillar, "a|b:c|d", {}, "|") == "db1");
  CHECK(matched(TargetType::pillar, "os:Debian").empty());
}

TEST_CASE("a pillar_exact target has no wildcards") {
  CHECK(matched(TargetType::pillar_exact, "role:web*") == "web2");
  CHECK(matched(TargetType::pillar_exact, "role:WEB") == "web1");
  CHECK(matched(TargetType::pillar_exact, "ports:80") == "web1");
  CHECK(matched(TargetType::pillar_exact, "app:db:p*").empty());
}

TEST_CASE("an ipcidr target matches addresses and networks of both versions") {
  CHECK(matched(TargetType::ipcidr, "10.1.0.1") == "web1");
  CHECK(matched(TargetType::ipcidr, "10.0.0.0/8") == "web1 web2");
  CHECK(matched(TargetType::ipcidr, "10.2.0.0/255.255.0.0") == "web2");
  CHECK(matched(TargetType::ipcidr, "192.168.0.7/32") == "db1");
  CHECK(matched(TargetType::ipcidr, "fe80::/10") == "web1");
  CHECK(matched(TargetType::ipcidr, "0:0:0:0:0:0:0:1") == "web1");
  CHECK(matched(TargetType::ipcidr, "11.0.0.0/8").empty());
}

TEST_CASE("an ipcidr target that is no address is refused") {
  for (const char* expression : {"", "10.0.0.1/8", "10.0.0", "web*", "10.0.0.0/33", "fe80::/129"}) {
    CAPTURE(expression);
    CHECK(holds(refusal(TargetType::ipcidr, expression), "expected an address such as 10.0.0.1"));
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

TEST_CASE("targets of type range are refused") {
  CHECK(holds(refusal(TargetType::range, "%web"), "range"));
  CHECK(holds(refusal(TargetType::compound, "web* or R@%web"), "Word 3 of the compound target, 'R@%web'"));
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

TEST_CASE("an unknown nodegroup is refused with the names of all") {
  CHECK(holds(refusal(TargetType::nodegroup, "x", {{"b", {"*"}}, {"a", {"*"}}}), "nodegroups: a, b"));
  CHECK(holds(refusal(TargetType::compound, "N@x", {{"a", {"*"}}}), "'N@x': unknown nodegroup"));
}

TEST_CASE("a nodegroup that is no target, or contains itself, is a configuration error") {
  CHECK(mistake({{"a", {}}}).starts_with("nodegroups: a: "));
  CHECK(mistake({{"a", {"N@b"}}}) == "nodegroups: a: unknown nodegroup b");
  CHECK(holds(mistake({{"a", {"web*", "and"}}}), "nodegroups: a: "));
  CHECK(
      holds(mistake({{"a", {"N@b", "or", "*"}}, {"b", {"N@c"}}, {"c", {"not", "N@a"}}}), "contains itself"));
}
