// SPDX-License-Identifier: MIT
#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "config_dir.h"

namespace rest_fcgi::config {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

returner::Options options_of(const std::string& master) {
  return settings_of(master).returner;
}

TEST_CASE("by default jobs are kept in a database in cachedir, where that can be had") {
  const returner::Options options = options_of("");
  CHECK(options.master_job_cache == "sqlite3");
  CHECK(options.ext_job_cache.empty());
  CHECK(settings_of("").store.path == "/var/cache/salt/master/rest_fcgi/state.db");
  CHECK(settings_of("").store.may_be_in_memory);
  CHECK(options.keep_jobs_seconds == hours(24));
  CHECK(settings_of("root_dir: /srv\ncachedir: /c\n").store.path == "/srv/c/rest_fcgi/state.db");
}

TEST_CASE("job caches go by Salt's names") {
  CHECK(options_of("master_job_cache: memory\n").master_job_cache == "memory");
  for (const char* name : {"local_cache", "sqlite3", "sqlite"}) {
    CHECK(options_of(std::string("master_job_cache: ") + name).master_job_cache == "sqlite3");
  }
  CHECK(error_of("master_job_cache: redis\n") ==
        "master:1: master_job_cache: found \"redis\", expected local_cache, sqlite3, etcd or memory");
}

TEST_CASE("other job caches that get all returns are separated by commas") {
  using Names = std::vector<std::string>;
  CHECK(options_of("ext_job_cache: ''\n").ext_job_cache.empty());
  CHECK(options_of("ext_job_cache: memory\n").ext_job_cache == Names{"memory"});
  CHECK(options_of("master_job_cache: memory\next_job_cache: sqlite\n").ext_job_cache == Names{"sqlite3"});
  CHECK(options_of("ext_job_cache: 'sqlite3, memory'\n").ext_job_cache == Names{"memory"});
  CHECK(error_of("ext_job_cache: memory,,redis\n")
            .starts_with("master:1: ext_job_cache: found \"memory,,redis\", expected names of job caches, "
                         "separated by commas"));
}

TEST_CASE("jobs may be in memory only where the file does not name sqlite3") {
  for (const char* master : {"", "master_job_cache: memory\n", "master_job_cache: local_cache\n"}) {
    CHECK(settings_of(master).store.may_be_in_memory);
  }
  for (const char* master :
       {"master_job_cache: sqlite3\n", "master_job_cache: memory\next_job_cache: sqlite3\n"}) {
    CHECK_FALSE(settings_of(master).store.may_be_in_memory);
  }
}

TEST_CASE("keys of earlier releases are warned of, with what replaces them") {
  const Settings settings =
      settings_of("sqlite3.database: /d/jobs.db\nsqlite3.timeout: 0.5\nrest_fcgi: {jobs_kept: 10}\n");
  REQUIRE(settings.warnings.size() == 3);
  const auto says = [&](std::size_t i, std::string_view part) {
    return settings.warnings[i].find(part) != std::string::npos;
  };
  CHECK(says(0,
             "master:1: sqlite3.database: has no effect in this release: jobs are in "
             "/var/cache/salt/master/rest_fcgi/state.db"));
  CHECK(says(1, "master:2: sqlite3.timeout: has no effect in this release: "));
  CHECK(says(2, "master:3: rest_fcgi: jobs_kept: has no effect in this release: "));
}

TEST_CASE("the summary says where jobs are kept, and for how long") {
  const ConfigDir dir("master_job_cache: memory\nkeep_jobs_seconds: 0\n");
  CHECK(summary(*dir.load(), dir.command_line()).find("jobs:     in memory, for ever\n") !=
        std::string::npos);
}

TEST_CASE("hours of keep_jobs count where nobody said seconds, with a warning") {
  CHECK(options_of("keep_jobs_seconds: 60\n").keep_jobs_seconds == seconds(60));
  CHECK(options_of("keep_jobs_seconds: 0\n").keep_jobs_seconds == seconds(0));
  CHECK(options_of("keep_jobs: 48\nkeep_jobs_seconds: 60\n").keep_jobs_seconds == seconds(60));
  CHECK(settings_of("keep_jobs: 24\n").warnings.empty());
  const ConfigDir dir("keep_jobs: 48\n");
  const Settings settings = *dir.load();
  CHECK(settings.returner.keep_jobs_seconds == hours(48));
  REQUIRE(settings.warnings.size() == 1);
  CHECK(dir.without_dir(settings.warnings[0]) ==
        "master:1: keep_jobs: is Salt's old name; keep_jobs_seconds is the new one, in seconds");
  CHECK(error_of("keep_jobs_seconds: soon\n")
            .starts_with("master:1: keep_jobs_seconds: found \"soon\", expected "));
}

}  // namespace
}  // namespace rest_fcgi::config
