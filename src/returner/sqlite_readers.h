// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/returner/options.h"
#include "returner/sqlite_connection.h"

namespace rest_fcgi::returner {

/// Connections that only read, kept for the next reader. Thread-safe.
class SqliteReaders {
 public:
  explicit SqliteReaders(const SqliteOptions& options) : options_(options) {}

  /// Lends a connection; waits while too many are lent. Errors: those of `read`, and unavailable. Passes on
  /// what `read` throws.
  [[nodiscard]] Result<void> with(const std::function<Result<void>(SqliteConnection&)>& read);

  /// Waits until none is lent, and closes all: the file is another one now.
  void close_all();

 private:
  /// A place among those that may read at once, and an idle connection where there is one. Both are given
  /// back when this goes, however that comes about.
  class Loan {
   public:
    explicit Loan(SqliteReaders& readers);
    ~Loan();
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

    std::unique_ptr<SqliteConnection> connection;

   private:
    SqliteReaders& readers_;
  };

  [[nodiscard]] Result<std::unique_ptr<SqliteConnection>> open() const;
  /// Takes the connection, unless there are enough.
  void keep(std::unique_ptr<SqliteConnection>& connection);

  const SqliteOptions options_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<SqliteConnection>> idle_;  // guarded by mutex_
  std::size_t lent_ = 0;                                 // guarded by mutex_
  bool closing_ = false;                                 // guarded by mutex_
};

}  // namespace rest_fcgi::returner
