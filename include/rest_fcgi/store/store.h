// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/store/connection.h"
#include "rest_fcgi/store/options.h"

namespace rest_fcgi::store {

/// Returns a warning if the path is on a network file system, where SQLite can lose data (WAL mode needs
/// shared memory). Returns std::nullopt for a local disk, or for an empty path.
[[nodiscard]] std::optional<std::string> network_warning(const std::string& path);

/// The SQLite database in which rest_fcgi keeps tokens, jobs and other state of this host. All processes with
/// the same `cachedir` share the database file (WAL mode). A commit survives the end of the process (`kill
/// -9`). After a call of `sync`, it also survives a power cut. A Store is thread-safe. Errors of all calls
/// except `open`: unavailable.
class Store {
 public:
  /// Opens or creates the database. Errors: configuration, if the file cannot be used, is corrupt, or belongs
  /// to another application or version. After such an error, the file is unchanged.
  static Result<std::unique_ptr<Store>> open(const Options& options);

  /// Checks that `open` can use the database, and changes nothing. If the database belongs to another user,
  /// this process cannot know whether that user can open it, and the check succeeds. Errors: the errors of
  /// `open`.
  static Result<void> check(const Options& options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Runs `inside(connection)` in a transaction. If `inside` returns an error, rolls back its changes.
  /// REQUIRES: `inside` does not call the store.
  template <class Inside>
  Result<void> transact(const Inside& inside) {
    return commit(
        [&](Connection& connection) { return connection.transact([&] { return inside(connection); }); });
  }

  template <class... Values>
  Result<std::int64_t> execute(const char* sql, const Values&... values) {
    std::int64_t changed = 0;
    Result<void> done = commit([&](Connection& connection) -> Result<void> {
      const Result<std::int64_t> executed = connection.execute(sql, values...);
      changed = executed ? *executed : 0;
      return executed ? Result<void>() : executed.error();
    });
    return done ? Result(changed) : std::move(done).error();
  }

  /// Waits until all earlier commits are on the disk. Concurrent callers share one fsync.
  Result<void> sync();

  /// Returns the Result of `inside(connection)`. The connection sees all earlier commits. Meanwhile no other
  /// thread reads or writes, so `inside` must end within milliseconds. REQUIRES: `inside` does not write and
  /// does not call the store.
  template <class Inside>
  auto read(const Inside& inside) {
    const MutexLock lock(mutex_);
    auto done = inside(*connection_);
    if (!done && connection_->is_corrupt()) note_corruption(done.error());
    return done;
  }

  /// The same for a `read` that may take long. Opens a connection, which takes longer than a short read.
  Result<void> read_long(const std::function<Result<void>(Connection&)>& read);

  [[nodiscard]] bool is_in_memory() const noexcept { return path_.empty(); }

  Result<std::int64_t> used_bytes();

  /// Returns whether the last write succeeded. Returns false after a call has found a corrupt part of the
  /// database, until another file replaces the file.
  [[nodiscard]] bool is_writable() const noexcept { return is_writable_; }

  /// A function that gets the duration of a commit, and whether the commit waited for an fsync.
  using CommitObserver = std::function<void(std::chrono::nanoseconds time, bool is_durable)>;

  /// Makes the store call `observer` after each commit. The observer must return quickly and must not call
  /// the store.
  void observe_commits(CommitObserver observer);

  using Task = std::function<void()>;
  struct Unregister {
    Store* store;
    void operator()(const Task* task) const;
  };
  using Registration = std::unique_ptr<const Task, Unregister>;

  /// Registers a task that the store's thread runs about once a second. The destructor of the Registration
  /// removes the task and waits until a running task has ended.
  [[nodiscard]] Registration every_second(Task task);

 private:
  using Write = std::function<Result<void>(Connection&)>;

  explicit Store(std::string path) : path_(std::move(path)) {}
  Result<void> connect();
  /// Runs `write`, which makes one commit. With `is_durable`, the commit and all earlier commits are then on
  /// the disk.
  Result<void> commit(const Write& write, bool is_durable = false) noexcept;
  void note_outcome(const Result<void>& outcome) REQUIRES(mutex_);
  void note_corruption(const Error& error);
  void maintain();
  void reopen_if_moved();
  /// Copies the write-ahead log into the database file. If the log is long, makes SQLite reuse the file of
  /// the log from its beginning.
  void checkpoint();

  const std::string path_;
  Mutex mutex_;
  // All reads and writes of the requests use this connection, so that its page cache stays valid.
  std::unique_ptr<Connection> connection_ GUARDED_BY(mutex_);
  CommitObserver commit_observer_ GUARDED_BY(mutex_);
  std::unique_ptr<Connection> maintainer_;
  std::atomic<bool> is_writable_ = true;
  SteadyTime last_failure_ GUARDED_BY(mutex_);  // The time of the last write that failed.
  std::atomic<bool> is_corrupt_ = false;

  Mutex sync_mutex_;  // A caller of `sync` holds this mutex while it waits for the disk.
  std::atomic<std::uint64_t> syncs_begun_ = 0;
  Result<void> last_sync_ GUARDED_BY(sync_mutex_);

  Mutex tasks_mutex_;  // The store holds this mutex while a task runs.
  std::list<Task> tasks_ GUARDED_BY(tasks_mutex_);
  Mutex stop_mutex_;
  std::condition_variable stop_;
  bool is_stopping_ GUARDED_BY(stop_mutex_) = false;
  Thread thread_;  // This member is destroyed first, so the thread ends before the other members.
};

}  // namespace rest_fcgi::store
