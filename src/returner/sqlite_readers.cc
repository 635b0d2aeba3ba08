// SPDX-License-Identifier: MIT
#include "returner/sqlite_readers.h"

#include <utility>

namespace rest_fcgi::returner {
namespace {

constexpr std::size_t kMostLent = 16;
constexpr std::size_t kMostIdle = 4;

}  // namespace

Result<void> SqliteReaders::with(const std::function<Result<void>(SqliteConnection&)>& read) {
  auto connection = borrow();
  Result<void> done = connection ? read(**connection) : Result<void>(connection.error());
  // After an error it may be in any state.
  give_back(done ? *std::move(connection) : nullptr);
  return done;
}

Result<std::unique_ptr<SqliteConnection>> SqliteReaders::borrow() {
  {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [&] { return lent_ < kMostLent && !closing_; });
    ++lent_;
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  auto connection = SqliteConnection::open(options_.database, options_.timeout);
  if (!connection) return connection;
  if (Result<void> limited = (*connection)->run("PRAGMA query_only = 1"); !limited) return limited.error();
  return connection;
}

void SqliteReaders::give_back(std::unique_ptr<SqliteConnection> connection) {
  {
    const std::lock_guard lock(mutex_);
    if (connection != nullptr && !closing_ && idle_.size() < kMostIdle)
      idle_.push_back(std::move(connection));
  }
  connection.reset();  // before it counts as given back: `close_all` waits for that
  {
    const std::lock_guard lock(mutex_);
    --lent_;
  }
  returned_.notify_all();
}

void SqliteReaders::close_all() {
  std::unique_lock lock(mutex_);
  closing_ = true;
  returned_.wait(lock, [&] { return lent_ == 0; });
  idle_.clear();
  closing_ = false;
  lock.unlock();
  returned_.notify_all();
}

}  // namespace rest_fcgi::returner
