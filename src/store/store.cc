// SPDX-License-Identifier: MIT
#include "rest_fcgi/store/store.h"

#include <algorithm>
#include <chrono>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

// Invariants of coalesced commits whenever `queue_mutex_` is free:
// - `has_leader_` is true exactly while one thread commits, or was told to commit (`Write::leads`).
// - If `queue_` is not empty, `has_leader_` is true. The next leader is the thread of the first Write.
// - A Write is on the stack of its thread. The thread waits until the Write is `ended`, or leads.
// Whenever `readers_mutex_` is free, each connection of `idle_readers_` was opened after `connect` had raised
// `generation_` to its present value.

namespace rest_fcgi::store {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostIdleReaders = 4;
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
  const auto touch = [](Connection& connection) -> Result<void> {
    const auto done = connection.execute(kTouch);
    return done ? Result<void>() : done.error();
  };
  return write(touch, Kind::durable);
}

void Store::commit_with_others(Write& write) noexcept {
  MutexLock lock(queue_mutex_);
  queue_.push_back(&write);
  if (std::exchange(has_leader_, true)) {
    lock.unlock();
    write.state.wait(Write::waits);
    if (write.state == Write::ended) return;
    lock.lock();
  }
  const std::vector<Write*> writes = std::exchange(queue_, {});
  lock.unlock();
  commit(writes);
  lock.lock();
  Write* const next = queue_.empty() ? nullptr : queue_.front();
  has_leader_ = next != nullptr;
  lock.unlock();
  const auto tell = [](Write* one, Write::State state) {
    std::atomic<int>& told = one->state;
    told = state;
    told.notify_one();
  };
  if (next != nullptr) tell(next, Write::leads);
  for (Write* one : writes) {
    if (one != &write) tell(one, Write::ended);
  }
}

void Store::commit(const std::vector<Write*>& writes) {
  const MutexLock lock(write_mutex_);
  const bool is_durable =
      std::any_of(writes.begin(), writes.end(), [](const Write* one) { return one->kind == Kind::durable; });
  Connection& connection = is_durable ? *syncer_ : *writer_;
  const auto start = std::chrono::steady_clock::now();
  // All durable writes of a commit need only one run of their statement.
  bool is_touched = false;
  const auto run = [&](Write& write) {
    if (write.kind == Kind::durable && std::exchange(is_touched, true)) return Result<void>();
    return write.run(write.inside, connection);
  };
  const std::int64_t changes = connection.total_changes();
  Result<void> outcome;
  bool has_failed = false;
  if (writes.size() > 1) {
    outcome = connection.transact([&]() -> Result<void> {
      for (Write* one : writes) {
        if (Result<void> done = run(*one); !done) {
          has_failed = true;
          return done;
        }
      }
      return {};
    });
    for (Write* one : writes) one->result = outcome;
  }
  if (writes.size() == 1 || has_failed) {
    is_touched = false;
    for (Write* one : writes) {
      const auto alone = [&] { return run(*one); };
      one->result = one->kind == Kind::transaction ? connection.transact(alone) : alone();
      if (!one->result || outcome) outcome = one->result;
    }
  }
  // A successful write that changes no row does not show that the database can be written.
  if (!outcome && connection.is_corrupt()) note_corruption(outcome.error());
  if (!outcome || connection.total_changes() != changes) note_outcome(outcome);
  if (commit_observer_) commit_observer_(std::chrono::steady_clock::now() - start, is_durable);
}

Result<void> Store::read(const std::function<Result<void>(Connection&)>& read) {
  if (path_.empty()) {
    const MutexLock lock(write_mutex_);
    return read(*writer_);
  }
  std::unique_ptr<Connection> reader;
  MutexLock lock(readers_mutex_);
  const std::uint64_t generation = generation_;
  if (!idle_readers_.empty()) {
    reader = std::move(idle_readers_.back());
    idle_readers_.pop_back();
  }
  lock.unlock();
  if (reader == nullptr) {
    auto opened = Connection::open(path_, "PRAGMA query_only = 1");
    if (!opened) return std::move(opened).error();
    reader = *std::move(opened);
  }
  Result<void> done = read(*reader);
  if (!done && reader->is_corrupt()) note_corruption(done.error());
  lock.lock();
  if (done && generation == generation_ && idle_readers_.size() < kMostIdleReaders) {
    idle_readers_.push_back(std::move(reader));
  }
  return done;
}

Result<std::int64_t> Store::used_bytes() {
  constexpr const char* kUsed =
      "SELECT (page_count - freelist_count) * page_size"
      " FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
  std::int64_t bytes = 0;
  Result<void> done = read([&](Connection& connection) -> Result<void> {
    const auto used = connection.number(kUsed);
    bytes = used ? used->value_or(0) : 0;
    return used ? Result<void>() : used.error();
  });
  return done ? Result(bytes) : std::move(done).error();
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
  if (is_writable_.exchange(outcome.ok()) == outcome.ok()) return;
  // While the database fails, callers get the error at once and do not wait for the lock of another process.
  const char* const timeout = outcome ? "PRAGMA busy_timeout = 5000" : "PRAGMA busy_timeout = 0";
  for (const auto& connection : {writer_.get(), syncer_.get()}) {
    if (connection != nullptr) static_cast<void>(connection->run(timeout));
  }
  if (outcome) return log::warning(format("store: {}: writing to the database works again", path_));
  log::error(
      format("store: {}: cannot write to the database: {}; asynchronous jobs, logins and logouts are refused "
             "until this works again",
             path_, outcome.error().message));
}

void Store::observe_commits(CommitObserver observer) {
  const MutexLock lock(write_mutex_);
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
  std::int64_t pages = 0;
  const auto copied = maintainer_->each("PRAGMA wal_checkpoint(PASSIVE)", [&](const Row& row) {
    pages = row.number(1);
    return false;
  });
  if (!copied || pages < kLongLog) return;
  // SQLite can reuse the log only while this process does not commit.
  const MutexLock lock(write_mutex_);
  static_cast<void>(maintainer_->run("PRAGMA wal_checkpoint(RESTART)"));
}

void Store::reopen_if_moved() {
  if (!maintainer_->has_moved()) return;
  if (Result<void> opened = connect(); opened) {
    log::warning(format("store: {}: the file was removed or replaced, and was opened again", path_));
  } else {
    const MutexLock lock(write_mutex_);
    // Without `query_only`, the open connections would write to the removed file, and these writes would be
    // lost.
    for (const auto& connection : {writer_.get(), syncer_.get()}) {
      static_cast<void>(connection->run("PRAGMA query_only = 1"));
    }
    note_outcome(Error{ErrorKind::unavailable, opened.error().message});
  }
}

}  // namespace rest_fcgi::store
