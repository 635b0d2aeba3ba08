// SPDX-License-Identifier: MIT
#include "rest_fcgi/store/store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/unique_fd.h"
#include "store/schema.h"

namespace rest_fcgi::store {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostIdleReaders = 4;
constexpr const char* kTouch = "UPDATE meta SET value = value + 1 WHERE name = 'synced'";
constexpr int kLongLog = 32'768;  // pages of the write-ahead log, 32 MiB
constexpr int kNewPages = 4096;   // of it that are copied before a second is over

/// Makes the file and its folder where they are missing, both for this process's user alone.
Result<void> make_file(const std::string& path) {
  const std::string folder_path = path.substr(0, path.rfind('/'));
  const Result<UniqueFd> folder = open_private_folder(folder_path);
  if (!folder) return unusable(format("its folder {} {}", folder_path, folder.error().message));
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) {
    return unusable(format("it cannot be opened for writing: {}", errno_text()));
  }
  if (!S_ISREG(status.st_mode)) return unusable("found no regular file");
  if (auto why = why_untrusted(status)) return unusable(format("it {}", *why));
  if (status.st_size == 0 && ::fsync(folder->get()) != 0) return unusable(errno_text());
  return {};
}

/// Returns false where there is no such file. In a folder that this process may not search, there may be one.
bool may_exist(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return true;
  return errno == EACCES && ::stat(path.substr(0, path.rfind('/')).c_str(), &status) == 0;
}

/// SQLite does not wait for another process that turns to write-ahead logging at the same time.
Result<void> use_write_ahead_log(Connection& connection) {
  const auto deadline = std::chrono::steady_clock::now() + 5s;
  for (;;) {
    // A commit writes whole pages, and most rows are small. The size counts when the database is made.
    Result<void> set = connection.run("PRAGMA page_size = 1024; PRAGMA journal_mode = WAL");
    if (set || std::chrono::steady_clock::now() >= deadline) return set;
    std::this_thread::sleep_for(5ms);
  }
}

Result<std::unique_ptr<Connection>> connect_with(const std::string& path, const char* settings) {
  auto connection = Connection::open(path);
  if (!connection) return connection;
  if (Result<void> set = (*connection)->run(settings); !set) return std::move(set).error();
  return connection;
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open(const Options& options) {
  std::unique_ptr<Store> store(new Store(options.path));
  if (Result<void> opened = store->connect(); !opened) {
    const std::string why = format("store: {}: {}", options.path, opened.error().message);
    if (!options.may_be_in_memory || may_exist(options.path)) return unusable(why);
    log::warning(why + "; jobs, tokens and failed logins are in this process's memory alone");
    return open({});
  }
  Result<Thread> thread = Thread::start("store", [self = store.get()] { self->maintain(); });
  if (!thread) return std::move(thread).error();
  store->thread_ = *std::move(thread);
  return store;
}

Store::~Store() {
  {
    const std::lock_guard lock(stop_mutex_);
    is_stopping_ = true;
  }
  stop_.notify_all();
  thread_.join();
}

Result<void> Store::connect() {
  if (!path_.empty()) {
    if (Result<void> made = make_file(path_); !made) return made;
  }
  constexpr const char* kSettings = "PRAGMA foreign_keys = 1; PRAGMA synchronous = NORMAL";
  auto writer = Connection::open(path_);
  if (!writer) return std::move(writer).error();
  // A database of another application is refused before anything in it is changed.
  if (Result<void> ours = check_owner(**writer); !ours) return ours;
  // In memory, space of what was removed goes back to the system.
  Result<void> kind =
      path_.empty() ? (*writer)->run("PRAGMA auto_vacuum = INCREMENTAL") : use_write_ahead_log(**writer);
  if (!kind) return kind;
  if (Result<void> set = (*writer)->run(kSettings); !set) return set;
  (*writer)->on_commit(log_size_);
  if (Result<void> created = create_tables(**writer); !created) return created;
  std::unique_ptr<Connection> syncer;
  std::unique_ptr<Connection> maintainer;
  if (!path_.empty()) {
    auto opened = connect_with(path_, "PRAGMA foreign_keys = 1; PRAGMA synchronous = FULL");
    if (!opened) return std::move(opened).error();
    syncer = *std::move(opened);
    syncer->on_commit(log_size_);
    opened = connect_with(path_, "PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 20");
    if (!opened) return std::move(opened).error();
    maintainer = *std::move(opened);
  }
  std::scoped_lock lock(write_mutex_, readers_mutex_);
  writer_ = *std::move(writer);
  syncer_ = std::move(syncer);
  maintainer_ = std::move(maintainer);
  ++generation_;
  idle_readers_.clear();
  return {};
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
  std::unique_lock lock(queue_mutex_);
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

/// Commits with synchronous=FULL where one of the writes is durable. That takes earlier commits to the disk,
/// too.
void Store::commit(const std::vector<Write*>& writes) {
  const std::lock_guard lock(write_mutex_);
  const bool is_durable =
      std::any_of(writes.begin(), writes.end(), [](const Write* one) { return one->kind == Kind::durable; });
  Connection& connection = is_durable ? *syncer_ : *writer_;
  bool is_touched = false;  // one commit of FULL is enough for all durable writes
  const auto run = [&](Write& write) {
    write.thrown = nullptr;
    if (write.kind == Kind::durable && std::exchange(is_touched, true)) return write.result = {};
    try {
      write.result = write.run(write.inside, connection);
    } catch (...) {
      write.thrown = std::current_exception();
      write.result = Error{ErrorKind::internal, "a write threw"};
    }
    return write.result;
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
  // Where no row changed, nothing was written.
  if (!outcome || connection.total_changes() != changes) note_outcome(outcome);
}

Result<void> Store::read(const std::function<Result<void>(Connection&)>& read) {
  if (path_.empty()) {
    const std::lock_guard lock(write_mutex_);
    return read(*writer_);
  }
  std::unique_ptr<Connection> reader;
  std::unique_lock lock(readers_mutex_);
  const std::uint64_t generation = generation_;
  if (!idle_readers_.empty()) {
    reader = std::move(idle_readers_.back());
    idle_readers_.pop_back();
  }
  lock.unlock();
  if (reader == nullptr) {
    auto opened = connect_with(path_, "PRAGMA query_only = 1");
    if (!opened) return std::move(opened).error();
    reader = *std::move(opened);
  }
  Result<void> done = read(*reader);
  lock.lock();
  if (done && generation == generation_ && idle_readers_.size() < kMostIdleReaders) {
    idle_readers_.push_back(std::move(reader));
  }
  return done;
}

Result<std::int64_t> Store::used_bytes() {
  std::int64_t bytes = 0;
  Result<void> done = read([&](Connection& connection) -> Result<void> {
    const auto pages = connection.number("PRAGMA page_count");
    const auto unused = connection.number("PRAGMA freelist_count");
    const auto size = connection.number("PRAGMA page_size");
    if (!pages || !unused || !size) return (!pages ? pages : !unused ? unused : size).error();
    bytes = (pages->value_or(0) - unused->value_or(0)) * size->value_or(0);
    return {};
  });
  return done ? Result(bytes) : std::move(done).error();
}

void Store::note_outcome(const Result<void>& outcome) {
  // Other errors come from the caller's part of a transaction.
  if (!outcome && outcome.error().kind != ErrorKind::unavailable) return;
  if (is_writable_.exchange(outcome.ok()) == outcome.ok()) return;
  // While another process holds the lock for long, calls do not wait for it one after the other.
  const char* const timeout = outcome ? "PRAGMA busy_timeout = 5000" : "PRAGMA busy_timeout = 0";
  for (const auto& connection : {writer_.get(), syncer_.get()}) {
    if (connection != nullptr) static_cast<void>(connection->run(timeout));
  }
  if (outcome) return log::warning(format("store: {}: it can be written again", path_));
  log::error(format(
      "store: {}: it cannot be written: {}; asynchronous jobs, logins and logouts are refused until it can",
      path_, outcome.error().message));
}

Store::Registration Store::every_second(Task task) {
  const std::lock_guard lock(tasks_mutex_);
  tasks_.push_back(std::move(task));
  return {&tasks_.back(), Unregister{this}};
}

void Store::Unregister::operator()(const Task* task) const {
  const std::lock_guard lock(store->tasks_mutex_);
  store->tasks_.remove_if([task](const Task& one) { return &one == task; });
}

void Store::maintain() {
  auto next = std::chrono::steady_clock::now() + 1s;
  std::unique_lock lock(stop_mutex_);
  while (!is_stopping_) {
    stop_.wait_until(lock, next, [this] { return is_stopping_ || is_checkpoint_due_; });
    is_checkpoint_due_ = false;
    if (is_stopping_) return;
    lock.unlock();
    if (!path_.empty()) checkpoint();
    if (std::chrono::steady_clock::now() >= next) {
      if (!path_.empty()) reopen_if_moved();
      if (!is_writable_) static_cast<void>(execute(kTouch));
      const std::lock_guard tasks(tasks_mutex_);
      for (const Task& task : tasks_) task();
      next = std::chrono::steady_clock::now() + 1s;
    }
    lock.lock();
  }
}

/// Is called with each commit, by the thread that has the turn.
void Store::note_log_size(int pages) {
  if (pages - copied_pages_ < kNewPages) return;
  {
    const std::lock_guard lock(stop_mutex_);
    is_checkpoint_due_ = true;
  }
  stop_.notify_all();
}

/// Copies the write-ahead log into the database. Has the next commit begin a long log anew.
void Store::checkpoint() {
  int pages = 0;
  const auto copied = maintainer_->each("PRAGMA wal_checkpoint(PASSIVE)", [&](const Query& row) {
    pages = static_cast<int>(row.number(1));
    return false;
  });
  if (!copied) return;
  copied_pages_ = pages;
  if (pages < kLongLog) return;
  // Under load, commits that come meanwhile keep SQLite from beginning the log anew.
  const std::lock_guard lock(write_mutex_);
  static_cast<void>(maintainer_->run("PRAGMA wal_checkpoint(RESTART)"));
  copied_pages_ = 0;
}

void Store::reopen_if_moved() {
  if (!maintainer_->has_moved()) return;
  if (Result<void> opened = connect(); opened) {
    log::warning(format("store: {}: the file was removed or replaced; it was opened anew", path_));
  } else {
    const std::lock_guard lock(write_mutex_);
    // Without this, commits would go into the removed file.
    for (const auto& connection : {writer_.get(), syncer_.get()}) {
      static_cast<void>(connection->run("PRAGMA query_only = 1"));
    }
    note_outcome(Error{ErrorKind::unavailable, opened.error().message});
  }
}

}  // namespace rest_fcgi::store
