// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/returner/options.h"
#include "rest_fcgi/returner/returner.h"
#include "returner/spool.h"
#include "returner/sqlite_readers.h"
#include "returner/sqlite_store.h"
#include "returner/trouble.h"

namespace rest_fcgi::returner {

/// The one thread of a process that writes into the database. Records wait in a spool, which outlives the
/// process, and are written in groups, one transaction each. What a caller waits for is a task: it becomes
/// part of the next group, at once. Thread-safe.
class SqliteWriter {
 public:
  /// Runs inside the transaction of a group, on the writer's thread, after the records that were there
  /// before.
  using Task = std::function<Result<void>(SqliteStore&)>;

  /// Opens the database and its spool, and writes what dead processes left. `readers` has to outlive this.
  /// Errors: unavailable.
  [[nodiscard]] static Result<std::unique_ptr<SqliteWriter>> start(const Options& options, const Clock& clock,
                                                                   SqliteReaders& readers);

  /// Writes what is left; what cannot be written stays in the spool for the next process.
  ~SqliteWriter();
  SqliteWriter(const SqliteWriter&) = delete;
  SqliteWriter& operator=(const SqliteWriter&) = delete;

  /// Keeps a record, soon. Waits a while for room when the database is slow. What finds no room because the
  /// database cannot be written is counted as lost.
  void append(std::string_view record);

  /// Is committed, and for `durable` on the disk, when it comes back. Errors: unavailable, then nothing of it
  /// is kept, unless it was the disk that did not take what was committed: a row may stay that no caller
  /// was told of.
  [[nodiscard]] Result<void> run(Durability durability, const Task& task);

  /// Readers of the database find all that was appended before, and what a process left that died a second
  /// ago or earlier. Errors: unavailable, with how much is
  /// missing.
  [[nodiscard]] Result<void> flush();

  /// What to tell a caller whom `cause` kept from reading.
  [[nodiscard]] Error failure(const Error& cause) const { return trouble_.error(cause); }

  /// Drops jobs that are too old, in slices. Returns how many. Errors: unavailable.
  [[nodiscard]] Result<std::size_t> clean();

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Waiting {
    const Task& task;
    Durability durability;
    bool done = false;
    Result<void> result{};
  };

  SqliteWriter(const Options& options, const Clock& clock, SqliteReaders& readers,
               std::unique_ptr<SqliteStore> store, std::unique_ptr<Spool> spool);

  /// Did a process die with records in its spool? Looks at most once a second. On any thread.
  [[nodiscard]] bool is_anything_left_behind();

  void loop();
  void wait_for_work(std::unique_lock<std::mutex>& lock);
  void wait_for_room(std::unique_lock<std::mutex>& lock, std::string_view record);
  void finish(const std::vector<Waiting*>& tasks, const Result<void>& written);

  /// Writes what is in the spool up to `end`, and runs the tasks. On the writer's thread, as all that
  /// follows.
  [[nodiscard]] Result<void> write(const Spool& spool, std::uint64_t end, const std::vector<Waiting*>& tasks);
  [[nodiscard]] Result<void> write_or_throw(const Spool& spool, std::uint64_t end,
                                            const std::vector<Waiting*>& tasks);
  [[nodiscard]] Result<void> write_once(const Spool& spool, std::uint64_t end,
                                        const std::vector<Waiting*>& tasks);
  void tell_of_unreadable(const Spool& spool, std::uint64_t records, std::uint64_t torn);
  [[nodiscard]] Result<void> reopen();
  [[nodiscard]] Result<void> sync();
  void sync_when_due();
  void keep_house_when_due();
  /// False where something of it cannot be written now.
  bool write_left_behind();
  bool write_left_behind(Spool& spool);
  [[nodiscard]] Result<std::size_t> clean_slice(SqliteStore& store);

  const Options options_;
  const Clock& clock_;
  SqliteReaders& readers_;
  Trouble trouble_;

  std::mutex mutex_;
  std::condition_variable work_;        // for the writer
  std::condition_variable done_;        // for those that wait for a task
  std::condition_variable room_;        // for those that wait for room in the spool
  const std::unique_ptr<Spool> spool_;  // positions guarded by mutex_
  std::vector<Waiting*> tasks_;         // guarded by mutex_
  bool resting_ = false;                // the writer waits for a first record; guarded by mutex_
  bool stopping_ = false;               // guarded by mutex_
  bool look_around_ = false;            // for what dead processes left; guarded by mutex_
  Time look_due_;                       // guarded by mutex_

  // The writer's own:
  std::unique_ptr<SqliteStore> store_;  // null where it has to be opened anew
  bool unsynced_ = false;
  bool sync_failed_ = false;  // since then, nothing is durable before a checkpoint
  bool untidy_ = true;        // jobs were dropped, and what they left was not
  Time group_due_;
  Time sync_due_;
  Time house_due_;
  std::set<std::string> told_of_;  // spools with which something is wrong

  Thread thread_;
};

}  // namespace rest_fcgi::returner
