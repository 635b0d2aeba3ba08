// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "rest_fcgi/core/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace rest_fcgi::store {

/// A parameter of an SQL statement: a number, a text or NULL. Borrows the text.
struct Value {
  Value() = default;
  explicit Value(std::int64_t value) : number(value) {}
  explicit Value(std::string_view value) : text(value) {}
  template <class Present>
  explicit Value(const std::optional<Present>& value) : Value(value ? Value(*value) : Value()) {}

  std::optional<std::int64_t> number{};
  std::optional<std::string_view> text{};
};

/// A row of a query's result. The Row is valid until the next row is read.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) noexcept : statement_(statement) {}

  [[nodiscard]] std::int64_t number(int column) const;
  /// Returns the bytes of a text or blob, or an empty text for NULL.
  [[nodiscard]] std::string_view text(int column) const;
  [[nodiscard]] bool is_null(int column) const;

 private:
  sqlite3_stmt* const statement_;
};

/// A function that gets a row of a query's result and returns whether it wants the next row.
using TakeRow = std::function<bool(const Row&)>;

/// A connection to an SQLite database. A Connection is not thread-safe. Errors of all calls: unavailable,
/// with SQLite's message.
class Connection {
 public:
  /// Opens an existing file and runs the SQL statements `settings`. An empty `path` opens a database in
  /// memory.
  static Result<std::unique_ptr<Connection>> open(const std::string& path, const char* settings = "");

  /// Opens an existing file for reading, without locks and without files beside it (SQLite's `immutable=1`).
  /// The connection does not see commits that are only in the write-ahead log.
  static Result<std::unique_ptr<Connection>> open_unlocked(const std::string& path);

  Result<void> run(const char* sql);

  /// Replaces the database of `target` by this database, as it is now. Other processes may write meanwhile.
  Result<void> copy_to(Connection& target);

  /// Runs an SQL statement and calls `take` for each row of the result. `sql` must be a constant, because its
  /// address identifies the prepared statement.
  template <class... Values>
  Result<void> each(const char* sql, const TakeRow& take, const Values&... values) {
    const std::array<Value, sizeof...(values)> parameters{Value(values)...};
    return run_prepared(sql, parameters, take);
  }

  template <class... Values>
  Result<std::int64_t> execute(const char* sql, const Values&... values) {
    const Result<void> done = each(sql, {}, values...);
    return done ? Result(changes()) : done.error();
  }

  /// Runs an SQL statement and returns the first column of the first row. Returns std::nullopt if the column
  /// is NULL or the result has no row.
  template <class... Values>
  Result<std::optional<std::int64_t>> number(const char* sql, const Values&... values) {
    std::optional<std::int64_t> found;
    const auto take = [&found](const Row& row) {
      if (!row.is_null(0)) found = row.number(0);
      return false;
    };
    const Result<void> read = each(sql, take, values...);
    return read ? Result(found) : read.error();
  }

  /// Returns the result of `make` for the first row, or std::nullopt if there is no row.
  template <class Make, class... Values>
  auto first(const char* sql, const Make& make, const Values&... values) {
    std::optional<decltype(make(std::declval<const Row&>()))> made;
    const auto take = [&](const Row& row) {
      made = make(row);
      return false;
    };
    const Result<void> read = each(sql, take, values...);
    return read ? Result(std::move(made)) : read.error();
  }

  template <class Inside>
  Result<void> transact(const Inside& inside) {
    Result<void> done = each("BEGIN IMMEDIATE", {});
    if (!done) return done;
    done = inside();
    if (done) done = each("COMMIT", {});
    if (!done) roll_back();
    return done;
  }

  [[nodiscard]] std::int64_t total_changes() const noexcept;

  /// Returns whether a call of this connection has found that the database is corrupt.
  [[nodiscard]] bool is_corrupt() const noexcept { return is_corrupt_; }

  /// Returns whether the database file was removed or replaced after this connection was opened.
  [[nodiscard]] bool has_moved() const noexcept;

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };

  explicit Connection(sqlite3* handle) : handle_(handle) {}
  [[nodiscard]] Error error();
  Result<sqlite3_stmt*> prepare(const char* sql);
  Result<void> run_prepared(const char* sql, std::span<const Value> values, const TakeRow& take);
  [[nodiscard]] std::int64_t changes() const noexcept;
  void roll_back();

  bool is_corrupt_ = false;
  std::unique_ptr<sqlite3, Close> handle_;
  // Maps the addresses of SQL texts to prepared statements, which must be destroyed before `handle_`.
  std::unordered_map<const char*, std::unique_ptr<sqlite3_stmt, Finalize>> prepared_;
};

}  // namespace rest_fcgi::store
