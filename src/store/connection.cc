// SPDX-License-Identifier: MIT
#include "rest_fcgi/store/connection.h"

#include <sqlite3.h>

#include <utility>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::store {
namespace {

// The longest wait for the database lock of another process.
constexpr int kBusyTimeoutMs = 5000;

struct Reset {
  void operator()(sqlite3_stmt* statement) const { sqlite3_reset(statement); }
};

void bind(sqlite3_stmt* statement, int parameter, const Value& value) {
  if (value.number) {
    sqlite3_bind_int64(statement, parameter, *value.number);
  } else if (value.text) {
    const char* const bytes = value.text->data() == nullptr ? "" : value.text->data();
    sqlite3_bind_text64(statement, parameter, bytes, value.text->size(), SQLITE_STATIC, SQLITE_UTF8);
  } else {
    sqlite3_bind_null(statement, parameter);
  }
}

/// Turns off SQLite's memory statistics, which need a lock that all threads share. SQLite refuses the change
/// after its first use.
void turn_off_statistics() {
  static const int configured = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  static_cast<void>(configured);
}

}  // namespace

std::int64_t Row::number(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string_view Row::text(int column) const {
  const void* const bytes = sqlite3_column_blob(statement_, column);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

bool Row::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

void Connection::Close::operator()(sqlite3* handle) const {
  sqlite3_close_v2(handle);
}

void Connection::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Result<std::unique_ptr<Connection>> Connection::open(const std::string& path, const char* settings) {
  turn_off_statistics();
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(path.empty() ? ":memory:" : path.c_str(), &handle, flags, nullptr);
  std::unique_ptr<Connection> connection(new Connection(handle));
  if (code != SQLITE_OK) return connection->error();
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  const Result<void> set = connection->run(settings);
  return set ? Result(std::move(connection)) : set.error();
}

Result<std::unique_ptr<Connection>> Connection::open_unlocked(const std::string& path) {
  turn_off_statistics();
  const std::string uri = "file:" + percent_encoded(path, "/") + "?immutable=1";
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI;
  const int code = sqlite3_open_v2(uri.c_str(), &handle, flags, nullptr);
  std::unique_ptr<Connection> connection(new Connection(handle));
  if (code != SQLITE_OK) return connection->error();
  return connection;
}

Error Connection::error() {
  sqlite3* const handle = handle_.get();
  std::string message = sqlite3_errmsg(handle);
  const int code = sqlite3_errcode(handle);
  is_corrupt_ = is_corrupt_ || code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
  const int system = code == SQLITE_CANTOPEN || code == SQLITE_IOERR ? sqlite3_system_errno(handle) : 0;
  if (system != 0) message += format(" ({})", errno_text(system));
  return {ErrorKind::unavailable, std::move(message)};
}

Result<sqlite3_stmt*> Connection::prepare(const char* sql) {
  auto& statement = prepared_[sql];
  if (statement == nullptr) {
    sqlite3_stmt* made = nullptr;
    if (sqlite3_prepare_v3(handle_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr) != SQLITE_OK) {
      return error();
    }
    statement.reset(made);
  }
  return statement.get();
}

Result<void> Connection::run_prepared(const char* sql, std::span<const Value> values, const TakeRow& take) {
  const Result<sqlite3_stmt*> prepared = prepare(sql);
  if (!prepared) return prepared.error();
  const std::unique_ptr<sqlite3_stmt, Reset> statement(*prepared);
  int parameter = 0;
  for (const Value& value : values) bind(statement.get(), ++parameter, value);
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement.get())) == SQLITE_ROW) {
    if (take && !take(Row(statement.get()))) return {};
  }
  return code == SQLITE_DONE ? Result<void>() : error();
}

Result<void> Connection::run(const char* sql) {
  if (sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) return error();
  return {};
}

Result<void> Connection::copy_to(Connection& target) {
  constexpr int kAllPages = -1;
  sqlite3_backup* const backup = sqlite3_backup_init(target.handle_.get(), "main", handle_.get(), "main");
  if (backup == nullptr) return target.error();
  const int stepped = sqlite3_backup_step(backup, kAllPages);
  const int ended = sqlite3_backup_finish(backup);
  if (stepped == SQLITE_DONE && ended == SQLITE_OK) return {};
  return Error{ErrorKind::unavailable, sqlite3_errstr(ended != SQLITE_OK ? ended : stepped)};
}

void Connection::roll_back() {
  // After some failures, SQLite has already rolled back the transaction. A second ROLLBACK would fail.
  if (sqlite3_get_autocommit(handle_.get()) == 0) static_cast<void>(run("ROLLBACK"));
}

std::int64_t Connection::changes() const noexcept {
  return sqlite3_changes64(handle_.get());
}

std::int64_t Connection::total_changes() const noexcept {
  return sqlite3_total_changes64(handle_.get());
}

bool Connection::has_moved() const noexcept {
  int moved = 0;
  return sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
         moved != 0;
}

}  // namespace rest_fcgi::store
