// SPDX-License-Identifier: MIT
#include "master/embedded/minion.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../support/holds.h"
#include "master/embedded/host/grains.h"

using namespace rest_fcgi;
using namespace rest_fcgi::embedded;
using test::holds;

namespace {

std::string error_of(std::vector<MinionOptions> options) {
  const auto minions = Minions::make(options);
  REQUIRE_FALSE(minions);
  CHECK(minions.error().kind == ErrorKind::configuration);
  return minions.error().message;
}

MinionOptions with_grains(const char* grains) {
  return {"m", Json::trusted(grains), Json::empty_object()};
}

JsonValue grain(const Minions& minions, std::string_view name) {
  return minions.all().front().grains.root().find(name).value_or(JsonValue());
}

}  // namespace

TEST_CASE("without a declared minion there is one with the host's name") {
  const auto minions = *Minions::make({});
  REQUIRE(minions->all().size() == 1);
  CHECK(minions->all().front().id == host_name());
  CHECK(grain(*minions, "id").text() == host_name());
}

TEST_CASE("minions are sorted by id") {
  const auto minions = *Minions::make({{.id = "b"}, {.id = "c"}, {.id = "a"}});
  CHECK(minions->position("a") == 0);
  CHECK(minions->position("c") == 2);
  CHECK_FALSE(minions->position("d").has_value());
}

TEST_CASE("an empty, long or path-like id is a configuration error") {
  for (const std::string& id : {std::string(), std::string("."), std::string(".."), std::string("a/b"),
                                std::string("a\0b", 3), std::string(256, 'x')}) {
    CHECK_MESSAGE(holds(error_of({{.id = id}}), "minion id"), id);
  }
  CHECK(Minions::make({{.id = std::string(255, 'x')}}));
}

TEST_CASE("an id that is used twice, and grains or pillar that are no map, are configuration errors") {
  CHECK(holds(error_of({{.id = "a"}, {.id = "b"}, {.id = "a"}}), "two minions have the id a"));
  CHECK(holds(error_of({with_grains("[1]")}), "grains of minion m: found list"));
  CHECK(holds(error_of({{"m", Json::empty_object(), Json::integer(1)}}), "pillar of minion m: found int"));
}

TEST_CASE("declared grains override those of the host, but not the id") {
  const auto minions = *Minions::make({with_grains(R"({"os": "Plan9", "mine": {"a": 1}, "id": "other"})")});
  CHECK(grain(*minions, "os").text() == "Plan9");
  CHECK(grain(*minions, "mine").json().text() == R"({"a": 1})");
  CHECK(grain(*minions, "id").text() == "m");
  CHECK(grain(*minions, "kernel").text() == "Linux");
}

TEST_CASE("grains and pillar may have more values than a request") {
  std::string many = "[0";
  for (int i = 0; i < 120'000; ++i) many += ", 0";
  const Json data = Json::trusted("{\"many\": " + many + "]}");
  const auto minions = *Minions::make({{.id = "m", .grains = data, .pillar = data}});
  CHECK(grain(*minions, "many").size() == 120'001);
  CHECK(grain(*minions, "kernel").text() == "Linux");
  CHECK(minions->all()[0].pillar.root().find("many")->size() == 120'001);
}

TEST_CASE("the operating system's grains are the same as Salt's grains from os-release") {
  CHECK(
      os_grains("NAME=\"Debian GNU/Linux\"\nID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n")
          .text() ==
      R"({"os": "Debian", "os_family": "Debian", "osfullname": "Debian GNU/Linux", "oscodename": "bookworm", )"
      R"("osrelease": "12", "osmajorrelease": 12, "osrelease_info": [12], "osfinger": "Debian-12"})");
  CHECK(
      os_grains(
          "NAME='Ubuntu'\nID=ubuntu\nID_LIKE=debian\nVERSION=\"22.04 (Jammy Jellyfish)\"\nVERSION_ID=22.04\n")
          .text() ==
      R"({"os": "Ubuntu", "os_family": "Debian", "osfullname": "Ubuntu", "oscodename": "Jammy Jellyfish", )"
      R"("osrelease": "22.04", "osmajorrelease": 22, "osrelease_info": [22, 4], "osfinger": "Ubuntu-22.04"})");
  CHECK(os_grains("# a comment\nNAME=\"Rocky Linux\"\nID=rocky\nVERSION_ID=\"9.3\"\n").text() ==
        R"({"os": "Rocky", "os_family": "RedHat", "osfullname": "Rocky Linux", "osrelease": "9.3", )"
        R"("osmajorrelease": 9, "osrelease_info": [9, 3], "osfinger": "Rocky Linux-9"})");
  // A distribution that Salt does not know keeps its name. ID_LIKE gives its grain os_family.
  CHECK(
      os_grains("NAME=\"Own Linux\"\nID=own\nID_LIKE=\"ours fedora\"\nVERSION_ID=rolling\n").text() ==
      R"({"os": "Own", "os_family": "RedHat", "osfullname": "Own Linux", "osrelease": "rolling", "osrelease_info": ["rolling"], "osfinger": "Own Linux-rolling"})");
  CHECK(os_grains("").text() == R"({"os": "Linux", "os_family": "Linux", "osfullname": "Linux"})");
}
