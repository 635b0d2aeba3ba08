// SPDX-License-Identifier: MIT
#include "returner/sqlite_connection.h"

#include <cstring>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::returner {
namespace {

Error error_of(sqlite3* handle) {
  std::string message = sqlite3_errmsg(handle);
  const int code = sqlite3_errcode(handle);
  // What the system said helps with files; elsewhere it is left from something else.
  const int system = code == SQLITE_CANTOPEN || code == SQLITE_IOERR ? sqlite3_system_errno(handle) : 0;
  if (system != 0) message += format(" ({})", std::strerror(system));
  return {ErrorKind::unavailable, std::move(message)};
}

}  // namespace

SqliteQuery& SqliteQuery::bind(std::int64_t value) {
  sqlite3_bind_int64(statement_, next_parameter_++, value);
  return *this;
}

SqliteQuery& SqliteQuery::bind(std::string_view text) {
  sqlite3_bind_text64(statement_, next_parameter_++, text.data() == nullptr ? "" : text.data(), text.size(),
                      SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

SqliteQuery& SqliteQuery::bind_blob(std::string_view bytes) {
  sqlite3_bind_blob64(statement_, next_parameter_++, bytes.data() == nullptr ? "" : bytes.data(),
                      bytes.size(), SQLITE_STATIC);
  return *this;
}

SqliteQuery& SqliteQuery::bind_null() {
  sqlite3_bind_null(statement_, next_parameter_++);
  return *this;
}

Result<bool> SqliteQuery::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return error_of(sqlite3_db_handle(statement_));
}

Result<void> SqliteQuery::run() {
  Result<bool> row = true;
  while (row && *row) row = step();
  return row ? Result<void>() : std::move(row).error();
}

std::string_view SqliteQuery::text(int column) const {
  const void* const bytes = sqlite3_column_blob(statement_, column);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

bool SqliteQuery::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

Result<std::unique_ptr<SqliteConnection>> SqliteConnection::open(const std::string& path,
                                                                 std::chrono::milliseconds timeout) {
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  if (handle == nullptr) return Error{ErrorKind::unavailable, "out of memory"};
  std::unique_ptr<SqliteConnection> connection(new SqliteConnection(handle));
  if (code != SQLITE_OK) return connection->error();
  sqlite3_busy_timeout(handle, static_cast<int>(timeout.count()));
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  return connection;
}

Error SqliteConnection::error() const {
  return error_of(handle_.get());
}

Result<sqlite3_stmt*> SqliteConnection::prepared(const char* sql) {
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

Result<void> SqliteConnection::run(const char* sql) {
  if (sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) return error();
  return {};
}

Result<std::string> SqliteConnection::value(const char* sql) {
  const Result<sqlite3_stmt*> statement = prepared(sql);
  if (!statement) return statement.error();
  SqliteQuery query(*statement);
  const Result<bool> row = query.step();
  if (!row) return row.error();
  return *row ? std::string(query.text(0)) : std::string();
}

bool SqliteConnection::has_moved() const noexcept {
  int moved = 0;
  return sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
         moved != 0;
}

Result<void> SqliteConnection::sync() {
  sqlite3_file* log = nullptr;
  sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_JOURNAL_POINTER, static_cast<void*>(&log));
  // Without an open write-ahead log there is nothing that a checkpoint has not synchronized.
  if (log == nullptr || log->pMethods == nullptr) return {};
  if (log->pMethods->xSync(log, SQLITE_SYNC_NORMAL) == SQLITE_OK) return {};
  return Error{ErrorKind::unavailable, "the disk did not take what was written"};
}

Result<void> SqliteConnection::checkpoint() {
  const Result<std::string> busy = value("PRAGMA wal_checkpoint(TRUNCATE)");
  if (!busy) return busy.error();
  if (*busy == "0") return {};
  return Error{
      ErrorKind::unavailable,
      "the disk did not take what was written, and it is being read while it should be written again"};
}

}  // namespace rest_fcgi::returner
