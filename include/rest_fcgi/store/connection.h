// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "rest_fcgi/core/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace rest_fcgi::store {

/// One run of a prepared statement. The destructor makes the statement ready for its next run. Bound texts
/// must live as long as the query; texts of a row live until the next step. Not synchronized.
class Query {
 public:
  explicit Query(sqlite3_stmt* statement) noexcept : statement_(statement) {}
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query();

  /// Binds the next parameter. An absent value is NULL.
  void bind(std::int64_t value);
  void bind(std::string_view text);
  template <class Value>
  void bind(const std::optional<Value>& value) {
    value ? bind(*value) : bind_null();
  }

  /// Returns true for a row and false at the end. Errors: unavailable, with SQLite's message.
  [[nodiscard]] Result<bool> step();

  [[nodiscard]] std::int64_t number(int column) const;
  /// Returns the bytes of a text or blob; empty for NULL.
  [[nodiscard]] std::string_view text(int column) const;
  [[nodiscard]] bool is_null(int column) const;

 private:
  void bind_null();

  sqlite3_stmt* const statement_;
  int next_parameter_ = 1;
};

/// One connection to a database, with its prepared statements. Not synchronized. Errors of all calls:
/// unavailable, with SQLite's message.
class Connection {
 public:
  /// Opens an existing file, or a database in memory where `path` is empty.
  [[nodiscard]] static Result<std::unique_ptr<Connection>> open(const std::string& path);

  /// Runs statements without parameters.
  [[nodiscard]] Result<void> run(const char* sql);

  /// Runs a statement with these parameters, and calls `row(query)` for each row until it returns false.
  /// `sql` is a constant of the program: the statement is prepared once, and found by the constant's address.
  template <class Row, class... Values>
  [[nodiscard]] Result<void> each(const char* sql, const Row& row, const Values&... values) {
    const Result<sqlite3_stmt*> statement = prepare(sql);
    if (!statement) return statement.error();
    Query query(*statement);
    (query.bind(values), ...);
    Result<bool> found = query.step();
    while (found && *found && row(static_cast<const Query&>(query))) found = query.step();
    return found ? Result<void>() : std::move(found).error();
  }

  /// Runs a statement as `each` does. Returns how many rows it changed.
  template <class... Values>
  [[nodiscard]] Result<std::int64_t> execute(const char* sql, const Values&... values) {
    const Result<void> done = each(
        sql, [](const Query&) { return true; }, values...);
    return done ? Result(changes()) : done.error();
  }

  /// Returns the first column of the first row as a number; absent where there is no row, or NULL.
  template <class... Values>
  [[nodiscard]] Result<std::optional<std::int64_t>> number(const char* sql, const Values&... values) {
    std::optional<std::int64_t> found;
    const Result<void> read = each(
        sql,
        [&](const Query& row) {
          if (!row.is_null(0)) found = row.number(0);
          return false;
        },
        values...);
    return read ? Result(found) : read.error();
  }

  /// Runs `inside`, which returns Result<void>, in a transaction. An error or exception of it rolls back.
  template <class Inside>
  [[nodiscard]] Result<void> transact(const Inside& inside) {
    const auto once = [](const Query&) { return true; };
    Result<void> done = each("BEGIN IMMEDIATE", once);
    if (!done) return done;
    const Rollback rollback{*this};
    done = inside();
    return done ? each("COMMIT", once) : done;
  }

  /// Returns how many rows were changed since the connection was opened.
  [[nodiscard]] std::int64_t total_changes() const noexcept;

  /// Has each commit call `function`, which must outlive the connection, with the pages in the write-ahead
  /// log. SQLite makes no checkpoints by itself then.
  void on_commit(const std::function<void(int pages)>& function);

  /// Returns whether the file was removed or replaced since it was opened.
  [[nodiscard]] bool has_moved() const noexcept;

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  /// Ends the transaction where COMMIT did not.
  struct Rollback {
    Connection& connection;
    ~Rollback();
  };

  explicit Connection(sqlite3* handle) : handle_(handle) {}
  [[nodiscard]] Error error() const;
  [[nodiscard]] Result<sqlite3_stmt*> prepare(const char* sql);
  [[nodiscard]] std::int64_t changes() const noexcept;

  std::unique_ptr<sqlite3, Close> handle_;
  std::unordered_map<const char*, std::unique_ptr<sqlite3_stmt, Finalize>> prepared_;  // go before handle_
};

}  // namespace rest_fcgi::store
