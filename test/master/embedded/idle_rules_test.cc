// SPDX-License-Identifier: MIT
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../support/embedded_engine.h"
#include "../../support/temp_dir.h"

using namespace rest_fcgi;
using test::EmbeddedEngine;

namespace {

/// The texts of the idle parts of one rule of fred, each behind a blank.
std::string idle_in(const EmbeddedEngine& engine, auth::Rule rule) {
  std::string texts;
  for (const embedded::IdlePart& part :
       engine.runtime->idle_parts({{"file", {}, {{"fred", {std::move(rule)}}}}})) {
    texts += " " + part.text;
  }
  return texts;
}

auth::Rule rule(std::string scope, const std::vector<std::string>& functions) {
  auth::Rule made{std::move(scope), {}, "master:7"};
  for (const std::string& function : functions) made.functions.push_back({function, {}, "master:8"});
  return made;
}

}  // namespace

TEST_CASE("functions of rules that no function's name fits are told, with the names that there are") {
  const EmbeddedEngine engine;
  CHECK(idle_in(engine, rule("", {"test.ping", "test.*", ".*", "(test|nosuch)\\.p.*", "network.interfaces"}))
            .empty());
  CHECK(idle_in(engine, rule("", {"test.pnig", "tset.*", "(tset|nosuch)\\.ping"})) ==
        " test.pnig tset.* (tset|nosuch)\\.ping");
  const auto parts =
      engine.runtime->idle_parts({{"file", {}, {{"fred", {rule("ms-*", {"test.ping", "pkg.install"})}}}}});
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].place == "master:8: external_auth: file: fred");
  CHECK(parts[0].text == "pkg.install");
  for (const char* name : {"test.ping", "test.*", "network.interfaces", "network.*"}) {
    CHECK_MESSAGE(std::find(parts[0].names.begin(), parts[0].names.end(), name) != parts[0].names.end(),
                  name);
  }
}

TEST_CASE("runners and wheels of rules are looked for by form and by module") {
  const EmbeddedEngine engine;
  CHECK(idle_in(engine, rule("@runner", {})).empty());
  CHECK(idle_in(engine, rule("@events", {})).empty());
  CHECK(idle_in(engine, rule("@runners", {"manage.*", "manage.upp", "key.list"})) == " manage.upp key.list");
  CHECK(idle_in(engine, rule("@wheel", {"key.list", "manage.up"})) == " manage.up");
  CHECK(idle_in(engine, rule("@jobs", {"list_job.*", "jobs.list_jobs"})) == " jobs.list_jobs");
  CHECK(idle_in(engine, rule("@cloud", {})) == " @cloud");
}

TEST_CASE("targets of rules that match no minion are told, of every form") {
  const EmbeddedEngine engine;
  for (const char* target : {"*", "ms-0", "L@ms-2,db", "E@ms-\\d", "G@role:web", "not web*", "ms-0 or db"}) {
    CHECK_MESSAGE(idle_in(engine, rule(target, {"test.ping"})).empty(), target);
  }
  for (const std::string target :
       {"web*", "ms-9", "L@a,b", "E@ms-\\d\\d", "G@role:nosuch", "ms-0 and ms-1"}) {
    CHECK(idle_in(engine, rule(target, {"test.ping"})) == " " + target);
  }
}

TEST_CASE("a function of a module that cannot be loaded is not told") {
  const test::TempDir dir;
  std::ofstream(dir.path() / "broken.py") << "import nosuch_module_of_python\n\ndef run():\n    return 1\n";
  std::ofstream(dir.path() / "whole.py") << "def run():\n    return 1\n";
  embedded::Options options;
  options.modules.module_dirs = {dir.path()};
  const EmbeddedEngine engine(options);
  CHECK(idle_in(engine, rule("", {"broken.run", "broken.other", "whole.run", "whole.other"})) ==
        " whole.other");
}
