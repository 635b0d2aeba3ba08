// SPDX-License-Identifier: MIT
#include "returner/etcd/outbox.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/waiting.h"

// Invariants of the tables between two transactions (store/open.cc has the columns):
// - Ids ascend in the order of the commits, and rows are deleted from the lowest id on. etcd has, or has
//   refused, all writes before the first row. It may also have some of the writes that are still rows.
// - `outbox_bytes` in `meta` is the total size in bytes of `load`, `returns` and `minions` of all rows.
// - `outbox_lease` has one row. The lease is free if `renewed` differs from the present time by more than
//   `kLeaseTime`. `failure` is the error of the last delivery, or NULL after a success.
// A process delivers rows only after it has taken or renewed the lease.

namespace rest_fcgi::returner {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using std::chrono::steady_clock;
using store::Connection;
using store::Row;

constexpr std::int64_t kMostRows = 512;
constexpr std::size_t kMostBytes = std::size_t{4} << 20;
constexpr auto kGroupTime = 10ms;   // After a new row, the thread waits `kGroupTime` for more rows.
constexpr auto kRowsEvery = 200ms;  // Every `kRowsEvery`, the thread looks for rows of other processes.
constexpr auto kFailurePause = 500ms;
constexpr auto kFlushTime = 10s;
constexpr auto kPollTime = 20ms;    // Every `kPollTime`, `flush` looks for deliveries of other processes.
constexpr auto kLastPassTime = 5s;  // The delivery in the destructor takes at most `kLastPassTime`.
constexpr std::int64_t kLeaseTime = microseconds(3s).count();

constexpr const char* kTakeRoom =
    "UPDATE meta SET value = value + ?1 WHERE name = 'outbox_bytes' AND value + ?1 <= ?2 RETURNING value";
constexpr const char* kAppend =
    "INSERT INTO outbox (stamp, jid, load, returns, minions, is_placeholder) VALUES (?, ?, ?, ?, ?, ?)";
constexpr const char* kFirstRows =
    "SELECT id, stamp, jid, load, returns, minions, is_placeholder FROM outbox ORDER BY id LIMIT ?";
constexpr const char* kGiveRoomBack =
    "UPDATE meta SET value = value - coalesce((SELECT sum(length(CAST(load AS BLOB)) +"
    " length(CAST(returns AS BLOB)) + length(CAST(minions AS BLOB))) FROM outbox WHERE id <= ?), 0)"
    " WHERE name = 'outbox_bytes'";
constexpr const char* kDelete = "DELETE FROM outbox WHERE id <= ?";
constexpr const char* kLook =
    "SELECT (SELECT min(id) FROM outbox), (SELECT max(id) FROM outbox), failure FROM outbox_lease";
constexpr const char* kTakeLease =
    "UPDATE outbox_lease SET owner = ?1, renewed = ?2 WHERE owner = ?1 OR abs(?2 - renewed) > ?3";
constexpr const char* kGiveLeaseBack = "UPDATE outbox_lease SET renewed = 0, failure = NULL WHERE owner = ?";
constexpr const char* kSetFailure = "UPDATE outbox_lease SET failure = ?";
constexpr const char* kClearFailure = "UPDATE outbox_lease SET failure = NULL WHERE failure IS NOT NULL";

std::size_t bytes_of(const OutboxRow& row) {
  return row.load.size() + row.returns.size() + row.minions.size();
}

}  // namespace

Result<std::unique_ptr<Outbox>> Outbox::start(std::shared_ptr<store::Store> store, Options options) {
  std::unique_ptr<Outbox> outbox(new Outbox(std::move(store), std::move(options)));
  Result<Thread> thread = Thread::start("etcd-outbox", [self = outbox.get()] { self->run(); });
  if (!thread) return std::move(thread).error();
  outbox->thread_ = *std::move(thread);
  return outbox;
}

Outbox::Outbox(std::shared_ptr<store::Store> store, Options options)
    : store_(std::move(store)), options_(std::move(options)) {
  renewal_ = store_->every_second([this] {
    if (is_delivering_) take_lease();
  });
}

Outbox::~Outbox() {
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
  }
  work_.notify_one();
  thread_.join();
  renewal_.reset();
  log::safely([this] { static_cast<void>(store_->execute(kGiveLeaseBack, options_.name)); });
}

Result<bool> Outbox::append(const OutboxRow& row) {
  std::optional<std::int64_t> bytes;
  const Result<void> appended = store_->transact([&](Connection& connection) -> Result<void> {
    const auto taken = connection.number(kTakeRoom, static_cast<std::int64_t>(bytes_of(row)),
                                         static_cast<std::int64_t>(options_.max_bytes));
    if (!taken) return taken.error();
    bytes = *taken;
    if (!bytes) return {};
    const auto added = connection.execute(kAppend, row.stamp.time_since_epoch().count(), row.key, row.load,
                                          row.returns, row.minions, row.is_placeholder);
    return added ? Result<void>() : added.error();
  });
  if (!appended) return appended.error();
  note_room(bytes.has_value(), bytes.value_or(0));
  if (bytes) wake(false);
  return bytes.has_value();
}

void Outbox::note_room(bool has_room, std::int64_t bytes) {
  const MutexLock lock(mutex_);
  if (!has_room) {
    options_.lost();
    if (lost_++ > 0) return;
    log::error(
        format("etcd_outbox_bytes: the outbox is full: writes of {} bytes wait for etcd; asynchronous jobs "
               "are refused, other writes are lost",
               options_.max_bytes));
  } else if (lost_ > 0 && static_cast<std::size_t>(bytes) < options_.max_bytes / 2) {
    log::warning(format("etcd_outbox_bytes: the outbox has free space again; {} writes were lost", lost_));
    lost_ = 0;
  }
}

Result<void> Outbox::flush() {
  const SteadyTime deadline = steady_clock::now() + kFlushTime;
  std::optional<std::int64_t> end;
  for (;;) {
    MutexLock lock(mutex_);
    const std::uint64_t seen = passes_;
    lock.unlock();
    bool is_done = false;
    std::optional<std::string> failure;
    Result<void> looked = store_->read([&](Connection& connection) {
      return connection.each(kLook, [&](const Row& row) {
        if (!end) end = row.number(1);
        is_done = row.is_null(0) || row.number(0) > *end;
        if (!row.is_null(2)) failure = row.text(2);
        return false;
      });
    });
    if (!looked) return looked;
    if (is_done) return {};
    if (failure) return Error{ErrorKind::unavailable, *std::move(failure)};
    if (steady_clock::now() >= deadline) {
      return Error{ErrorKind::unavailable, "earlier writes still wait for etcd"};
    }
    wake(true);
    const Waiting waiting;
    lock.lock();
    progress_.wait_for(lock, kPollTime, [&]() REQUIRES(mutex_) { return passes_ != seen; });
  }
}

bool Outbox::take_lease() {
  const std::int64_t now =
      std::chrono::duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  const auto taken = store_->execute(kTakeLease, options_.name, now, kLeaseTime);
  return taken && *taken > 0;
}

void Outbox::wake(bool is_urgent) {
  {
    const MutexLock lock(mutex_);
    has_work_ = true;
    is_urgent_ = is_urgent_ || is_urgent;
    if (!is_idle_ && !is_urgent) return;
  }
  work_.notify_one();
}

void Outbox::run() {
  MutexLock lock(mutex_);
  while (!is_stopping_) {
    if (is_failing_) {
      work_.wait_for(lock, kFailurePause, [this]() REQUIRES(mutex_) { return is_stopping_; });
    } else {
      is_idle_ = true;
      work_.wait_for(lock, kRowsEvery, [this]() REQUIRES(mutex_) { return is_stopping_ || has_work_; });
      is_idle_ = false;
      if (has_work_)
        work_.wait_for(lock, kGroupTime, [this]() REQUIRES(mutex_) { return is_stopping_ || is_urgent_; });
    }
    has_work_ = false;
    is_urgent_ = false;
    lock.unlock();
    deliver_or_note_failure(SteadyTime::max());
    lock.lock();
    ++passes_;
    progress_.notify_all();
  }
  lock.unlock();
  if (!is_failing_) deliver_or_note_failure(steady_clock::now() + kLastPassTime);
}

void Outbox::deliver_or_note_failure(SteadyTime deadline) {
  if (!may_deliver()) return;
  is_delivering_ = true;
  const Result<void> delivered = deliver(deadline);
  is_delivering_ = false;
  const bool was_failing = std::exchange(is_failing_, !delivered);
  if (was_failing && delivered) log::warning("writing to etcd works again");
  if (delivered) return;
  static_cast<void>(store_->execute(kSetFailure, delivered.error().message));
  if (was_failing) return;
  log::error(format("cannot write to etcd: {}; jobs wait in the outbox", delivered.error().message));
}

Result<void> Outbox::deliver(SteadyTime deadline) {
  do {
    std::vector<OutboxRow> rows;
    std::int64_t last_id = 0;
    std::size_t bytes = 0;
    const auto take = [&](const Row& query) {
      last_id = query.number(0);
      OutboxRow row{WallTime(WallTime::duration(query.number(1))), query.number(2)};
      row.load = query.text(3);
      row.returns = query.text(4);
      row.minions = query.text(5);
      row.is_placeholder = query.number(6) != 0;
      bytes += bytes_of(row);
      rows.push_back(std::move(row));
      return bytes < kMostBytes;
    };
    Result<void> read =
        store_->read([&](Connection& connection) { return connection.each(kFirstRows, take, kMostRows); });
    if (!read || rows.empty()) return read;
    if (Result<void> delivered = options_.deliver(rows); !delivered) return delivered;
    if (Result<void> deleted = note_delivered(last_id); !deleted) return deleted;
  } while (steady_clock::now() < deadline && may_deliver());
  return {};
}

bool Outbox::may_deliver() {
  const auto first =
      store_->read([](Connection& connection) { return connection.number("SELECT min(id) FROM outbox"); });
  return first && *first && take_lease();
}

Result<void> Outbox::note_delivered(std::int64_t last_id) {
  Result<void> noted = store_->transact([&](Connection& connection) -> Result<void> {
    for (const char* sql : {kGiveRoomBack, kDelete}) {
      if (const auto done = connection.execute(sql, last_id); !done) return done.error();
    }
    return connection.execute(kClearFailure).without_value();
  });
  const MutexLock lock(mutex_);
  ++passes_;
  progress_.notify_all();
  return noted;
}

}  // namespace rest_fcgi::returner
