// SPDX-License-Identifier: MIT
#include "returner/sqlite_readers.h"

#include <utility>

namespace rest_fcgi::returner {
namespace {

constexpr std::size_t kMostLent = 16;
constexpr std::size_t kMostIdle = 4;

}  // namespace

SqliteReaders::Loan::Loan(SqliteReaders& readers) : readers_(readers) {
  std::unique_lock lock(readers_.mutex_);
  readers_.returned_.wait(lock, [&] { return readers_.lent_ < kMostLent && !readers_.closing_; });
  ++readers_.lent_;
  if (readers_.idle_.empty()) return;
  connection = std::move(readers_.idle_.back());
  readers_.idle_.pop_back();
}

SqliteReaders::Loan::~Loan() {
  connection.reset();  // before it counts as given back: `close_all` waits for that
  {
    const std::lock_guard lock(readers_.mutex_);
    --readers_.lent_;
  }
  readers_.returned_.notify_all();
}

Result<void> SqliteReaders::with(const std::function<Result<void>(SqliteConnection&)>& read) {
  Loan loan(*this);
  if (loan.connection == nullptr) {
    auto opened = open();
    if (!opened) return std::move(opened).error();
    loan.connection = *std::move(opened);
  }
  Result<void> done = read(*loan.connection);
  // After an error, or what `read` throws, it may be in any state.
  if (done) keep(loan.connection);
  return done;
}

Result<std::unique_ptr<SqliteConnection>> SqliteReaders::open() const {
  auto connection = SqliteConnection::open(options_.database, options_.timeout);
  if (!connection) return connection;
  if (Result<void> limited = (*connection)->run("PRAGMA query_only = 1"); !limited) return limited.error();
  return connection;
}

void SqliteReaders::keep(std::unique_ptr<SqliteConnection>& connection) {
  const std::lock_guard lock(mutex_);
  if (!closing_ && idle_.size() < kMostIdle) idle_.push_back(std::move(connection));
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
