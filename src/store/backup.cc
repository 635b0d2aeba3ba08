// SPDX-License-Identifier: MIT
#include "rest_fcgi/store/backup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/unique_fd.h"
#include "rest_fcgi/store/connection.h"
#include "store/schema.h"

namespace rest_fcgi::store {
namespace {

UniqueFd make_private_file(const std::string& path) {
  return UniqueFd(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
}

Result<void> check_content(const std::string& path) {
  // A copy in WAL mode would need a second file.
  auto database = Connection::open(path, "PRAGMA journal_mode = DELETE");
  const auto damaged = [](std::string_view why) {
    return unusable(format("found a damaged or unreadable database: {}", why));
  };
  if (!database) return damaged(database.error().message);
  std::string found;
  const auto checked = (*database)->each("PRAGMA integrity_check(1)", [&found](const Row& row) {
    found = row.text(0);
    return false;
  });
  if (!checked) found = checked.error().message;
  if (found != "ok") return damaged(found);
  const Result<bool> is_made = has_tables(**database);
  if (!is_made) return is_made.error();
  return *is_made ? Result<void>() : unusable("found an empty database, expected a copy that --backup made");
}

/// Locks out other processes until the descriptor is closed. Each connection in WAL mode has a shared lock on
/// the bytes that SQLite locks (https://sqlite.org/fileformat2.html#the_lock_byte_page). Returns a closed
/// descriptor if there is no database.
Result<UniqueFd> lock_out_others(const std::string& path) {
  UniqueFd database(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!database)
    return errno == ENOENT ? Result(UniqueFd()) : unusable(format("cannot be opened: {}", errno_text()));
  struct flock bytes {};
  bytes.l_type = F_WRLCK;
  bytes.l_whence = SEEK_SET;
  bytes.l_start = 1 << 30;
  bytes.l_len = 512;
  if (::fcntl(database.get(), F_OFD_SETLK, &bytes) == 0) return database;
  const bool is_known = ::fcntl(database.get(), F_OFD_GETLK, &bytes) == 0 && bytes.l_pid > 0;
  return unusable(format("found {} that uses it, expected none: stop the service first",
                         is_known ? format("the process {}", bytes.l_pid) : "a process"));
}

Result<void> copy_bytes(int from, int to) {
  std::array<char, 1 << 16> part{};
  for (;;) {
    const ssize_t got = ::read(from, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unusable(format("the copy cannot be read: {}", errno_text()));
    if (got == 0) break;
    if (!write_all(to, {part.data(), static_cast<std::size_t>(got)})) return unusable(errno_text());
  }
  return ::fsync(to) == 0 ? Result<void>() : unusable(errno_text());
}

Result<void> put_in_place(const std::string& path, const std::string& fresh, int folder) {
  for (const char* const suffix : {"-wal", "-shm", "-journal"}) {
    if (::unlink((path + suffix).c_str()) != 0 && errno != ENOENT)
      return unusable(format("{}{}: cannot be removed: {}", path, suffix, errno_text()));
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0 || ::fsync(folder) != 0) return unusable(errno_text());
  return {};
}

}  // namespace

Result<void> back_up(const std::string& path, const std::string& copy) {
  const auto failed = [&path](const Error& error) {
    return Error{error.kind, format("store: {}: {}", path, error.message)};
  };
  auto source = Connection::open(path, "PRAGMA query_only = 1");
  if (!source) return failed(unusable(source.error().message));
  const Result<bool> is_made = has_tables(**source);
  if (!is_made) return failed(is_made.error());
  const UniqueFd file = make_private_file(copy);
  if (!file) {
    return unusable(errno == EEXIST ? format("{}: found a file, expected a new name", copy)
                                    : format("{}: cannot be made: {}", copy, errno_text()));
  }
  auto target = Connection::open(copy);
  Result<void> done = target ? (*source)->copy_to(**target) : target.error();
  // The copy is one file, and not in WAL mode.
  if (done) done = (*target)->run("PRAGMA journal_mode = DELETE");
  if (done) return {};
  ::unlink(copy.c_str());
  return Error{done.error().kind, format("{}: {}", copy, done.error().message)};
}

Result<void> restore(const std::string& path, int copy) {
  const auto failed = [&path](const Error& error) {
    return unusable(format("store: {}: {}", path, error.message));
  };
  const std::string folder_path = path.substr(0, path.rfind('/'));
  const Result<UniqueFd> folder = open_private_folder(folder_path);
  if (!folder) return unusable(format("store: its folder {} {}", folder_path, folder.error().message));
  // Writes the log of a process that was killed into the database, because the log is removed. A damaged
  // database has no use for its log.
  static_cast<void>(Connection::open(path, "SELECT count(*) FROM sqlite_schema"));
  const auto lock = lock_out_others(path);
  if (!lock) return failed(lock.error());
  const std::string fresh = path + ".restore";
  ::unlink(fresh.c_str());  // Removes the file that an interrupted restore may have left.
  const UniqueFd file = make_private_file(fresh);
  if (!file) return unusable(format("{}: cannot be made: {}", fresh, errno_text()));
  Result<void> done = copy_bytes(copy, file.get());
  if (done) done = check_content(fresh);
  if (done) done = put_in_place(path, fresh, folder->get());
  if (done) return {};
  ::unlink(fresh.c_str());
  return done;
}

}  // namespace rest_fcgi::store
