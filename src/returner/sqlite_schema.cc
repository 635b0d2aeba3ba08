// SPDX-License-Identifier: MIT
#include "returner/sqlite_schema.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::returner {
namespace {

constexpr std::string_view kApplicationId = "1919312742";  // "rfcf" in ASCII, big endian

// job.jid is a JidKey. job.returns holds the returns that came in the same group as their load, packed one
// after the other, and late those that came later; of one minion, that in late counts. newest says for each
// function and minion where its newest return is. claim holds jids that callers chose, for an hour:
// long enough for their loads to come.
constexpr std::array<const char*, 1> kMigrations = {
    "CREATE TABLE job (jid INTEGER PRIMARY KEY, saved INTEGER NOT NULL, fun TEXT NOT NULL, arg TEXT NOT NULL,"
    " tgt TEXT NOT NULL, tgt_type TEXT NOT NULL, user TEXT NOT NULL, metadata TEXT, minions BLOB NOT NULL,"
    " returns BLOB NOT NULL) STRICT;"
    "CREATE INDEX job_fun ON job (fun);"
    "CREATE TABLE late (jid INTEGER, minion TEXT, ret BLOB NOT NULL, PRIMARY KEY (jid, minion))"
    " STRICT, WITHOUT ROWID;"
    "CREATE TABLE newest (fun TEXT, minion TEXT, jid INTEGER NOT NULL, PRIMARY KEY (fun, minion))"
    " STRICT, WITHOUT ROWID;"
    "CREATE TABLE claim (jid INTEGER PRIMARY KEY, at INTEGER NOT NULL) STRICT;"};

Error refused(std::string message) {
  return {ErrorKind::unavailable, std::move(message)};
}

Error failed(std::string_view what) {
  return refused(format("{}: {}", what, std::strerror(errno)));
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
    return refused(format("it is another application's database (application_id {})", *application));
  }
  const std::size_t found = std::strtoul(version->c_str(), nullptr, 10);
  if (found <= newest) return found;
  return refused(format("its schema has version {}; this program knows those up to {}", found, newest));
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
      return mode ? refused("it cannot have a write-ahead log there") : mode.error();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

std::span<const char* const> migrations() {
  return kMigrations;
}

Result<void> make_database_file(const std::string& path) {
  const std::string directory = path.substr(0, path.rfind('/'));
  if (auto folder = open_private_folder(directory); !folder) {
    return refused(format("its folder {} {}", directory, folder.error().message));
  }
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd >= 0) {
    ::close(fd);
  } else if (errno != EEXIST) {
    return failed("it cannot be made");
  }
  return {};
}

Result<void> migrate(SqliteConnection& connection, std::span<const char* const> migrations) {
  const Result<std::size_t> version = version_of(connection, migrations.size());
  if (!version) return version.error();
  if (*version == migrations.size()) return {};
  if (Result<void> begun = connection.run("BEGIN IMMEDIATE"); !begun) return begun;
  Result<void> done = migrate_inside(connection, migrations);
  if (done) done = connection.run("COMMIT");
  if (!done && connection.in_transaction()) static_cast<void>(connection.run("ROLLBACK"));
  return done;
}

Result<std::unique_ptr<SqliteConnection>> open_database(const SqliteOptions& options) {
  if (Result<void> made = make_database_file(options.database); !made) return std::move(made).error();
  auto connection = SqliteConnection::open(options.database, options.timeout);
  if (!connection) return connection;
  // Foreign databases are refused before anything in them is changed.
  if (auto version = version_of(**connection, migrations().size()); !version) return version.error();
  if (auto logged = use_write_ahead_log(**connection, options.timeout); !logged) return logged.error();
  if (auto migrated = migrate(**connection, migrations()); !migrated) return migrated.error();
  const Result<void> tuned = (*connection)
                                 ->run(
                                     "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 2000; PRAGMA "
                                     "journal_size_limit = 16777216");
  if (!tuned) return tuned.error();
  return connection;
}

}  // namespace rest_fcgi::returner
