// SPDX-License-Identifier: MIT
#include <sqlite3.h>

#include <atomic>
#include <mutex>

#include "../support/captured_log.h"
#include "caches.h"
#include "returner/sqlite/database.h"

// A disk that does not take what is written, and says so only once.

namespace rest_fcgi::returner {
namespace {

/// What is done with the files of one kind.
struct Files {
  std::atomic<bool> fails = false;
  int (*sync)(sqlite3_file*, int) = nullptr;
  sqlite3_io_methods methods{};
};

/// SQLite's view of the disk while this lives: waiting for it fails as long as a test says so. One at a time.
class FailingDisk {
 public:
  FailingDisk() {
    vfs_.zName = "failing";
    vfs_.xOpen = open;
    sqlite3_vfs_register(&vfs_, 1);
  }
  ~FailingDisk() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(real_, 1);
  }
  FailingDisk(const FailingDisk&) = delete;
  FailingDisk& operator=(const FailingDisk&) = delete;

  void fail(bool log, bool database) {
    log_.fails = log;
    database_.fails = database;
  }

 private:
  static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* given) {
    const int code = real_->xOpen(real_, name, file, flags, given);
    if (code != SQLITE_OK) return code;
    if ((flags & SQLITE_OPEN_WAL) != 0) intercept<log_>(*file);
    if ((flags & SQLITE_OPEN_MAIN_DB) != 0) intercept<database_>(*file);
    return code;
  }

  template <Files& files>
  static void intercept(sqlite3_file& file) {
    const std::lock_guard lock(mutex_);
    if (files.sync == nullptr) {
      files.methods = *file.pMethods;
      files.sync = files.methods.xSync;
      files.methods.xSync = [](sqlite3_file* one, int how) {
        return files.fails ? SQLITE_IOERR_FSYNC : files.sync(one, how);
      };
    }
    file.pMethods = &files.methods;
  }

  static inline sqlite3_vfs* const real_ = sqlite3_vfs_find(nullptr);
  static inline std::mutex mutex_;
  static inline Files log_;
  static inline Files database_;
  sqlite3_vfs vfs_ = *real_;
};

struct FailingCache {
  FailingDisk disk;
  test::TempDir dir;
  test::ManualClock clock;
  test::CapturedLog log;
  std::unique_ptr<Returner> cache = open_sqlite(sqlite_options(dir), clock);

  [[nodiscard]] std::string save(int number) const {
    const Result<void> saved = cache->save_load(load_of(jid_number(number)), Durability::durable);
    return saved ? "kept" : saved.error().message;
  }
};

}  // namespace

TEST_CASE("after a sync that failed, nothing is durable until all was written anew") {
  FailingCache jobs;
  CHECK(jobs.save(0) == "kept");
  jobs.disk.fail(true, true);
  CHECK(jobs.save(1).find("the disk did not take what was written") != std::string::npos);
  // The system takes for written what it could not write: a second sync succeeds, and says nothing.
  jobs.disk.fail(false, true);
  CHECK(jobs.save(2).find("The job cache sqlite3 cannot be used now: disk I/O error") == 0);
  CHECK(jobs.save(3) != "kept");
  CHECK(jobs.log.has("cannot be written"));
  CHECK_FALSE(jobs.log.has("is written again"));
  jobs.disk.fail(false, false);
  CHECK(jobs.save(4) == "kept");
  CHECK(jobs.log.has("is written again; nothing was lost"));
  jobs.disk.fail(false, true);  // which a sync of the log alone does not need
  CHECK(jobs.save(5) == "kept");
  jobs.disk.fail(false, false);
  CHECK(jobs.cache->get_load(jid_number(4))->has_value());
}

TEST_CASE("a reader that is in the way of writing all anew keeps work from being durable") {
  FailingCache jobs;
  CHECK(jobs.save(0) == "kept");
  auto reader = *SqliteConnection::open(jobs.dir / "jobs/jobs.db", std::chrono::milliseconds(1000));
  REQUIRE(reader->run("BEGIN; SELECT count(*) FROM job"));
  jobs.disk.fail(true, false);
  CHECK(jobs.save(1) != "kept");
  jobs.disk.fail(false, false);
  CHECK(jobs.save(2).find("it is being read while it should be written again") != std::string::npos);
  reader.reset();
  CHECK(jobs.save(3) == "kept");
}

}  // namespace rest_fcgi::returner
