// SPDX-License-Identifier: MIT
#include <chrono>
#include <memory>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "returner/sqlite_writer.h"

// What the writer does now and then: wait for the disk, write what dead processes left, drop old jobs.

namespace rest_fcgi::returner {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kSyncRetryTime{200};
constexpr std::chrono::seconds kHouseTime{10};
constexpr std::chrono::seconds kLookTime{1};
constexpr std::size_t kSlice = 200;  // few enough that nobody who waits for the writer notices
constexpr std::chrono::hours kClaimTime{1};

}  // namespace

void SqliteWriter::sync_when_due() {
  if (!unsynced_ || SteadyClock::now() < sync_due_) return;
  sync_due_ = SteadyClock::now() + kSyncRetryTime;
  if (store_ == nullptr) return;  // told of already
  if (const Result<void> synced = sync(); !synced) trouble_.begin(synced.error());
}

void SqliteWriter::keep_house_when_due() {
  const Time now = SteadyClock::now();
  if (now < house_due_) return;
  house_due_ = now + kHouseTime;
  if (spool_->file().is_gone() && told_of_.insert(spool_->file().path()).second) {
    log::error(format("sqlite3.database: {} was removed: if this process is killed, its last jobs are lost",
                      spool_->file().path()));
  }
  const bool all_adopted = write_left_behind();
  if (store_ == nullptr) return;
  std::size_t dropped = 0;
  const Task clean = [&](SqliteStore& store) -> Result<void> {
    const Result<std::size_t> slice = clean_slice(store);
    if (!slice) return slice.error();
    dropped = *slice;
    return {};
  };
  Waiting waiting{clean, Durability::grouped};
  const Result<void> cleaned = write(*spool_, spool_->head(), {&waiting});
  if (!cleaned) trouble_.begin(cleaned.error());
  if (cleaned && all_adopted && !sync_failed_) trouble_.end();
  if (dropped == kSlice) house_due_ = now;
}

bool SqliteWriter::is_anything_left_behind() {
  {
    const std::lock_guard lock(mutex_);
    const Time now = SteadyClock::now();
    if (now < look_due_) return false;
    look_due_ = now + kLookTime;
  }
  for (auto& file : SpoolFile::left_behind(options_.sqlite3.database)) {
    const auto spool = Spool::adopt(std::move(file));
    if (spool != nullptr && !spool->empty()) return true;
  }
  return false;
}

bool SqliteWriter::write_left_behind() {
  bool all = true;
  for (auto& file : SpoolFile::left_behind(options_.sqlite3.database)) {
    const std::string path = file->path();
    if (const auto spool = Spool::adopt(std::move(file))) {
      all = write_left_behind(*spool) && all;
    } else if (told_of_.insert(path).second) {
      log::warning(
          format("sqlite3.database: {} is no spool that this program can read; it stays there", path));
    }
  }
  return all;
}

bool SqliteWriter::write_left_behind(Spool& spool) {
  if (!spool.empty()) {
    Result<void> written = write(spool, spool.tail(), {});
    if (written) written = sync();
    if (!written) {
      trouble_.begin(written.error());
      return false;
    }
  }
  spool.drop(spool.tail());
  spool.file().remove();
  return true;
}

Result<std::size_t> SqliteWriter::clean_slice(SqliteStore& store) {
  const WallTime now = clock_.wall();
  const bool for_ever = options_.keep_jobs_seconds.count() == 0;
  Result<std::size_t> dropped =
      for_ever ? std::size_t{0} : store.drop_saved_before(now - options_.keep_jobs_seconds, kSlice);
  if (!dropped) return dropped;
  untidy_ = untidy_ || *dropped > 0;
  if (*dropped == kSlice) return dropped;
  if (Result<void> gone = store.drop_claims_before(now - kClaimTime); !gone) return std::move(gone).error();
  if (!untidy_) return dropped;
  if (Result<void> gone = store.drop_dangling(); !gone) return std::move(gone).error();
  untidy_ = false;
  return dropped;
}

Result<std::size_t> SqliteWriter::clean() {
  std::size_t all = 0;
  for (std::size_t slice = kSlice; slice == kSlice; all += slice) {
    const Result<void> done = run(Durability::grouped, [&](SqliteStore& store) -> Result<void> {
      const Result<std::size_t> dropped = clean_slice(store);
      if (!dropped) return dropped.error();
      slice = *dropped;
      return {};
    });
    if (!done) return done.error();
  }
  return all;
}

}  // namespace rest_fcgi::returner
