// SPDX-License-Identifier: MIT
#include "returner/sqlite/database.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <thread>
#include <utility>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::returner {
namespace {

constexpr std::size_t kMostLent = 16;  // connections of readers
constexpr std::size_t kMostIdle = 4;

Error error_of(sqlite3* handle) {
  std::string message = sqlite3_errmsg(handle);
  const int code = sqlite3_errcode(handle);
  // What the system said helps with files; elsewhere it is left from something else.
  const int system = code == SQLITE_CANTOPEN || code == SQLITE_IOERR ? sqlite3_system_errno(handle) : 0;
  if (system != 0) message += format(" ({})", errno_text(system));
  return {ErrorKind::unavailable, std::move(message)};
}

constexpr std::string_view kApplicationId = "1919312742";  // "rfcf" in ASCII, big endian

// job.jid is a JidKey. job.returns holds the returns that came in the same group as their load, packed one
// after the other, and late those that came later; of one minion, that in late counts. newest says for each
// function and minion where its newest return is. claim holds jids that callers chose, for an hour:
// long enough for their loads to come. packing is that of minions, returns and ret.
constexpr std::array<const char*, 2> kMigrations = {
    "CREATE TABLE job (jid INTEGER PRIMARY KEY, saved INTEGER NOT NULL, fun TEXT NOT NULL, arg TEXT NOT NULL,"
    " tgt TEXT NOT NULL, tgt_type TEXT NOT NULL, user TEXT NOT NULL, metadata TEXT, minions BLOB NOT NULL,"
    " returns BLOB NOT NULL) STRICT;"
    "CREATE INDEX job_fun ON job (fun);"
    "CREATE TABLE late (jid INTEGER, minion TEXT, ret BLOB NOT NULL, PRIMARY KEY (jid, minion))"
    " STRICT, WITHOUT ROWID;"
    "CREATE TABLE newest (fun TEXT, minion TEXT, jid INTEGER NOT NULL, PRIMARY KEY (fun, minion))"
    " STRICT, WITHOUT ROWID;"
    "CREATE TABLE claim (jid INTEGER PRIMARY KEY, at INTEGER NOT NULL) STRICT;",
    // Rows that are there, and those of older releases that still run, are wide.
    "ALTER TABLE job ADD COLUMN packing INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE late ADD COLUMN packing INTEGER NOT NULL DEFAULT 0;"};

Error unusable_database(std::string message) {
  return {ErrorKind::unavailable, std::move(message)};
}

Error failed_file(std::string_view what) {
  return unusable_database(format("{}: {}", what, errno_text()));
}

Result<std::size_t> version_of(SqliteConnection& connection, std::size_t newest) {
  // In this order, since another process may make all of it meanwhile, at once.
  const Result<std::string> tables = connection.value("SELECT count(*) FROM sqlite_schema");
  if (!tables) return tables.error();
  const Result<std::string> application = connection.value("PRAGMA application_id");
  if (!application) return application.error();
  const Result<std::string> version = connection.value("PRAGMA user_version");
  if (!version) return version.error();
  if (*tables == "0" && *application == "0") return std::size_t{0};
  if (*application != kApplicationId) {
    return unusable_database(
        format("it is another application's database (application_id {})", *application));
  }
  const std::size_t found = std::strtoul(version->c_str(), nullptr, 10);
  if (found <= newest) return found;
  return unusable_database(
      format("its schema has version {}; this program knows those up to {}", found, newest));
}

Result<void> migrate_inside(SqliteConnection& connection, std::span<const char* const> migrations) {
  const Result<std::size_t> version = version_of(connection, migrations.size());
  if (!version) return version.error();
  for (const char* migration : migrations.subspan(*version)) {
    if (Result<void> done = connection.run(migration); !done) return done;
  }
  const std::string stamp =
      format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, migrations.size());
  return connection.run(stamp.c_str());
}

/// Two processes that turn to write-ahead logging at once get in each other's way without being waited for.
Result<void> use_write_ahead_log(SqliteConnection& connection, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const Result<std::string> mode = connection.value("PRAGMA journal_mode = WAL");
    if (mode && *mode == "wal") return {};
    if (std::chrono::steady_clock::now() >= deadline) {
      return mode ? unusable_database("it cannot have a write-ahead log there") : mode.error();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

/// Also its folder, both for their owner alone. Errors, too, where others may write into the folder, or own
/// it: what is found in it is trusted.
Result<void> make_database_file(const std::string& path) {
  const std::string directory = path.substr(0, path.rfind('/'));
  if (auto folder = open_private_folder(directory); !folder) {
    return unusable_database(format("its folder {} {}", directory, folder.error().message));
  }
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd >= 0) {
    ::close(fd);
  } else if (errno != EEXIST) {
    return failed_file("it cannot be made");
  }
  return {};
}

}  // namespace

void SqliteQuery::bind(std::string_view text) {
  sqlite3_bind_text64(statement_, next_parameter_++, text.data() == nullptr ? "" : text.data(), text.size(),
                      SQLITE_STATIC, SQLITE_UTF8);
}

void SqliteQuery::bind(SqliteBlob blob) {
  sqlite3_bind_blob64(statement_, next_parameter_++, blob.bytes.data() == nullptr ? "" : blob.bytes.data(),
                      blob.bytes.size(), SQLITE_STATIC);
}

void SqliteQuery::bind(const std::optional<std::string_view>& text) {
  if (text) return bind(*text);
  sqlite3_bind_null(statement_, next_parameter_++);
}

Result<bool> SqliteQuery::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return error_of(sqlite3_db_handle(statement_));
}

std::string_view SqliteQuery::text(int column) const {
  const void* const bytes = sqlite3_column_blob(statement_, column);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

Result<std::unique_ptr<SqliteConnection>> SqliteConnection::open(const std::string& path,
                                                                 std::chrono::milliseconds timeout) {
  // Nobody asks how much memory SQLite has, which it would count under a lock of the whole process.
  static const int uncounted = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  static_cast<void>(uncounted);
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
  std::string value;
  const Result<void> read = each(sql, [&](const SqliteQuery& row) {
    value = row.text(0);
    return false;
  });
  return read ? Result(std::move(value)) : read.error();
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

std::span<const char* const> migrations() {
  return kMigrations;
}

Result<void> migrate(SqliteConnection& connection, std::span<const char* const> migrations) {
  const Result<std::size_t> version = version_of(connection, migrations.size());
  if (!version) return version.error();
  if (*version == migrations.size()) return {};
  return connection.transact([&] { return migrate_inside(connection, migrations); });
}

Result<std::unique_ptr<SqliteConnection>> open_database(const SqliteOptions& options) {
  if (Result<void> made = make_database_file(options.database); !made) return std::move(made).error();
  auto connection = SqliteConnection::open(options.database, options.timeout);
  if (!connection) return connection;
  // Foreign databases are refused before anything in them is changed.
  if (auto version = version_of(**connection, migrations().size()); !version) return version.error();
  if (auto logged = use_write_ahead_log(**connection, options.timeout); !logged) return logged.error();
  if (auto migrated = migrate(**connection, migrations()); !migrated) return migrated.error();
  constexpr const char* kTuning =
      "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 2000;"
      " PRAGMA journal_size_limit = 16777216";
  if (auto tuned = (*connection)->run(kTuning); !tuned) return tuned.error();
  return connection;
}

Result<void> SqliteReaders::with(const std::function<Result<void>(SqliteConnection&)>& read) {
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [&] { return lent_ < kMostLent; });
  ++lent_;
  const auto give_back = [](SqliteReaders* readers) {
    {
      const std::lock_guard again(readers->mutex_);
      --readers->lent_;
    }
    readers->returned_.notify_one();
  };
  // A place among those that may read at once: given back however this ends, when the connection is gone.
  const std::unique_ptr<SqliteReaders, decltype(give_back)> place(this, give_back);
  std::unique_ptr<SqliteConnection> connection;
  const std::uint64_t generation = generation_;
  if (!idle_.empty()) {
    connection = std::move(idle_.back());
    idle_.pop_back();
  }
  lock.unlock();
  if (connection == nullptr) {
    auto opened = SqliteConnection::open(options_.database, options_.timeout);
    if (!opened) return std::move(opened).error();
    if (Result<void> limited = (*opened)->run("PRAGMA query_only = 1"); !limited) return limited;
    connection = *std::move(opened);
  }
  Result<void> done = read(*connection);
  // After an error, or what `read` throws, it may be in any state.
  if (!done) return done;
  const std::lock_guard again(mutex_);
  // Kept for the next reader, unless there are enough, or the file is another one now.
  if (generation == generation_ && idle_.size() < kMostIdle) idle_.push_back(std::move(connection));
  return done;
}

void SqliteReaders::renew() {
  std::vector<std::unique_ptr<SqliteConnection>> closed;  // without the lock
  const std::lock_guard lock(mutex_);
  ++generation_;
  closed.swap(idle_);
}

}  // namespace rest_fcgi::returner
