// SPDX-License-Identifier: MIT
#include "rest_fcgi/returner/returners.h"

#include "etcd_caches.h"

namespace rest_fcgi::returner {
namespace {

using Names = std::vector<std::string>;

Result<std::unique_ptr<Returners>> made(const Options& options) {
  return Returners::make(options, open_store(), system_clock());
}

TEST_CASE("by default jobs are in memory, and sqlite3 can be named") {
  const auto returners = *made({});
  CHECK(returners->names() == Names{"memory", "sqlite3"});
  CHECK(returners->find("memory") == &returners->master_job_cache());
  CHECK(returners->ext_job_caches().empty());
}

TEST_CASE("each cache of the options is opened once") {
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

TEST_CASE("a chosen etcd is opened, whether it answers or not") {
  Options options = etcd_options();
  options.master_job_cache = "memory";
  CHECK((*made(options))->names() == Names{"etcd", "memory", "sqlite3"});
  options.etcd.is_chosen = false;
  CHECK((*made(options))->names() == Names{"memory", "sqlite3"});
  options.ext_job_cache = {"etcd"};
  CHECK((*made(options))->names() == Names{"etcd", "memory", "sqlite3"});
}

TEST_CASE("an unknown job cache is an error of the configuration") {
  Options options;
  options.ext_job_cache = {"redis"};
  const auto returners = made(options);
  REQUIRE_FALSE(returners.ok());
  CHECK(returners.error().kind == ErrorKind::configuration);
  CHECK(returners.error().message == "master_job_cache: found redis, expected memory, sqlite3 or etcd");
}

}  // namespace
}  // namespace rest_fcgi::returner
