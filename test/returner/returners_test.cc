// SPDX-License-Identifier: MIT
#include "rest_fcgi/returner/returners.h"

#include <filesystem>

#include "../support/captured_log.h"
#include "etcd_caches.h"
#include "returner/sqlite/database.h"

namespace rest_fcgi::returner {
namespace {

using Names = std::vector<std::string>;

Result<std::unique_ptr<Returners>> made(const Options& options) {
  return Returners::make(options, system_clock());
}

TEST_CASE("without options there is a job cache in memory, and nothing else") {
  const auto returners = *made({});
  CHECK(returners->names() == Names{"memory"});
  CHECK(returners->find("memory") == &returners->master_job_cache());
  CHECK(returners->find("sqlite3") == nullptr);
  CHECK(returners->ext_job_caches().empty());
}

TEST_CASE("the caches that options name are opened, each once") {
  const test::TempDir dir;
  Options options = sqlite_options(dir);
  options.ext_job_cache = {"memory"};
  const auto returners = *made(options);
  CHECK(returners->names() == Names{"memory", "sqlite3"});
  CHECK(returners->find("sqlite3") == &returners->master_job_cache());
  CHECK(returners->find("sqlite") == &returners->master_job_cache());
  REQUIRE(returners->ext_job_caches().size() == 1);
  CHECK(returners->ext_job_caches()[0] == returners->find("memory"));
}

TEST_CASE("a database that somebody chose can be named in a call, even where it is not the master's") {
  const test::TempDir dir;
  Options options = sqlite_options(dir);
  options.master_job_cache = "memory";
  CHECK((*made(options))->names() == Names{"memory", "sqlite3"});
  options.sqlite3.is_default = true;
  CHECK((*made(options))->names() == Names{"memory"});
}

TEST_CASE(
    "etcd that somebody chose can be named in a call; whether it answers does not matter at the start") {
  const test::TempDir dir;
  Options options = etcd_options(dir);
  options.master_job_cache = "memory";
  CHECK((*made(options))->names() == Names{"etcd", "memory"});
  options.etcd.is_chosen = false;
  CHECK((*made(options))->names() == Names{"memory"});
  options.ext_job_cache = {"etcd"};
  options.etcd.spool = dir.write("file", "") + "/etcd";
  const auto returners = made(options);
  REQUIRE_FALSE(returners.ok());
  CHECK(returners.error().kind == ErrorKind::configuration);
  CHECK(returners.error().message.find("etcd cannot be used: " + options.etcd.spool) != std::string::npos);
}

TEST_CASE("a database that was chosen and cannot be had is a mistake in the configuration") {
  const test::TempDir dir;
  Options options = sqlite_options(dir);
  options.sqlite3.database = dir.write("file", "") + "/jobs.db";
  const auto returners = made(options);
  REQUIRE_FALSE(returners.ok());
  CHECK(returners.error().kind == ErrorKind::configuration);
  CHECK(returners.error().message == "sqlite3.database: " + options.sqlite3.database +
                                         " cannot be used: its folder " + (dir / "file") +
                                         " cannot be opened: Not a directory");
}

TEST_CASE("where nobody chose the database and it cannot be had, jobs are in memory, and the log says so") {
  const test::TempDir dir;
  const test::CapturedLog log;
  Options options = sqlite_options(dir);
  options.sqlite3.database = dir.write("file", "") + "/jobs.db";
  options.sqlite3.is_default = true;
  const auto returners = *made(options);
  CHECK(returners->names() == Names{"memory"});
  CHECK(returners->find("memory") == &returners->master_job_cache());
  CHECK(
      log.has("jobs are kept in this process's memory only: sqlite3.database: " + options.sqlite3.database));
}

TEST_CASE("a database that is there and cannot be used is a mistake, also where nobody chose it") {
  const test::TempDir dir;
  Options options = sqlite_options(dir);
  options.sqlite3.is_default = true;
  REQUIRE((*made(options))->names() == Names{"sqlite3"});
  dir.write("jobs/jobs.db", std::string(8192, 'x'));
  const auto returners = made(options);
  REQUIRE_FALSE(returners.ok());
  CHECK(returners.error().kind == ErrorKind::configuration);
  CHECK(returners.error().message ==
        "sqlite3.database: " + options.sqlite3.database + " cannot be used: file is not a database");
}

TEST_CASE("a flush goes to all caches, and tells of the one that failed") {
  const test::TempDir dir;
  const test::CapturedLog log;
  Options options = sqlite_options(dir);
  options.ext_job_cache = {"memory"};
  const auto returners = *made(options);
  CHECK(returners->flush());
  const auto holder = *SqliteConnection::open(options.sqlite3.database, std::chrono::milliseconds(1000));
  REQUIRE(holder->run("BEGIN IMMEDIATE"));
  const Result<void> flushed = returners->flush();
  REQUIRE_FALSE(flushed.ok());
  CHECK(flushed.error().kind == ErrorKind::unavailable);
}

TEST_CASE("a job cache that there is not is a mistake in the configuration") {
  Options options;
  options.ext_job_cache = {"redis"};
  const auto returners = made(options);
  REQUIRE_FALSE(returners.ok());
  CHECK(returners.error().kind == ErrorKind::configuration);
  CHECK(returners.error().message == "master_job_cache: found redis, expected memory, sqlite3 or etcd");
}

}  // namespace
}  // namespace rest_fcgi::returner
