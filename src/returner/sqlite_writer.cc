// SPDX-License-Identifier: MIT
#include "returner/sqlite_writer.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "returner/group.h"

namespace rest_fcgi::returner {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

// What a power cut may take is what came in this time and the next, and while the disk works: under 50 ms.
constexpr milliseconds kGroupTime{25};
constexpr milliseconds kSyncTime{10};
constexpr milliseconds kRetryTime{200};
constexpr milliseconds kPatience{1000};  // for room in the spool

Error unavailable(std::string message) {
  return {ErrorKind::unavailable, std::move(message)};
}

}  // namespace

Result<std::unique_ptr<SqliteWriter>> SqliteWriter::start(const Options& options, const Clock& clock,
                                                          SqliteReaders& readers) {
  auto store = SqliteStore::open(options.sqlite3);
  if (!store) return std::move(store).error();
  auto spool = Spool::create(options.sqlite3.database, options.spool_bytes);
  if (!spool) return std::move(spool).error();
  std::unique_ptr<SqliteWriter> writer(
      new SqliteWriter(options, clock, readers, *std::move(store), *std::move(spool)));
  writer->write_left_behind();
  auto thread = Thread::start("sqlite", [loop = writer.get()] { loop->loop(); });
  if (!thread) return unavailable(std::move(thread).error().message);
  writer->thread_ = *std::move(thread);
  return writer;
}

SqliteWriter::SqliteWriter(const Options& options, const Clock& clock, SqliteReaders& readers,
                           std::unique_ptr<SqliteStore> store, std::unique_ptr<Spool> spool)
    : options_(options),
      clock_(clock),
      readers_(readers),
      trouble_("sqlite3", format("sqlite3.database: {}", options.sqlite3.database)),
      spool_(std::move(spool)),
      store_(std::move(store)) {}

SqliteWriter::~SqliteWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  thread_.join();
  if (spool_->empty()) {
    spool_->file().remove();
  } else {
    log::warning(
        format("sqlite3.database: {} holds jobs that could not be written; it waits for the next start",
               spool_->file().path()));
  }
}

void SqliteWriter::append(std::string_view record) {
  std::unique_lock lock(mutex_);
  if (!spool_->takes(record.size())) {
    lock.unlock();
    Group group;
    static_cast<void>(group.add(record));
    const Result<void> written =
        run(Durability::grouped, [&](SqliteStore& store) { return group.write(store); });
    if (!written) trouble_.lose(view_of(record));
    return;
  }
  if (!spool_->append(record)) return wait_for_room(lock, record);
  const bool wake = resting_ || spool_->more_than_half_full();
  resting_ = false;
  lock.unlock();
  if (wake) work_.notify_one();
}

void SqliteWriter::wait_for_room(std::unique_lock<std::mutex>& lock, std::string_view record) {
  const auto deadline = SteadyClock::now() + kPatience;
  do {
    work_.notify_one();
    if (trouble_.now() || room_.wait_until(lock, deadline) == std::cv_status::timeout) {
      return trouble_.lose(view_of(record));
    }
  } while (!spool_->append(record));
}

Result<void> SqliteWriter::run(Durability durability, const Task& task) {
  Waiting waiting{task, durability};
  std::unique_lock lock(mutex_);
  tasks_.push_back(&waiting);
  work_.notify_one();
  done_.wait(lock, [&] { return waiting.done; });
  if (waiting.result) return {};
  return trouble_.error(waiting.result.error());
}

Result<void> SqliteWriter::flush() {
  const bool look = is_anything_left_behind();
  {
    const std::lock_guard lock(mutex_);
    look_around_ = look_around_ || look;
    if (spool_->empty() && !look_around_) return {};
  }
  return run(Durability::grouped, [](SqliteStore&) { return Result<void>(); });
}

void SqliteWriter::loop() {
  std::unique_lock lock(mutex_);
  for (bool last = false; !last;) {
    wait_for_work(lock);
    last = stopping_;
    std::vector<Waiting*> tasks;
    tasks.swap(tasks_);
    const std::uint64_t end = spool_->tail();
    const bool anything = !spool_->empty() || !tasks.empty();
    const bool look_around = std::exchange(look_around_, false);
    lock.unlock();
    const bool all_adopted = !look_around || write_left_behind();
    const Result<void> written = anything ? write(*spool_, end, tasks) : Result<void>();
    if (!written) trouble_.begin(written.error());
    if (anything && written && all_adopted && !sync_failed_) trouble_.end();
    group_due_ = SteadyClock::now() + (written ? kGroupTime : kRetryTime);
    lock.lock();
    if (written) spool_->drop(end);
    finish(tasks, written);
    lock.unlock();
    if (last) sync_due_ = {};
    sync_when_due();
    keep_house_when_due();
    lock.lock();
  }
}

void SqliteWriter::wait_for_work(std::unique_lock<std::mutex>& lock) {
  while (!stopping_ && tasks_.empty()) {
    const bool waits = !spool_->empty();
    if (spool_->more_than_half_full() && !trouble_.now()) return;
    Time due = house_due_;
    if (unsynced_) due = std::min(due, sync_due_);
    if (waits) due = std::min(due, group_due_);
    if (SteadyClock::now() >= due) return;
    resting_ = !waits;
    work_.wait_until(lock, due);
    resting_ = false;
    // The first record of a group begins its time.
    if (!waits && !spool_->empty()) group_due_ = SteadyClock::now() + kGroupTime;
  }
}

void SqliteWriter::finish(const std::vector<Waiting*>& tasks, const Result<void>& written) {
  for (Waiting* waiting : tasks) {
    waiting->result = written;
    waiting->done = true;
  }
  if (!tasks.empty()) done_.notify_all();
  room_.notify_all();
}

Result<void> SqliteWriter::write(const Spool& spool, std::uint64_t end, const std::vector<Waiting*>& tasks) {
  try {
    return write_or_throw(spool, end, tasks);
  } catch (const std::exception& exception) {  // memory is short
    store_.reset();                            // which rolls back
    return unavailable(exception.what());
  }
}

Result<void> SqliteWriter::write_or_throw(const Spool& spool, std::uint64_t end,
                                          const std::vector<Waiting*>& tasks) {
  for (int tries = 0; tries < 2; ++tries) {
    if (store_ == nullptr) {
      if (Result<void> opened = reopen(); !opened) return opened;
    }
    Result<void> written = write_once(spool, end, tasks);
    if (!written) {
      // Opened anew the next time: that helps against more than one kind of trouble.
      store_->rollback();
      store_.reset();
      return written;
    }
    if (!store_->has_moved()) return {};
    log::error(
        format("sqlite3.database: {} was removed or replaced while in use: the jobs in it are gone, "
               "and go on in a new one",
               options_.sqlite3.database));
    store_.reset();
  }
  return unavailable("it is removed again and again");
}

Result<void> SqliteWriter::write_once(const Spool& spool, std::uint64_t end,
                                      const std::vector<Waiting*>& tasks) {
  Group group;
  std::uint64_t unreadable = 0;
  const std::uint64_t torn = spool.visit(end, [&](std::string_view record) {
    if (!group.add(record)) ++unreadable;
  });
  if (Result<void> begun = store_->begin(); !begun) return begun;
  if (Result<void> done = group.write(*store_); !done) return done;
  bool durable = false;
  for (const Waiting* waiting : tasks) {
    durable = durable || waiting->durability == Durability::durable;
    if (Result<void> done = waiting->task(*store_); !done) return done;
  }
  if (Result<void> committed = store_->commit(); !committed) return committed;
  if (!unsynced_) sync_due_ = SteadyClock::now() + kSyncTime;
  unsynced_ = true;
  Result<void> synced = durable ? sync() : Result<void>();
  // Else all of it is tried again.
  if (synced) tell_of_unreadable(spool, unreadable, torn);
  return synced;
}

void SqliteWriter::tell_of_unreadable(const Spool& spool, std::uint64_t records, std::uint64_t torn) {
  for (; records > 0; --records) trouble_.lose({});
  if (torn == 0) return;
  log::error(format("sqlite3.database: {} bytes of jobs in {} cannot be read, as after a power cut", torn,
                    spool.file().path()));
}

Result<void> SqliteWriter::reopen() {
  readers_.close_all();
  auto store = SqliteStore::open(options_.sqlite3);
  if (!store) return std::move(store).error();
  store_ = *std::move(store);
  return {};
}

Result<void> SqliteWriter::sync() {
  // After one that failed, the next one would succeed: the system takes what it could not write for written
  // (fsync(2)). What a checkpoint writes anew is there.
  Result<void> synced = sync_failed_ ? store_->checkpoint() : store_->sync();
  unsynced_ = !synced.ok();
  sync_failed_ = !synced.ok();
  return synced;
}

}  // namespace rest_fcgi::returner
