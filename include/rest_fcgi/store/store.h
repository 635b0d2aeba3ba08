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
#include <vector>

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

  /// Runs `inside(connection)` in a transaction, which may contain writes of other callers, too. If `inside`
  /// returns an error, rolls back the changes of `inside`. If any write of the transaction fails, may
  /// run `inside` again in its own transaction. The second run must overwrite all results of the first run.
  /// REQUIRES: `inside` does not call the store.
  template <class Inside>
  Result<void> transact(const Inside& inside) {
    return write(inside, Kind::transaction);
  }

  template <class... Values>
  Result<std::int64_t> execute(const char* sql, const Values&... values) {
    std::int64_t changed = 0;
    const auto inside = [&](Connection& connection) -> Result<void> {
      const Result<std::int64_t> done = connection.execute(sql, values...);
      changed = done ? *done : 0;
      return done ? Result<void>() : done.error();
    };
    Result<void> done = write(inside, Kind::statement);
    return done ? Result(changed) : std::move(done).error();
  }

  /// Waits until all earlier commits are on the disk. Concurrent callers share one fsync.
  Result<void> sync();

  /// Calls `read` with a connection that sees all earlier commits. REQUIRES: `read` does not write and does
  /// not call the store.
  Result<void> read(const std::function<Result<void>(Connection&)>& read);

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
  enum class Kind { statement, transaction, durable };

  /// One thread commits all waiting writes in one transaction. While this thread commits, new writes wait in
  /// a queue. Afterwards, the thread of the first waiting write commits the queue.
  struct Write {
    enum State : int { waits, leads, ended };
    Result<void> (*run)(const void* inside, Connection& connection);
    const void* inside;
    Kind kind;
    Result<void> result{};
    std::atomic<int> state{waits};
  };

  template <class Inside>
  Result<void> write(const Inside& inside, Kind kind) {
    const auto run = [](const void* its, Connection& connection) -> Result<void> {
      return (*static_cast<const Inside*>(its))(connection);
    };
    Write write{run, &inside, kind};
    commit_with_others(write);
    return std::move(write.result);
  }

  explicit Store(std::string path) : path_(std::move(path)) {}
  Result<void> connect();
  void commit_with_others(Write& write) noexcept;
  /// If one write is `durable`, the commit uses synchronous=FULL, which also puts all earlier commits on the
  /// disk.
  void commit(const std::vector<Write*>& writes);
  void note_outcome(const Result<void>& outcome) REQUIRES(write_mutex_);
  void note_corruption(const Error& error);
  void maintain();
  void reopen_if_moved();
  /// Copies the write-ahead log into the database file. If the log is long, makes SQLite reuse the file of
  /// the log from its beginning.
  void checkpoint();

  const std::string path_;
  Mutex write_mutex_;
  std::unique_ptr<Connection> writer_ GUARDED_BY(write_mutex_);  // `writer_` commits without fsync.
  // `syncer_` commits with synchronous=FULL.
  std::unique_ptr<Connection> syncer_ GUARDED_BY(write_mutex_);
  CommitObserver commit_observer_ GUARDED_BY(write_mutex_);
  std::unique_ptr<Connection> maintainer_;
  std::atomic<bool> is_writable_ = true;
  std::atomic<bool> is_corrupt_ = false;

  Mutex queue_mutex_;
  std::vector<Write*> queue_ GUARDED_BY(queue_mutex_);
  bool has_leader_ GUARDED_BY(queue_mutex_) = false;

  Mutex readers_mutex_;
  std::vector<std::unique_ptr<Connection>> idle_readers_ GUARDED_BY(readers_mutex_);
  // The number of times that the database file was opened.
  std::uint64_t generation_ GUARDED_BY(readers_mutex_) = 0;

  Mutex tasks_mutex_;  // The store holds this mutex while a task runs.
  std::list<Task> tasks_ GUARDED_BY(tasks_mutex_);
  Mutex stop_mutex_;
  std::condition_variable stop_;
  bool is_stopping_ GUARDED_BY(stop_mutex_) = false;
  Thread thread_;  // This member is destroyed first, so the thread ends before the other members.
};

}  // namespace rest_fcgi::store
