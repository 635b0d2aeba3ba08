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

TEST_CASE("by default jobs are in a database in cachedir") {
  const returner::Options options = options_of("");
  CHECK(options.master_job_cache == "sqlite3");
  CHECK(options.ext_job_cache.empty());
  CHECK(settings_of("").store.path == "/var/cache/salt/master/rest_fcgi/state.db");
  CHECK(settings_of("").store.may_be_in_memory);
  CHECK(options.keep_jobs_seconds == hours(24));
  CHECK(settings_of("root_dir: /srv\ncachedir: /c\n").store.path == "/srv/c/rest_fcgi/state.db");
}

TEST_CASE("job caches have Salt's names") {
  CHECK(options_of("master_job_cache: memory\n").master_job_cache == "memory");
  for (const char* name : {"local_cache", "sqlite3", "sqlite"}) {
    CHECK(options_of(std::string("master_job_cache: ") + name).master_job_cache == "sqlite3");
  }
  check_message(error_of("master_job_cache: redis\n"), "master:1: master_job_cache: found \"redis\"",
                {"sqlite3"});
}

TEST_CASE("ext_job_cache names job caches, separated by commas") {
  using Names = std::vector<std::string>;
  CHECK(options_of("ext_job_cache: ''\n").ext_job_cache.empty());
  CHECK(options_of("ext_job_cache: memory\n").ext_job_cache == Names{"memory"});
  CHECK(options_of("master_job_cache: memory\next_job_cache: sqlite\n").ext_job_cache == Names{"sqlite3"});
  CHECK(options_of("ext_job_cache: 'sqlite3, memory'\n").ext_job_cache == Names{"memory"});
  check_message(error_of("ext_job_cache: memory,,redis\n"),
                "master:1: ext_job_cache: found \"memory,,redis\"");
}

TEST_CASE("jobs may be in memory unless the file names sqlite3") {
  for (const char* master : {"", "master_job_cache: memory\n", "master_job_cache: local_cache\n"}) {
    CHECK(settings_of(master).store.may_be_in_memory);
  }
  for (const char* master :
       {"master_job_cache: sqlite3\n", "master_job_cache: memory\next_job_cache: sqlite3\n"}) {
    CHECK_FALSE(settings_of(master).store.may_be_in_memory);
  }
}

TEST_CASE("a removed key is a warning with its place") {
  const std::string salt =
      "sqlite3.database: /d/jobs.db\nsqlite3.timeout: 0.5\nkeep_jobs: 48\ntoken_dir: ''\n"
      "etcd.tokens_root: /t\netcd.tokens_profile: p\n";
  const std::string ours =
      "rest_fcgi:\n  jobs_kept: 10\n  jobs_spool_bytes: 1M\n  send_timeout: 5\n  keep_conn_timeout: 5\n"
      "  max_nesting: 5\n  max_key_length: 64\n  max_values: 1000\n  max_http_connections: 10\n"
      "  max_http_body_bytes: 1M\n  master_connections: 3\n  logged_out_file: /f\n"
      "  salt_ssh: {max_running: 1}\n  login_guard: {file: /f}\n"
      "  embedded: {proc_dir: /p, max_queued_bytes: 1M}\n  netapi: [rest_tornado]\n"
      "rest_tornado: {token_in_url: true}\n";
  const ConfigDir dir(salt + ours);
  const auto settings = dir.load();
  REQUIRE(settings);
  CHECK(settings->warnings.size() == 22);
  for (const std::string& warning : settings->warnings)
    check_message(dir.without_dir(warning), "master:", {": this key has no effect"});
  check_message(dir.without_dir(settings->warnings.front()), "master:4: token_dir: ");
}

TEST_CASE("keep_jobs_seconds is the age of jobs") {
  CHECK(options_of("keep_jobs_seconds: 60\n").keep_jobs_seconds == seconds(60));
  CHECK(options_of("keep_jobs_seconds: 0\n").keep_jobs_seconds == seconds(0));
  check_message(error_of("keep_jobs_seconds: soon\n"), "master:1: keep_jobs_seconds: found \"soon\"");
}

}  // namespace
}  // namespace rest_fcgi::config
