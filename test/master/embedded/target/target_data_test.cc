// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/holds.h"
#include "endless_work.h"
#include "master/embedded/target/target.h"

using namespace rest_fcgi;
using namespace rest_fcgi::embedded;
using lowstate::TargetType;
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

Result<Selection> selected(TargetType type, std::string_view expression,
                           const std::vector<master::NodegroupOptions>& nodegroups = {},
                           std::string_view delimiter = ":") {
  const auto minions = Minions::make(three_minions(), nodegroups);
  REQUIRE(minions);
  lowstate::Target target;
  target.type = type;
  target.expression = expression;
  target.delimiter = delimiter;
  return select(**minions, target);
}

/// The ids with blanks between them. Minions are sorted: db1, web1, web2.
std::string matched(TargetType type, std::string_view expression,
                    const std::vector<master::NodegroupOptions>& nodegroups = {},
                    std::string_view delimiter = ":") {
  const Result<Selection> selection = selected(type, expression, nodegroups, delimiter);
  if (!selection) FAIL(selection.error().message);
  const char* const ids[] = {"db1", "web1", "web2"};
  std::string text;
  for (const std::size_t position : selection->positions)
    text.append(text.empty() ? "" : " ") += ids[position];
  return text;
}

std::string refusal(TargetType type, std::string_view expression,
                    const std::vector<master::NodegroupOptions>& nodegroups = {}) {
  const Result<Selection> selection = selected(type, expression, nodegroups);
  REQUIRE_FALSE(selection);
  CHECK(selection.error().kind == ErrorKind::invocation);
  return selection.error().message;
}

std::string mistake(const std::vector<master::NodegroupOptions>& nodegroups) {
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

TEST_CASE("a regular expression may hold the delimiter") {
  CHECK(matched(TargetType::pillar_pcre, "app:db:host:a:b") == "web1");
  CHECK(matched(TargetType::pillar_pcre, "role:(?:web|db)$") == "db1 web1");
  CHECK(matched(TargetType::pillar_pcre, "*:*:(?:host|port)$") == "web1 web2");
}

TEST_CASE("a pcre target with a regular expression that is none says where it is wrong") {
  const std::string message = refusal(TargetType::grain_pcre, "os:(deb");
  CHECK(holds(message, "The target 'os:(deb'"));
  CHECK(holds(message, "offset"));
  CHECK(holds(refusal(TargetType::compound, "J@role:["), "Word 1 of the compound target, 'J@role:['"));
}

TEST_CASE("a pcre target has fewer levels than others") {
  std::string expression = "a";
  for (std::size_t i = 0; i <= target::kMaxPcreLevels; ++i) expression += ":a";
  CHECK(holds(refusal(TargetType::pillar_pcre, expression), "17 levels below each other; at most 16"));
  CHECK(matched(TargetType::pillar, expression).empty());
}

TEST_CASE("a pcre target that would take too much work ends, and does not match") {
  check_that_work_ends(target::DataMatcher::How::pcre, target::kMaxPcreLevels);
}

namespace {

std::string times(std::size_t n, std::string_view text) {
  std::string all;
  for (std::size_t i = 0; i < n; ++i) all += text;
  return all;
}

/// What is left of the work there may be, where nothing matches.
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

/// None of these ends within a day where what it does is not counted.
TEST_CASE("work on long expressions and long data is counted, and ends") {
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

TEST_CASE("all words of a compound target share the work for one minion, and a common one has plenty") {
  const std::string endless = "I|@" + times(60, "*|") + times(2000, "*:") + "x";
  std::string words = endless;
  for (int i = 1; i < 125; ++i) words += " or " + endless;
  CHECK(matched(TargetType::compound, words) == "");
  words = "I@role:nosuch";
  for (int i = 1; i < 124; ++i) words += " or I@role:nosuch";
  CHECK(matched(TargetType::compound, words + " or I@role:web*") == "web1 web2");
}

TEST_CASE("a pillar target looks at the pillar as a grain target does at the grains") {
  CHECK(matched(TargetType::pillar, "role:web*") == "web1 web2");
  CHECK(matched(TargetType::pillar, "ports:443") == "web1");
  CHECK(matched(TargetType::pillar, "app:db:port") == "web2");
  CHECK(matched(TargetType::pillar, "app:db:host:A:b") == "web1");
  CHECK(matched(TargetType::pillar, "a|b:c|d", {}, "|") == "db1");
  CHECK(matched(TargetType::pillar, "os:Debian").empty());
}

TEST_CASE("a pillar_exact target knows no wildcards in values") {
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

TEST_CASE("an ipcidr target that is no address says what is one") {
  for (const char* expression : {"", "10.0.0.1/8", "10.0.0", "web*", "10.0.0.0/33", "fe80::/129"}) {
    CAPTURE(expression);
    CHECK(holds(refusal(TargetType::ipcidr, expression), "neither an address such as 10.0.0.1"));
  }
}

TEST_CASE("a compound target has every letter that Salt has") {
  const std::vector<master::NodegroupOptions> groups = {{"web", {"web*"}}};
  const auto of = [&groups](std::string_view words) { return matched(TargetType::compound, words, groups); };
  CHECK(of("P@os:(deb|fed)") == "db1 web1 web2");
  CHECK(of("I@role:web") == "web1");
  CHECK(of("J@role:web") == "web1 web2");
  CHECK(of("S@10.0.0.0/8 and not S@10.1.0.1") == "web2");
  CHECK(of("N@web and G@os:Debian") == "web1");
  CHECK(of("not N@web") == "db1");
  CHECK(of("J|@app|db|port and P|@os|fed") == "web2");
}

TEST_CASE("range is not supported, and says so") {
  CHECK(
      refusal(TargetType::range, "%web") ==
      "The target '%web': range is not supported by the embedded engine, which has no range server to ask.");
  CHECK(holds(refusal(TargetType::compound, "web* or R@%web"),
              "Word 3 of the compound target, 'R@%web': range is not supported"));
}

TEST_CASE("a nodegroup is a compound target, also with other nodegroups in it") {
  const std::vector<master::NodegroupOptions> groups = {{"all", {"N@web", "or", "N@debian"}},
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

TEST_CASE("a nodegroup that does not exist is refused with the names of those that do") {
  CHECK(refusal(TargetType::nodegroup, "x") == "The target 'x': there are no nodegroups here.");
  CHECK(refusal(TargetType::nodegroup, "x", {{"b", {"*"}}, {"a", {"*"}}}) ==
        "The target 'x': the nodegroups here are a, b.");
  CHECK(holds(refusal(TargetType::compound, "N@x", {{"a", {"*"}}}), "'N@x': the nodegroups here are a"));
}

TEST_CASE("a nodegroup that is no target is a mistake in the configuration") {
  CHECK(mistake({{"a", {}}}) == "nodegroups: a: is empty; it must be a compound target");
  CHECK(mistake({{"a", {"N@b"}}}) == "nodegroups: a: there is no nodegroup b");
  CHECK(holds(mistake({{"a", {"web*", "and"}}}), "nodegroups: a: The compound target ends"));
}

TEST_CASE("a nodegroup that lies in itself is a mistake in the configuration") {
  CHECK(holds(mistake({{"a", {"N@a"}}}), "nodegroups: a: lies in itself"));
  CHECK(holds(mistake({{"a", {"N@b", "or", "*"}}, {"b", {"N@c"}}, {"c", {"not", "N@a"}}}), "lies in itself"));
}
