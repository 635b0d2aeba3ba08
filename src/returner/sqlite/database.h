// SPDX-License-Identifier: MIT
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/returner/options.h"

namespace rest_fcgi::returner {

struct SqliteBlob {
  std::string_view bytes;
};

/// One run of a prepared statement; ready for the next one when this goes. What is bound has to live as long
/// as this does, and texts of a row until the next step. Not synchronized.
class SqliteQuery {
 public:
  explicit SqliteQuery(sqlite3_stmt* statement) noexcept : statement_(statement) {}
  SqliteQuery(const SqliteQuery&) = delete;
  SqliteQuery& operator=(const SqliteQuery&) = delete;
  ~SqliteQuery() { sqlite3_reset(statement_); }

  /// Parameters in their order; an absent text is null.
  void bind(std::int64_t value) { sqlite3_bind_int64(statement_, next_parameter_++, value); }
  void bind(std::string_view text);
  void bind(SqliteBlob blob);
  void bind(const std::optional<std::string_view>& text);
  template <class... Values>
  void bind(const std::tuple<Values...>& values) {
    std::apply([this](const Values&... each) { (bind(each), ...); }, values);
  }
  template <class Values>
  void bind(const std::vector<Values>& rows) {
    for (const Values& row : rows) bind(row);
  }

  /// True for a row, false at the end. Errors: unavailable, with SQLite's words.
  [[nodiscard]] Result<bool> step();

  [[nodiscard]] std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  [[nodiscard]] std::string_view text(int column) const;
  [[nodiscard]] bool is_null(int column) const {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
  }

 private:
  sqlite3_stmt* const statement_;
  int next_parameter_ = 1;
};

/// One connection to a database, with the statements that were prepared on it. Not synchronized.
class SqliteConnection {
 public:
  /// Opens an existing file. Errors: unavailable.
  [[nodiscard]] static Result<std::unique_ptr<SqliteConnection>> open(const std::string& path,
                                                                      std::chrono::milliseconds timeout);

  /// `sql` is a constant of the program: it is prepared once, and known by its address.
  [[nodiscard]] Result<sqlite3_stmt*> prepared(const char* sql);

  /// Runs statements without parameters.
  [[nodiscard]] Result<void> run(const char* sql);

  /// Runs a prepared statement with these parameters, and calls `row(query)` for each row until that returns
  /// false.
  template <class Row, class... Values>
  [[nodiscard]] Result<void> each(const char* sql, const Row& row, const Values&... values) {
    const Result<sqlite3_stmt*> statement = prepared(sql);
    if (!statement) return statement.error();
    SqliteQuery query(*statement);
    (query.bind(values), ...);
    Result<bool> found = query.step();
    while (found && *found && row(query)) found = query.step();
    return found ? Result<void>() : std::move(found).error();
  }

  /// The same for one whose rows, if it has any, nobody needs.
  template <class... Values>
  [[nodiscard]] Result<void> execute(const char* sql, const Values&... values) {
    return each(
        sql, [](const SqliteQuery&) { return true; }, values...);
  }

  /// Runs `inside` in a transaction. Errors: also its own; then nothing of it was done.
  template <class Inside>
  [[nodiscard]] Result<void> transact(const Inside& inside) {
    Result<void> done = run("BEGIN IMMEDIATE");
    if (done) done = inside();
    if (done) done = run("COMMIT");
    // Some failures have rolled back already.
    if (!done && sqlite3_get_autocommit(handle_.get()) == 0) static_cast<void>(run("ROLLBACK"));
    return done;
  }

  /// The first column of the first row of a query without parameters.
  [[nodiscard]] Result<std::string> value(const char* sql);

  /// How many rows the last statement changed.
  [[nodiscard]] int changes() const noexcept { return sqlite3_changes(handle_.get()); }

  /// Was the file removed or replaced by another since it was opened?
  [[nodiscard]] bool has_moved() const noexcept;

  /// Waits until the disk has all that was committed. Errors: unavailable; from then on, only `checkpoint`
  /// tells the truth.
  [[nodiscard]] Result<void> sync();

  /// Writes all that was committed into the database's own file, and waits until the disk has it. Errors:
  /// unavailable, also where readers are in the way.
  [[nodiscard]] Result<void> checkpoint();

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  explicit SqliteConnection(sqlite3* handle) : handle_(handle) {}
  [[nodiscard]] Error error() const;

  std::unique_ptr<sqlite3, Close> handle_;
  std::unordered_map<const char*, std::unique_ptr<sqlite3_stmt, Finalize>> prepared_;  // go before handle_
};

/// Each makes the schema of the version before into the next one; the first begins with an empty database.
[[nodiscard]] std::span<const char* const> migrations();

/// Brings an open database to the newest schema, also while others do the same. Errors: unavailable; for a
/// database of another application, or of a newer version, it says so.
[[nodiscard]] Result<void> migrate(SqliteConnection& connection, std::span<const char* const> migrations);

/// A connection to the database, which is made or brought up to date where needed, ready to write to.
/// Errors: unavailable, without the path.
[[nodiscard]] Result<std::unique_ptr<SqliteConnection>> open_database(const SqliteOptions& options);

/// Connections that only read, kept for the next reader. Thread-safe.
class SqliteReaders {
 public:
  explicit SqliteReaders(const SqliteOptions& options) : options_(options) {}

  /// Lends a connection; waits while too many are lent. Errors: those of `read`, and unavailable. Passes on
  /// what `read` throws.
  [[nodiscard]] Result<void> with(const std::function<Result<void>(SqliteConnection&)>& read);

  /// The file may be another one now: who reads from here on opens it anew. Waits for nobody who reads.
  void renew();

 private:
  const SqliteOptions options_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<SqliteConnection>> idle_;  // guarded by mutex_
  std::size_t lent_ = 0;                                 // guarded by mutex_
  std::uint64_t generation_ = 0;                         // of connections that are kept; guarded by mutex_
};

}  // namespace rest_fcgi::returner
