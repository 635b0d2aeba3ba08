// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#include "rest_fcgi/core/access.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/unique_fd.h"
#include "rest_fcgi/store/store.h"
#include "store/schema.h"

namespace rest_fcgi::store {
namespace {

// SQLite's `application_id` of the database: the ASCII bytes of "rfcf" in big-endian order.
constexpr std::int64_t kApplicationId = 1919312742;
constexpr std::int64_t kVersion = 1;

// All times are microseconds since 1970. src/README.md describes the tables. The less obvious columns:
// job: `jid` is the number that `key_of` makes of a jid (src/returner/stored.h). If a jid is only reserved,
// `fun` is NULL.
// job_return: a row replaces the return of the same minion in the column `returns` of the table `job`.
// token: `hash` is the SHA-256 of the token. login_failure: `key` is a hash of user and address.
// revoked_user: the user's tokens that were made before or at `made_until` are refused.
// running_job: `start` is field 22 of /proc/PID/stat. `job` is JSON with the job's load and with `ret`, the
// returners that the caller named. outbox: `load`, `returns` and `minions` are JSON. outbox_lease: `failure`
// says why etcd cannot be written. meta: `jid` is the time of the newest jid. `synced` counts the commits
// with synchronous=FULL. `outbox_bytes` is the total size of the outbox in bytes. `request_key_bytes` is the
// sum of `bytes` in request_key.
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
    "CREATE TABLE request_key (id TEXT PRIMARY KEY, user TEXT NOT NULL, made INTEGER NOT NULL,"
    " bytes INTEGER NOT NULL, request TEXT NOT NULL) STRICT;"
    "CREATE INDEX request_key_user ON request_key (user, made);"
    "CREATE INDEX request_key_made ON request_key (made);"
    "CREATE TRIGGER request_key_changed AFTER UPDATE OF bytes ON request_key BEGIN"
    " UPDATE meta SET value = value + new.bytes - old.bytes WHERE name = 'request_key_bytes'; END;"
    "CREATE TRIGGER request_key_removed AFTER DELETE ON request_key BEGIN"
    " UPDATE meta SET value = value - old.bytes WHERE name = 'request_key_bytes'; END;"
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "INSERT INTO meta VALUES ('synced', 0), ('outbox_bytes', 0), ('request_key_bytes', 0);";

// The store's thread copies the write-ahead log into the database file once a second (a checkpoint). A commit
// makes a checkpoint itself only if the log has 131,072 pages, because this takes some 30 ms.
constexpr const char* kSettings =
    "PRAGMA foreign_keys = 1; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 131072";
Result<void> create_tables(Connection& connection) {
  const std::string stamp =
      format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kVersion);
  Result<void> made = connection.transact([&]() -> Result<void> {
    const Result<bool> is_made = has_tables(connection);
    if (!is_made || *is_made) return is_made ? Result<void>() : is_made.error();
    Result<void> created = connection.run(kTables);
    return created ? connection.run(stamp.c_str()) : created;
  });
  return made ? made : unusable(made.error().message);
}

constexpr std::string_view kAdvice = "; give this process another folder with rest_fcgi: state_dir";

/// Only the user of this process can read a new file or folder.
Result<void> make_file(const std::string& path) {
  const std::string folder_path = path.substr(0, path.rfind('/'));
  const Result<UniqueFd> folder = open_private_folder(folder_path);
  if (!folder) return unusable(format("its folder {} {}{}", folder_path, folder.error().message, kAdvice));
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) {
    return unusable(format("cannot open it for writing: {}{}", why_unwritable(path), kAdvice));
  }
  if (!S_ISREG(status.st_mode)) return unusable("expected a regular file, found another kind of file");
  if (auto why = why_untrusted(status)) return unusable(format("it {}{}", *why, kAdvice));
  if (status.st_size == 0 && ::fsync(folder->get()) != 0) return unusable(errno_text());
  return {};
}

struct NetworkType {
  std::uint32_t magic;  ///< `magic` is the number of the type in statfs(2).
  const char* name;
};
constexpr NetworkType kNetworkTypes[] = {
    {0x6969, "nfs"},        {0x517B, "smb"},       {0xFF534D42, "cifs"},   {0xFE534D42, "smb2"},
    {0x00C36400, "ceph"},   {0x65735546, "fuse"},  {0x01021997, "9p"},     {0x0BD00BD0, "lustre"},
    {0x5346414F, "afs"},    {0x6B414653, "afs"},   {0x73757245, "coda"},   {0x01161970, "gfs2"},
    {0x7461636F, "ocfs2"},  {0x564C, "ncp"},       {0x19830326, "beegfs"}, {0x47504653, "gpfs"},
    {0xBACBACBC, "vmhgfs"}, {0x786F4256, "vboxsf"}};

/// Returns true also if this process may not search the file's folder.
bool may_exist(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return true;
  return errno == EACCES && ::stat(path.substr(0, path.rfind('/')).c_str(), &status) == 0;
}

/// Tries again for some seconds, because the switch fails while another process also switches.
Result<void> use_write_ahead_log(Connection& connection) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  for (;;) {
    // Commits write whole pages, so small pages save time. An existing database keeps its page size.
    Result<void> set = connection.run("PRAGMA page_size = 1024; PRAGMA journal_mode = WAL");
    if (set || std::chrono::steady_clock::now() >= deadline) return set;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Error unusable_file(const std::string& path, std::string_view why) {
  return unusable(format("store: {}: {}", path, why));
}

/// Checks that `make_file` can create the file with its folder.
Result<void> check_new_file(const std::string& path) {
  std::string made = path;
  // `open_private_folder` creates the folder and its parent.
  for (int level = 0; level < 2; ++level) {
    const std::string folder = made.substr(0, made.rfind('/'));
    if (folder.empty() || ::access(folder.c_str(), F_OK) == 0 || errno != ENOENT) break;
    made = folder;
  }
  const auto why = why_not_creatable(made);
  return why ? unusable_file(path, *why) : Result<void>();
}

}  // namespace

Result<void> Store::check(const Options& options) {
  const std::string& path = options.path;
  if (path.empty()) return {};
  struct stat folder {};
  const bool has_folder = ::stat(path.substr(0, path.rfind('/')).c_str(), &folder) == 0;
  // Only the owner of the folder can look into it, so this process is not the service.
  if (has_folder ? folder.st_uid != ::geteuid() && folder.st_uid != 0 : errno == EACCES) return {};
  struct stat file {};
  const bool has_file = ::lstat(path.c_str(), &file) == 0;
  if (!has_file && options.may_be_in_memory) return {};
  if (has_folder) {
    if (auto why = why_untrusted(folder)) return unusable_file(path, format("its folder {}", *why));
  }
  if (!has_file) return check_new_file(path);
  if (!S_ISREG(file.st_mode))
    return unusable_file(path, "expected a regular file, found another kind of file");
  if (auto why = why_untrusted(file)) return unusable_file(path, format("it {}", *why));
  if (::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) != 0)
    return unusable_file(path, format("cannot open it for writing: {}", errno_text()));
  auto connection = Connection::open_unlocked(path);
  if (!connection) return unusable_file(path, connection.error().message);
  const Result<bool> is_made = has_tables(**connection);
  // After a crash, the newest content of some pages can be in the write-ahead log only, which an unlocked
  // connection does not read.
  const bool is_in_log = (*connection)->is_corrupt() && ::access((path + "-wal").c_str(), F_OK) == 0;
  return is_made || is_in_log ? Result<void>() : unusable_file(path, is_made.error().message);
}

Error unusable(std::string message) {
  return {ErrorKind::configuration, std::move(message)};
}

Result<bool> has_tables(Connection& connection) {
  constexpr const char* kLook =
      "SELECT (SELECT count(*) FROM sqlite_schema), application_id, user_version"
      " FROM pragma_application_id, pragma_user_version";
  const auto numbers = [](const Row& row) { return std::array{row.number(0), row.number(1), row.number(2)}; };
  const auto found = connection.first(kLook, numbers);
  if (!found) return unusable(found.error().message);
  const auto [tables, application, version] = **found;
  if (tables == 0 && application == 0) return false;
  if (application != kApplicationId) {
    return unusable(
        format("found a database of another application (application_id {}), expected one of this "
               "program, or no file",
               application));
  }
  if (version == kVersion) return true;
  return unusable(
      format("found a database of another release (user_version {}), expected user_version {}; "
             "move the file away, or use the release that made it",
             version, kVersion));
}

std::optional<std::string> network_warning(const std::string& path) {
  struct statfs status {};
  std::string existing = path;
  while (existing.starts_with('/') && ::statfs(existing.c_str(), &status) != 0) {
    existing.resize(existing.rfind('/'));
  }
  if (existing.empty()) return std::nullopt;
  const auto type = static_cast<std::uint32_t>(status.f_type);
  for (const auto& [magic, name] : kNetworkTypes) {
    if (type != magic) continue;
    return format(
        "store: {}: found the file system {}, which may be on the network, expected a local disk: SQLite "
        "can lose data there. Set rest_fcgi: state_dir to a folder on a local disk",
        path, name);
  }
  return std::nullopt;
}

Result<std::unique_ptr<Store>> Store::open(const Options& options) {
  std::unique_ptr<Store> store(new Store(options.path));
  if (Result<void> opened = store->connect(); !opened) {
    const std::string why = format("store: {}: {}", options.path, opened.error().message);
    if (!options.may_be_in_memory || may_exist(options.path)) return unusable(why);
    log::warning(why + "; jobs, tokens and failed logins are kept only in the memory of this process");
    return open({});
  }
  if (const auto warning = network_warning(options.path)) log::warning(*warning);
  Result<Thread> thread = Thread::start("store", [self = store.get()] { self->maintain(); });
  if (!thread) return std::move(thread).error();
  store->thread_ = *std::move(thread);
  return store;
}

Result<void> Store::connect() {
  const bool is_in_memory = path_.empty();
  if (!is_in_memory) {
    if (Result<void> made = make_file(path_); !made) return made;
  }
  auto connection = Connection::open(path_);
  if (!connection) return std::move(connection).error();
  const Result<bool> is_made = has_tables(**connection);
  if (!is_made) return is_made.error();
  Result<void> set = is_in_memory ? (*connection)->run("PRAGMA auto_vacuum = INCREMENTAL")
                                  : use_write_ahead_log(**connection);
  if (set) set = (*connection)->run(kSettings);
  if (set && !*is_made) set = create_tables(**connection);
  if (!set) return set;
  std::unique_ptr<Connection> maintainer;
  if (!is_in_memory) {
    auto opened = Connection::open(path_, "PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 20");
    if (!opened) return std::move(opened).error();
    maintainer = *std::move(opened);
  }
  const MutexLock lock(mutex_);
  connection_ = *std::move(connection);
  maintainer_ = std::move(maintainer);
  is_corrupt_ = false;
  return {};
}

}  // namespace rest_fcgi::store
