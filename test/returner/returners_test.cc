// SPDX-License-Identifier: MIT
#include "rest_fcgi/returner/returners.h"

#include "etcd_caches.h"

namespace rest_fcgi::returner {
namespace {

using Names = std::vector<std::string>;

Result<std::unique_ptr<Returners>> made(const Options& options) {
  return Returners::make(options, open_store(), system_clock());
}

TEST_CASE("without options jobs are in memory, and a call may name the store") {
  const auto returners = *made({});
  CHECK(returners->names() == Names{"memory", "sqlite3"});
  CHECK(returners->find("memory") == &returners->master_job_cache());
  CHECK(returners->ext_job_caches().empty());
}

TEST_CASE("the caches that options name are opened, each once") {
  Options options;
  options.master_job_cache = "sqlite3";
  options.ext_job_cache = {"memory"};
  const auto returners = *made(options);
  CHECK(returners->names() == Names{"memory", "sqlite3"});
  CHECK(returners->find("sqlite3") == &returners->master_job_cache());
  CHECK(returners->find("sqlite") == &returners->master_job_cache());
  REQUIRE(returners->ext_job_caches().size() == 1);
  CHECK(returners->ext_job_caches()[0] == returners->find("memory"));
}

TEST_CASE(
    "etcd that somebody chose can be named in a call; whether it answers does not matter at the start") {
  Options options = etcd_options();
  options.master_job_cache = "memory";
  CHECK((*made(options))->names() == Names{"etcd", "memory", "sqlite3"});
  options.etcd.is_chosen = false;
  CHECK((*made(options))->names() == Names{"memory", "sqlite3"});
  options.ext_job_cache = {"etcd"};
  CHECK((*made(options))->names() == Names{"etcd", "memory", "sqlite3"});
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
