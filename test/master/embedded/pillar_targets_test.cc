// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../support/embedded_engine.h"

namespace rest_fcgi::embedded {
namespace {

using test::EmbeddedEngine;

Options with_pillars() {
  Options options;
  options.minions = {{"ms-0", Json::empty_object(), Json::trusted(R"({"secret": "abc"})")},
                     {"ms-1", Json::empty_object(), Json::trusted(R"({"secret": "abd"})")},
                     {"ms-2", Json::empty_object(), Json::empty_object()}};
  options.nodegroups = {
      {"holders", {"I@secret:*"}}, {"outer", {"N@holders", "or", "ms-2"}}, {"plain", {"ms-1"}}};
  return options;
}

std::string local(std::string_view tgt, std::string_view type = "compound") {
  return format(R"("client": "local", "fun": "test.ping", "tgt": "{}", "tgt_type": "{}")", tgt, type);
}

/// Publishes a job and returns the ids of the minions in its target. Returns "refused" if the user may not
/// run the job.
std::string reached(EmbeddedEngine& engine, std::string_view user, std::string_view members) {
  const auto permit = engine.master->admit(engine.chunk(members, user), EmbeddedEngine::soon());
  if (!permit) {
    CHECK(permit.error().kind == ErrorKind::authorization);
    return "refused";
  }
  const auto job = engine.master->publish(*permit, {}, std::make_shared<master::Returns>());
  REQUIRE(job);
  std::string ids;
  for (const std::string& id : job->minions) ids += id + " ";
  return ids;
}

struct Looks {
  const char* type;
  const char* matches;
  const char* does_not;
};
constexpr Looks kLooks[] = {
    {"pillar", "secret:a*", "secret:x*"},
    {"pillar_pcre", "secret:ab[cd]", "secret:x.*"},
    {"pillar_exact", "secret:abc", "secret:x"},
    {"compound", "I@secret:a*", "I@secret:x*"},
    {"compound", "J|@secret|ab.", "J@secret:x"},
    {"compound", "ms-0 and I@secret:abc", "ms-0 and I@secret:x"},
    {"compound", "* or I@secret:a*", "* or I@secret:x*"},
    {"compound", "not I@secret:x", "not I@secret:abc"},
    {"compound", "N@holders", "N@outer"},
    {"nodegroup", "outer", "holders"},
};

TEST_CASE("without a rule for pillar, targets that look into pillar are refused, whether they match or not") {
  EmbeddedEngine engine(with_pillars());
  for (const Looks& looks : kLooks) {
    CAPTURE(looks.matches);
    CHECK(reached(engine, "hal", local(looks.matches, looks.type)) == "refused");
    CHECK(reached(engine, "hal", local(looks.does_not, looks.type)) == "refused");
    CHECK(reached(engine, "fred", local(looks.matches, looks.type)) != "refused");
  }
  CHECK(reached(engine, "hal", local("*")) == "ms-0 ms-1 ms-2 ");
  CHECK(reached(engine, "hal", local("plain", "nodegroup")) == "ms-1 ");
}

TEST_CASE("with a rule for pillar on some minions, targets look into the pillar of these only") {
  EmbeddedEngine engine(with_pillars());
  CHECK(reached(engine, "gus", local("secret:ab*", "pillar")) == "ms-0 ");
  CHECK(reached(engine, "gus", local("I@secret:ab* or ms-2")) == "ms-0 ms-2 ");
  CHECK(reached(engine, "gus", local("not I@secret:abc")).empty());
  CHECK(reached(engine, "gus", local("not I@secret:x")) == "ms-0 ");
  CHECK(reached(engine, "gus", local("N@holders")) == "ms-0 ");
  CHECK(reached(engine, "gus", local("ms-1 and I@secret:abd")) == "refused");
  CHECK(reached(engine, "gus", local("ms-1 and I@secret:x")) == "refused");
  CHECK(reached(engine, "fred", local("secret:ab*", "pillar")) == "ms-0 ms-1 ");
}

TEST_CASE("the same rules apply to a runner's target") {
  EmbeddedEngine engine(with_pillars());
  for (const Looks& looks : kLooks) {
    CAPTURE(looks.matches);
    for (const char* tgt : {looks.matches, looks.does_not}) {
      const std::string members =
          format(R"("client": "runner", "fun": "manage.up", "kwarg": {{"tgt": "{}", "tgt_type": "{}"}})", tgt,
                 looks.type);
      CHECK(engine.refusal(members, "hal").kind == ErrorKind::authorization);
      CHECK(engine.admits(members));
    }
  }
  CHECK(engine.admits(R"("client": "runner", "fun": "manage.up", "arg": ["ms-*"])", "hal"));
}

}  // namespace
}  // namespace rest_fcgi::embedded
