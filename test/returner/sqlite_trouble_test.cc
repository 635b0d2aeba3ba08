// SPDX-License-Identifier: MIT
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <future>

#include "../support/captured_log.h"
#include "caches.h"
#include "returner/sqlite/database.h"

// A database that cannot be written, for one reason or another.

namespace rest_fcgi::returner {
namespace {

/// With a job that was kept before the trouble.
struct SqliteTrouble {
  test::TempDir dir;
  test::ManualClock clock;
  test::CapturedLog log;
  Options options;
  std::unique_ptr<Returner> cache;

  explicit SqliteTrouble(std::size_t spool_bytes = 256 * 1024) : options(sqlite_options(dir)) {
    options.sqlite3.timeout = std::chrono::milliseconds(50);
    options.spool_bytes = spool_bytes;
    cache = open_sqlite(options, clock);
    save(0, Durability::durable);
  }

  void save(int number, Durability durability = Durability::grouped) const {
    const Result<void> saved = cache->save_load(load_of(jid_number(number)), durability);
    CHECK_MESSAGE(saved.ok(), saved.error().message);
  }

  /// What a caller is told who wants to read.
  [[nodiscard]] std::string refusal() const {
    const auto load = cache->get_load(jid_number(0));
    REQUIRE_FALSE(load.ok());
    CHECK(load.error().kind == ErrorKind::unavailable);
    return load.error().message;
  }
};

/// Another process that holds the database for itself.
struct Lock {
  std::unique_ptr<SqliteConnection> holder;

  explicit Lock(const Options& options) {
    holder = *SqliteConnection::open(options.sqlite3.database, std::chrono::milliseconds(1000));
    REQUIRE(holder->run("BEGIN IMMEDIATE"));
  }
};

/// No file of this process may grow beyond that. Until it goes.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    ignored_ = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, ignored_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*ignored_)(int) = nullptr;
};

TEST_CASE("while the database is locked, jobs wait and callers are told; the log says it once") {
  const SqliteTrouble trouble;
  {
    const Lock lock(trouble.options);
    for (int i = 1; i <= 10; ++i) trouble.save(i);
    CHECK(trouble.refusal() == "The job cache sqlite3 cannot be used now: database is locked.");
    CHECK_FALSE(trouble.cache->save_load(load_of(jid_number(11)), Durability::durable).ok());
    CHECK_FALSE(trouble.cache->prep_jid(jid_number(12)).ok());
    CHECK_FALSE(trouble.cache->clean_old_jobs().ok());
    CHECK(count(trouble.log.text(), "cannot be written: database is locked. Jobs wait in its spool.") == 1);
  }
  CHECK(jids_of(*trouble.cache).size() == 11);
  CHECK(count(trouble.log.text(), "is written again; nothing was lost") == 1);
  CHECK(*trouble.cache->prep_jid(jid_number(11)));
}

TEST_CASE("a write that failed waits for nobody who reads") {
  const SqliteTrouble trouble;
  std::future<void> writes;
  const Result<void> walked = trouble.cache->get_jids({}, [&](const Load&) {
    writes = std::async(std::launch::async, [&] {
      {
        const Lock lock(trouble.options);
        CHECK_FALSE(trouble.cache->save_load(load_of(jid_number(1)), Durability::durable).ok());
      }
      trouble.save(2, Durability::durable);
    });
    CHECK(writes.wait_for(std::chrono::seconds(30)) == std::future_status::ready);
    return false;
  });
  CHECK(walked);
  writes.get();
  CHECK(trouble.cache->get_load(jid_number(2))->has_value());
}

TEST_CASE("what finds no room in the spool is counted as lost, and that is said") {
  const SqliteTrouble trouble(64 * 1024);
  {
    const Lock lock(trouble.options);
    trouble.save(1);
    (void)trouble.refusal();
    for (int i = 2; i < 1000; ++i) {
      trouble.save(i);
      CHECK(trouble.cache->returner(jid_number(i), return_of("ms-0", "x")));
    }
    const std::string refusal = trouble.refusal();
    CHECK(refusal.find("database is locked. Missing: ") != std::string::npos);
    CHECK(refusal.find(" returns were lost.") != std::string::npos);
    CHECK(count(trouble.log.text(), "its spool is full: jobs are lost from now on") == 1);
  }
  const std::size_t kept = jids_of(*trouble.cache).size();
  CHECK(kept > 100);
  CHECK(kept < 1000);
  CHECK(trouble.log.has("is written again; " + std::to_string(1000 - kept) + " jobs and "));
}

TEST_CASE("of a whole job that finds no room, all returns are counted as lost") {
  const SqliteTrouble trouble(64 * 1024);
  {
    const Lock lock(trouble.options);
    const std::string large = Json::string(std::string(7'000, 'x')).text();
    const std::vector<ReturnView> returns{{"ms-0", large}, {"ms-1", "true"}, {"ms-2", "true"}};
    for (int i = 0; i < 20; ++i) CHECK(trouble.cache->save_job(load_of(jid_number(i)), returns));
    (void)trouble.refusal();
  }
  const std::size_t lost = 20 - jids_of(*trouble.cache).size();
  CHECK(lost > 10);
  CHECK(
      trouble.log.has(std::to_string(lost) + " jobs and " + std::to_string(3 * lost) + " returns were lost"));
}

TEST_CASE("a return that is larger than the spool is lost where the database is locked, and that is said") {
  const SqliteTrouble trouble(64 * 1024);
  {
    const Lock lock(trouble.options);
    CHECK(trouble.cache->returner(jid_number(0), return_of("ms-0", std::string(100'000, 'x'))));
    CHECK(count(trouble.log.text(), "its spool is full: jobs are lost from now on") == 1);
  }
  CHECK(trouble.cache->clean_old_jobs().ok());
  CHECK(trouble.log.has("0 jobs and 1 returns were lost"));
}

TEST_CASE("what waits when a process ends is found by the next one") {
  SqliteTrouble trouble;
  {
    const Lock lock(trouble.options);
    for (int i = 1; i <= 10; ++i) trouble.save(i);
    trouble.cache.reset();
    CHECK(trouble.log.has("holds jobs that could not be written; it waits for the next start"));
    // The next one cannot write it either, and goes on without.
    trouble.cache = open_sqlite(trouble.options, trouble.clock);
    trouble.cache.reset();
  }
  trouble.cache = open_sqlite(trouble.options, trouble.clock);
  CHECK(jids_of(*trouble.cache).size() == 11);
}

TEST_CASE("on a full disk jobs wait and callers are told, until there is space again") {
  const SqliteTrouble trouble;
  {
    const FullDisk disk(8 * 1024);
    for (int i = 1; i <= 500; ++i) trouble.save(i);
    CHECK(trouble.refusal().find("The job cache sqlite3 cannot be used now: ") == 0);
    CHECK_FALSE(trouble.cache->save_load(load_of(jid_number(501)), Durability::durable).ok());
  }
  CHECK(jids_of(*trouble.cache).size() == 501);
  CHECK(count(trouble.log.text(), "cannot be written: ") == 1);
  CHECK(count(trouble.log.text(), "is written again; nothing was lost") == 1);
}

TEST_CASE("a database that is removed while in use is made anew, and the log says so") {
  const SqliteTrouble trouble;
  std::filesystem::remove_all(std::filesystem::path(trouble.options.sqlite3.database).parent_path());
  trouble.save(1);
  CHECK(jids_of(*trouble.cache) == Jids{jid_number(1)});
  trouble.save(2, Durability::durable);
  CHECK(jids_of(*trouble.cache).size() == 2);
  CHECK(count(trouble.log.text(), "was removed or replaced while in use") == 1);
}

TEST_CASE("a database that is overwritten while in use is told of, and is not touched") {
  const SqliteTrouble trouble;
  {
    // Something else takes its place at once, and its log goes.
    const std::string folder = std::filesystem::path(trouble.options.sqlite3.database).parent_path();
    std::filesystem::remove(folder + "/jobs.db-wal");
    std::filesystem::remove(folder + "/jobs.db-shm");
    std::filesystem::rename(trouble.dir.write("other", std::string(8192, 'x')), folder + "/jobs.db");
  }
  trouble.save(1);
  CHECK(trouble.refusal() == "The job cache sqlite3 cannot be used now: file is not a database.");
  CHECK(trouble.dir.read("jobs/jobs.db") == std::string(8192, 'x'));
  CHECK(count(trouble.log.text(), "cannot be written: file is not a database") == 1);
}

}  // namespace
}  // namespace rest_fcgi::returner
