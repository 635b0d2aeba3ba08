// SPDX-License-Identifier: MIT
#include "rest_fcgi/store/store.h"

#include <chrono>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/waiting.h"

namespace rest_fcgi::store {
namespace {

using namespace std::chrono_literals;

constexpr const char* kTouch = "UPDATE meta SET value = value + 1 WHERE name = 'synced'";
// If the write-ahead log has this number of pages, `checkpoint` makes SQLite reuse the log's file.
constexpr std::int64_t kLongLog = 32'768;

}  // namespace

Store::~Store() {
  {
    const MutexLock lock(stop_mutex_);
    is_stopping_ = true;
  }
  stop_.notify_all();
  thread_.join();
}

Result<void> Store::sync() {
  if (path_.empty()) return {};
  const Waiting waiting;
  const std::uint64_t begun = syncs_begun_;
  const MutexLock lock(sync_mutex_);
  // A sync of another caller that began after this call has also synced the commits of this caller.
  if (syncs_begun_ != begun && last_sync_) return {};
  ++syncs_begun_;
  last_sync_ =
      commit([](Connection& connection) { return connection.execute(kTouch).without_value(); }, true);
  return last_sync_;
}

Result<void> Store::commit(const Write& write, bool is_durable) noexcept {
  const MutexLock lock(mutex_);
  Connection& connection = *connection_;
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t changes = connection.total_changes();
  Result<void> outcome = is_durable ? connection.run("PRAGMA synchronous = FULL") : Result<void>();
  if (outcome) outcome = write(connection);
  if (is_durable) static_cast<void>(connection.run("PRAGMA synchronous = NORMAL"));
  if (!outcome && connection.is_corrupt()) note_corruption(outcome.error());
  // A successful write that changes no row does not show that the database can be written.
  if (!outcome || connection.total_changes() != changes) note_outcome(outcome);
  if (commit_observer_) commit_observer_(std::chrono::steady_clock::now() - start, is_durable);
  return outcome;
}

Result<void> Store::read_long(const std::function<Result<void>(Connection&)>& read) {
  if (path_.empty()) return this->read(read);
  const Waiting waiting;
  const auto reader = Connection::open(path_, "PRAGMA query_only = 1");
  if (!reader) return reader.error();
  Result<void> done = read(**reader);
  if (!done && (*reader)->is_corrupt()) note_corruption(done.error());
  return done;
}

Result<std::int64_t> Store::used_bytes() {
  constexpr const char* kUsed =
      "SELECT (page_count - freelist_count) * page_size"
      " FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
  const auto used = read([](Connection& connection) { return connection.number(kUsed); });
  return used ? Result(used->value_or(0)) : used.error();
}

/// Other parts of a corrupt database may still be written. A success therefore does not end this state.
void Store::note_corruption(const Error& error) {
  if (is_corrupt_.exchange(true)) return;
  is_writable_ = false;
  log::error(format(
      "store: {}: the database is corrupt: {}; jobs and logins that need the corrupt part fail. Restore "
      "a copy of the file, or move the file away, and restart",
      path_, error.message));
}

void Store::note_outcome(const Result<void>& outcome) {
  if (is_corrupt_) return;
  // Only the error `unavailable` comes from the database. Other errors come from the caller's function.
  if (!outcome && outcome.error().kind != ErrorKind::unavailable) return;
  // A disk that is almost full takes small writes between the failures of large ones.
  const SteadyTime now = std::chrono::steady_clock::now();
  if (!outcome) last_failure_ = now;
  if (outcome && now < last_failure_ + 1s) return;
  if (is_writable_.exchange(outcome.ok()) == outcome.ok()) return;
  // While the database fails, callers get the error at once and do not wait for the lock of another process.
  const char* const timeout = outcome ? "PRAGMA busy_timeout = 5000" : "PRAGMA busy_timeout = 0";
  static_cast<void>(connection_->run(timeout));
  if (outcome) return log::warning(format("store: {}: writing to the database works again", path_));
  log::error(
      format("store: {}: cannot write to the database: {}; asynchronous jobs, logins and logouts are refused "
             "until this works again",
             path_, outcome.error().message));
}

void Store::observe_commits(CommitObserver observer) {
  const MutexLock lock(mutex_);
  commit_observer_ = std::move(observer);
}

Store::Registration Store::every_second(Task task) {
  const MutexLock lock(tasks_mutex_);
  tasks_.push_back(std::move(task));
  return {&tasks_.back(), Unregister{this}};
}

void Store::Unregister::operator()(const Task* task) const {
  const MutexLock lock(store->tasks_mutex_);
  store->tasks_.remove_if([task](const Task& one) { return &one == task; });
}

void Store::maintain() {
  MutexLock lock(stop_mutex_);
  while (!stop_.wait_for(lock, 1s, [this]() REQUIRES(stop_mutex_) { return is_stopping_; })) {
    lock.unlock();
    if (!path_.empty()) {
      checkpoint();
      reopen_if_moved();
    }
    if (!is_writable_) static_cast<void>(execute(kTouch));
    {
      const MutexLock tasks(tasks_mutex_);
      for (const Task& task : tasks_) task();
    }
    lock.lock();
  }
}

void Store::checkpoint() {
  constexpr const char* kCopy = "PRAGMA wal_checkpoint(PASSIVE)";
  std::int64_t pages = 0;
  const auto copied = maintainer_->each(kCopy, [&](const Row& row) {
    pages = row.number(1);
    return false;
  });
  if (!copied || pages < kLongLog) return;
  // SQLite can reuse the log only while this process does not commit. The second copy makes the third short.
  static_cast<void>(maintainer_->run(kCopy));
  const MutexLock lock(mutex_);
  static_cast<void>(maintainer_->run("PRAGMA wal_checkpoint(RESTART)"));
}

void Store::reopen_if_moved() {
  if (!maintainer_->has_moved()) return;
  if (Result<void> opened = connect(); opened) {
    log::warning(format("store: {}: the file was removed or replaced, and was opened again", path_));
  } else {
    const MutexLock lock(mutex_);
    // Without `query_only`, the open connection would write to the removed file, and these writes would be
    // lost.
    static_cast<void>(connection_->run("PRAGMA query_only = 1"));
    note_outcome(Error{ErrorKind::unavailable, opened.error().message});
  }
}

}  // namespace rest_fcgi::store
