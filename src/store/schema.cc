// SPDX-License-Identifier: MIT
#include "store/schema.h"

#include <utility>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::store {
namespace {

constexpr std::int64_t kApplicationId = 1919312742;  // "rfcf" in ASCII, big endian
constexpr std::int64_t kVersion = 1;

// job: one row a job. The key is the jid, a number of 20 digits, less 20 * 10^18. fun is NULL where a caller
//   reserved the jid and its load has not come. returns has those that came with the load.
// job_return: the returns that came later, one row each. They count before those in job.
// token: sessions of the embedded engine. hash is the SHA-256 of the token. Times here and below are
//   microseconds since 1970.
// revoked_token, revoked_user: what a Salt master still takes and this program does not. Processes read the
//   rows whose id they have not seen. A user's tokens that started until made_until are revoked.
// login_failure: counts of failed logins, by the hash of what they are counted for, until a time.
// known_login: pairs of user and address that logged in, by their hash.
// running_job: the jobs on worker threads of all processes. start is when the process began, as field 22 of
//   /proc/PID/stat has it; job has the load and `ret` as JSON.
// kill_request: which calls of these jobs have to stop.
// outbox: one row a call of the job cache etcd, in their order, until etcd has it. stamp is the time of the
//   call. load is the load of a job as etcd keeps it, returns and minions are lists.
// outbox_lease: the process that delivers the outbox, and when it took or renewed the lease, in microseconds
//   since 1970. failure says why etcd cannot be written.
// meta: counters; synced is changed by each commit that waits for the disk. jid is the microsecond up to
//   which jids are given out. outbox_bytes are those of the texts in outbox.
constexpr const char* kTables =
    "CREATE TABLE job (jid INTEGER PRIMARY KEY, saved INTEGER NOT NULL, fun TEXT, arg TEXT, tgt TEXT,"
    " tgt_type TEXT, user TEXT, metadata TEXT, minions TEXT, returns TEXT) STRICT;"
    "CREATE TABLE job_return (jid INTEGER REFERENCES job ON DELETE CASCADE, minion TEXT, ret TEXT NOT NULL,"
    " retcode INTEGER NOT NULL, success INTEGER NOT NULL, out TEXT NOT NULL, PRIMARY KEY (jid, minion))"
    " STRICT, WITHOUT ROWID;"
    "CREATE TABLE running_job (jid TEXT PRIMARY KEY, pid INTEGER NOT NULL, start INTEGER NOT NULL,"
    " job TEXT NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TABLE kill_request (jid TEXT REFERENCES running_job ON DELETE CASCADE, minion TEXT,"
    " PRIMARY KEY (jid, minion)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE outbox (id INTEGER PRIMARY KEY AUTOINCREMENT, stamp INTEGER NOT NULL, jid INTEGER NOT NULL,"
    " load TEXT NOT NULL, returns TEXT NOT NULL, minions TEXT NOT NULL, is_placeholder INTEGER NOT NULL)"
    " STRICT;"
    "CREATE TABLE outbox_lease (owner TEXT NOT NULL, renewed INTEGER NOT NULL, failure TEXT) STRICT;"
    "INSERT INTO outbox_lease VALUES ('', 0, NULL);"
    "CREATE TABLE token (hash TEXT PRIMARY KEY, user TEXT NOT NULL, eauth TEXT NOT NULL,"
    " start INTEGER NOT NULL, expire INTEGER NOT NULL, groups TEXT NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE INDEX token_user ON token (user, eauth, start);"
    "CREATE INDEX token_expire ON token (expire);"
    "CREATE TABLE revoked_token (id INTEGER PRIMARY KEY AUTOINCREMENT, hash TEXT NOT NULL UNIQUE,"
    " until INTEGER NOT NULL) STRICT;"
    "CREATE INDEX revoked_token_until ON revoked_token (until);"
    "CREATE TABLE revoked_user (id INTEGER PRIMARY KEY AUTOINCREMENT, eauth TEXT NOT NULL, user TEXT NOT "
    "NULL,"
    " made_until INTEGER NOT NULL, UNIQUE (eauth, user)) STRICT;"
    "CREATE TABLE login_failure (key TEXT PRIMARY KEY, failures INTEGER NOT NULL, until INTEGER NOT NULL)"
    " STRICT, WITHOUT ROWID;"
    "CREATE INDEX login_failure_until ON login_failure (until);"
    "CREATE TABLE known_login (key TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE INDEX known_login_until ON known_login (until);"
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "INSERT INTO meta VALUES ('synced', 0), ('outbox_bytes', 0);";

/// Returns whether the tables are there.
Result<bool> has_tables(Connection& connection) {
  // In this order: another process may make all of it meanwhile, in one transaction.
  const auto tables = connection.number("SELECT count(*) FROM sqlite_schema");
  if (!tables) return unusable(tables.error().message);
  const auto application = connection.number("PRAGMA application_id");
  if (!application) return unusable(application.error().message);
  const auto version = connection.number("PRAGMA user_version");
  if (!version) return unusable(version.error().message);
  if (*tables == 0 && *application == 0) return false;
  if (*application != kApplicationId) {
    return unusable(
        format("found a database of another application (application_id {}), expected one of this "
               "program, or no file",
               application->value_or(0)));
  }
  if (*version == kVersion) return true;
  return unusable(
      format("found a database of another release (user_version {}), expected user_version {}; "
             "move the file away, or use the release that made it",
             version->value_or(0), kVersion));
}

}  // namespace

Result<void> check_owner(Connection& connection) {
  const Result<bool> tables = has_tables(connection);
  return tables ? Result<void>() : tables.error();
}

Result<void> create_tables(Connection& connection) {
  const Result<bool> tables = has_tables(connection);
  if (!tables || *tables) return tables ? Result<void>() : tables.error();
  const std::string stamp =
      format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kVersion);
  Result<void> made = connection.transact([&]() -> Result<void> {
    const Result<bool> meanwhile = has_tables(connection);
    if (!meanwhile || *meanwhile) return meanwhile ? Result<void>() : meanwhile.error();
    Result<void> created = connection.run(kTables);
    return created ? connection.run(stamp.c_str()) : created;
  });
  return made ? made : unusable(made.error().message);
}

}  // namespace rest_fcgi::store
