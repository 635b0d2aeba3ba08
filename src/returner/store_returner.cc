// SPDX-License-Identifier: MIT
#include "returner/store_returner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "rest_fcgi/core/jid.h"
#include "rest_fcgi/core/log.h"
#include "returner/stored.h"

namespace rest_fcgi::returner {
namespace {

using store::Connection;
using store::Row;
using store::Store;

// The largest number of jobs that one transaction deletes from a database on disk.
constexpr std::int64_t kSlice = 500;
// The pause between two such transactions, in which requests use the database.
constexpr std::chrono::milliseconds kRest{2};
// The number of such transactions in a second. The write-ahead log of more of them would take long to copy.
constexpr int kMostSlices = 100;
// The largest number of jobs that one transaction deletes from a database in memory.
constexpr std::int64_t kSliceInMemory = 8;
// The size of a database in memory is checked once for each `max_bytes / kChecks` bytes of new jobs.
constexpr std::size_t kChecks = 8;

constexpr const char* kReserve = "INSERT INTO job (jid, saved) VALUES (?, ?) ON CONFLICT DO NOTHING";
constexpr const char* kInsert =
    "INSERT INTO job (jid, saved, fun, arg, tgt, tgt_type, user, metadata, minions, returns)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
constexpr const char* kReplace =
    "UPDATE job SET saved = ?2, fun = ?3, arg = ?4, tgt = ?5, tgt_type = ?6, user = ?7, metadata = ?8,"
    " minions = ?9, returns = coalesce(returns, ?10) WHERE jid = ?1";
constexpr const char* kInsertReturn =
    "INSERT INTO job_return (jid, minion, ret, retcode, success, out) SELECT jid, ?2, ?3, ?4, ?5, ?6 FROM job"
    " WHERE jid = ?1 AND fun IS NOT NULL"
    " ON CONFLICT DO UPDATE SET ret = ?3, retcode = ?4, success = ?5, out = ?6";
constexpr const char* kInsertPlaceholder =
    "INSERT INTO job_return (jid, minion, ret, retcode, success, out) SELECT jid, ?2, ?3, ?4, ?5, ?6 FROM job"
    " WHERE jid = ?1 AND fun IS NOT NULL AND NOT EXISTS"
    " (SELECT 1 FROM json_each(returns) WHERE json_extract(value, '$.id') = ?2) ON CONFLICT DO NOTHING";
constexpr const char* kMinions = "SELECT minions FROM job WHERE jid = ? AND fun IS NOT NULL";
constexpr const char* kSetMinions = "UPDATE job SET minions = ?2 WHERE jid = ?1";
#define LOAD "SELECT jid, fun, arg, tgt, tgt_type, user, metadata, minions FROM job "
constexpr const char* kLoad = LOAD "WHERE jid = ? AND fun IS NOT NULL";
constexpr const char* kOldestFirst = LOAD "WHERE jid BETWEEN ? AND ? AND fun IS NOT NULL ORDER BY jid";
constexpr const char* kNewestFirst = LOAD "WHERE jid BETWEEN ? AND ? AND fun IS NOT NULL ORDER BY jid DESC";
#undef LOAD
constexpr const char* kReturns = "SELECT returns FROM job WHERE jid = ? AND fun IS NOT NULL";
constexpr const char* kLaterReturns =
    "SELECT minion, ret, retcode, success, out FROM job_return WHERE jid = ?";
constexpr const char* kRemoveOutdated =
    "DELETE FROM job WHERE jid IN (SELECT jid FROM job WHERE jid < ? AND saved < ? ORDER BY jid LIMIT ?)";
constexpr const char* kRemoveOldest =
    "DELETE FROM job WHERE jid IN (SELECT jid FROM job ORDER BY jid LIMIT ?)";

Load load_in(const Row& row) {
  const auto json = [&row](int column) { return Json::trusted(std::string(row.text(column))); };
  Load load{jid_of(row.number(0)),
            json(1),
            json(2),
            json(3),
            std::string(row.text(4)),
            std::string(row.text(5)),
            {},
            strings_in(row.text(7))};
  if (!row.is_null(6)) load.metadata = json(6);
  return load;
}

std::int64_t microseconds(WallTime time) {
  return time.time_since_epoch().count();
}

class StoreReturner final : public Returner {
 public:
  StoreReturner(std::shared_ptr<Store> store, std::chrono::seconds keep_jobs, std::size_t max_bytes,
                const Clock& clock)
      : store_(std::move(store)), keep_jobs_(keep_jobs), max_bytes_(max_bytes), clock_(clock) {
    cleaning_ = store_->every_second([this] { clean(); });
  }

  Result<bool> prep_jid(std::string_view passed_jid) override {
    const std::optional<JidKey> key = key_of(passed_jid);
    if (!key) return no_key_of(passed_jid, "sqlite3");
    const auto reserved = store_->execute(kReserve, *key, microseconds(clock_.wall()));
    return reserved ? Result(*reserved > 0) : reserved.error();
  }

  Result<void> save_load(Load load, Durability durability) override {
    Result<void> saved = save_job(load, {});
    return saved && durability == Durability::durable ? store_->sync() : saved;
  }

  Result<void> save_job(const Load& load, std::span<const ReturnView> returns) override {
    const std::optional<JidKey> key = key_of(load.jid);
    if (!key) return no_key_of(load.jid, "sqlite3");
    const std::string minions = strings_json(load.minions);
    const std::string all_returns = returns_json(returns);
    const auto metadata = load.metadata ? std::optional(load.metadata->text()) : std::nullopt;
    const auto run = [&](auto& to, const char* sql) {
      return to.execute(sql, *key, microseconds(clock_.wall()), load.fun.text(), load.arg.text(),
                        load.tgt.text(), load.tgt_type, load.user, metadata, minions, all_returns);
    };
    const Result<std::int64_t> inserted = run(*store_, kInsert);
    note_added(load.arg.text().size() + all_returns.size());
    if (!inserted || *inserted > 0) return inserted ? Result<void>() : inserted.error();
    // A row exists if `prep_jid` reserved the jid or the caller saves the job again.
    return store_->transact([&](Connection& connection) -> Result<void> {
      const auto replaced = run(connection, kReplace);
      if (!replaced) return replaced.error();
      for (const ReturnView& ret : returns) {
        if (Result<void> added = add(connection, kInsertReturn, *key, ret); !added) return added;
      }
      return {};
    });
  }

  Result<void> save_minions(std::string_view jid, const std::vector<std::string>& minions) override {
    const std::optional<JidKey> key = key_of(jid);
    if (!key) return {};
    return store_->transact([&](Connection& connection) -> Result<void> {
      const auto strings = [](const Row& row) { return strings_in(row.text(0)); };
      auto all = connection.first(kMinions, strings, *key);
      if (!all || !*all) return std::move(all).without_value();
      add_minions(**all, minions);
      return connection.execute(kSetMinions, *key, strings_json(**all)).without_value();
    });
  }

  Result<void> returner(std::string_view jid, JobReturn ret) override {
    const std::optional<JidKey> key = key_of(jid);
    if (!key) return {};
    note_added(ret.ret.text().size());
    return add(*store_, ret.is_placeholder ? kInsertPlaceholder : kInsertReturn, *key, view_of(ret));
  }

  Result<std::optional<Load>> get_load(std::string_view jid) const override {
    const std::optional<JidKey> key = key_of(jid);
    if (!key) return std::optional<Load>();
    return store_->read([&](Connection& from) { return from.first(kLoad, load_in, *key); });
  }

  Result<std::vector<JobReturn>> get_jid(std::string_view jid) const override {
    std::vector<JobReturn> returns;
    const std::optional<JidKey> key = key_of(jid);
    if (!key) return returns;
    std::map<std::string, JobReturn> by_minion;
    const auto take = [&](const Row& row) {
      for (JobReturn& ret : returns_in(row.text(0))) by_minion.insert_or_assign(ret.minion, std::move(ret));
      return false;
    };
    const auto take_later = [&](const Row& row) {
      const ReturnView ret{row.text(0), row.text(1), static_cast<int>(row.number(2)), row.number(3) != 0,
                           row.text(4)};
      by_minion.insert_or_assign(std::string(ret.minion), ret.copy());
      return true;
    };
    Result<void> read = store_->read([&](Connection& from) {
      Result<void> first = from.each(kReturns, take, *key);
      return first ? from.each(kLaterReturns, take_later, *key) : first;
    });
    if (!read) return std::move(read).error();
    for (auto& [minion, ret] : by_minion) returns.push_back(std::move(ret));
    return returns;
  }

  Result<void> get_jids(const JobQuery& query, const LoadVisitor& visit) const override {
    const JidKeys keys = keys_of(query);
    const auto take = [&](const Row& row) {
      return !selects(query, jid_of(row.number(0))) || visit(load_in(row));
    };
    return store_->read_long([&](Connection& from) {
      return from.each(query.newest_first ? kNewestFirst : kOldestFirst, take, keys.least, keys.greatest);
    });
  }

  Result<void> flush() override { return store_->sync(); }

 private:
  template <class Target>
  static Result<void> add(Target& to, const char* sql, JidKey key, const ReturnView& ret) {
    return to.execute(sql, key, ret.minion, ret.ret, ret.retcode, ret.success, ret.out).without_value();
  }

  void clean() {
    if (keep_jobs_.count() > 0) {
      const WallTime oldest = clock_.wall() - keep_jobs_;
      Result<std::int64_t> removed = kSlice;
      for (int slices = 0; slices < kMostSlices && removed && *removed == kSlice; ++slices) {
        removed = store_->execute(kRemoveOutdated, nearest_key(jid_at(oldest)), microseconds(oldest), kSlice);
        std::this_thread::sleep_for(kRest);
      }
    }
    drop_beyond_bound();
  }

  /// A database in memory can exceed its limit within a second, so its size is checked often.
  void note_added(std::size_t bytes) {
    if (!store_->is_in_memory() || (unchecked_bytes_ += bytes) < max_bytes_ / kChecks) return;
    unchecked_bytes_ = 0;
    drop_beyond_bound();
  }

  void drop_beyond_bound() {
    const bool is_in_memory = store_->is_in_memory();
    for (;;) {
      const Result<std::int64_t> used = store_->used_bytes();
      if (!used || *used <= static_cast<std::int64_t>(max_bytes_)) break;
      const auto removed = store_->execute(kRemoveOldest, is_in_memory ? kSliceInMemory : kSlice);
      if (!removed || *removed == 0) break;
      note_dropped();
    }
    if (is_in_memory) static_cast<void>(store_->execute("PRAGMA incremental_vacuum"));
  }

  void note_dropped() {
    if (has_dropped_.exchange(true)) return;
    log::warning(
        "jobs_bytes_kept: the stored jobs have reached this limit; the oldest jobs are deleted. This warning "
        "is logged only once");
  }

  const std::shared_ptr<Store> store_;
  const std::chrono::seconds keep_jobs_;
  const std::size_t max_bytes_;
  const Clock& clock_;
  std::atomic<std::size_t> unchecked_bytes_ = 0;
  std::atomic<bool> has_dropped_ = false;
  // This member is destroyed first, so the task ends before the other members.
  Store::Registration cleaning_;
};

}  // namespace

std::unique_ptr<Returner> make_store_returner(std::shared_ptr<Store> store, std::chrono::seconds keep_jobs,
                                              std::size_t max_bytes, const Clock& clock) {
  return std::make_unique<StoreReturner>(std::move(store), keep_jobs, max_bytes, clock);
}

}  // namespace rest_fcgi::returner
