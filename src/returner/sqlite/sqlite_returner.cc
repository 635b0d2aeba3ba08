// SPDX-License-Identifier: MIT
#include "returner/sqlite/sqlite_returner.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "returner/record.h"
#include "returner/sqlite/store.h"

namespace rest_fcgi::returner {
namespace {

using std::chrono::milliseconds;

// What a power cut may take is what came in this time and the next, and while the disk works: under 50 ms.
constexpr milliseconds kGroupTime{25};
constexpr milliseconds kSyncTime{10};
constexpr milliseconds kRetryTime{200};
constexpr milliseconds kCleanTime{10'000};
constexpr std::size_t kSlice = 200;  // jobs: few enough that nobody who waits for the writer notices
constexpr std::chrono::hours kClaimTime{1};

SteadyTime from_now(milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

Error not_in_database(std::string_view jid) {
  return {
      ErrorKind::invocation,
      format(
          "The job cache sqlite3 keeps no job '{}': a jid is 20 digits, and begins with a year from 1100 to "
          "2899.",
          jid)};
}

}  // namespace

/// Writes a group of records, and what callers wait for, into the database in one transaction, waits for the
/// disk, and drops old jobs. Of the writer's thread.
class SqliteSink : public SpoolSink {
 public:
  SqliteSink(const Options& options, const Clock& clock, SqliteReaders& readers,
             std::unique_ptr<SqliteStore> store)
      : options_(options), clock_(clock), readers_(readers), store_(std::move(store)) {}

  Result<void> write(const SpooledWork& work, Trouble& trouble) override;
  void give_up() override { store_.reset(); }  // which rolls back
  Result<void> tend(bool is_last) override;
  [[nodiscard]] SteadyTime next_due() const override {
    return unsynced_ ? std::min(sync_due_, clean_due_) : clean_due_;
  }
  [[nodiscard]] bool is_well() const override { return !sync_failed_; }
  [[nodiscard]] std::optional<RecordView> view(std::string_view record) const override {
    return view_of(record);
  }

  /// For tasks, which run inside of a transaction.
  [[nodiscard]] SqliteStore& store() const noexcept { return *store_; }
  /// Drops some of the jobs that are too old; inside of a transaction. Returns how many.
  [[nodiscard]] Result<std::size_t> clean_slice();

 private:
  [[nodiscard]] Result<void> transact(const WriterTask& inside, bool durable);
  [[nodiscard]] Result<void> transact_once(const WriterTask& inside, bool durable);
  [[nodiscard]] Result<void> sync();

  const Options options_;
  const Clock& clock_;
  SqliteReaders& readers_;
  std::unique_ptr<SqliteStore> store_;  // null where it has to be opened anew
  bool unsynced_ = false;
  bool sync_failed_ = false;  // since then, nothing is durable before a checkpoint
  bool untidy_ = true;        // jobs were dropped, and what they left was not
  SteadyTime sync_due_;
  SteadyTime clean_due_;
};

Result<void> SqliteSink::write(const SpooledWork& work, Trouble& trouble) {
  SqliteGroup group;
  std::uint64_t no_records = 0;
  const std::uint64_t unreadable = work.spool.visit(work.end, [&](std::string_view record) {
    if (!group.add(record)) ++no_records;
  });
  const WriterTask inside = [&] {
    Result<void> done = group.write(*store_);
    for (auto task = work.tasks.begin(); done && task != work.tasks.end(); ++task) done = (**task)();
    return done;
  };
  if (Result<void> done = transact(inside, work.durable); !done) return done;
  for (; no_records > 0; --no_records) trouble.lose({});
  trouble.tell_of_unreadable(unreadable, work.spool.file().path());
  return {};
}

Result<void> SqliteSink::transact(const WriterTask& inside, bool durable) {
  for (int tries = 0; tries < 2; ++tries) {
    if (store_ == nullptr) {
      readers_.renew();
      auto store = SqliteStore::open(options_.sqlite3);
      if (!store) return std::move(store).error();
      store_ = *std::move(store);
    }
    Result<void> done = transact_once(inside, durable);
    if (!done) {
      // Opened anew the next time: that helps against more than one kind of trouble.
      store_->rollback();
      store_.reset();
      return done;
    }
    if (!store_->has_moved()) return {};
    log::error(
        format("sqlite3.database: {} was removed or replaced while in use: the jobs in it are gone, "
               "and go on in a new one",
               options_.sqlite3.database));
    store_.reset();
  }
  return Error{ErrorKind::unavailable, "it is removed again and again"};
}

Result<void> SqliteSink::transact_once(const WriterTask& inside, bool durable) {
  Result<void> done = store_->begin();
  if (done) done = inside();
  if (done) done = store_->commit();
  if (!done) return done;
  if (!unsynced_) sync_due_ = from_now(kSyncTime);
  unsynced_ = true;
  return durable ? sync() : Result<void>();
}

Result<void> SqliteSink::sync() {
  // After one that failed, the next one would succeed: the system takes what it could not write for written
  // (fsync(2)). What a checkpoint writes anew is there.
  Result<void> synced = sync_failed_ ? store_->checkpoint() : store_->sync();
  unsynced_ = !synced.ok();
  sync_failed_ = !synced.ok();
  return synced;
}

Result<void> SqliteSink::tend(bool is_last) {
  const SteadyTime now = from_now({});
  Result<void> synced;
  if (unsynced_ && (is_last || now >= sync_due_)) {
    sync_due_ = now + kRetryTime;
    if (store_ != nullptr) synced = sync();
  }
  if (now < clean_due_) return synced;
  clean_due_ = now + kCleanTime;
  if (store_ == nullptr) return synced;  // told of already
  Result<void> cleaned = transact(
      [&]() -> Result<void> {
        const Result<std::size_t> dropped = clean_slice();
        if (dropped && *dropped == kSlice) clean_due_ = now;
        return dropped ? Result<void>() : dropped.error();
      },
      false);
  return synced ? cleaned : synced;
}

Result<std::size_t> SqliteSink::clean_slice() {
  const WallTime now = clock_.wall();
  const bool for_ever = options_.keep_jobs_seconds.count() == 0;
  Result<std::size_t> dropped =
      for_ever ? std::size_t{0} : store_->drop_saved_before(now - options_.keep_jobs_seconds, kSlice);
  if (!dropped) return dropped;
  untidy_ = untidy_ || *dropped > 0;
  if (*dropped == kSlice) return dropped;
  if (Result<void> gone = store_->drop_claims_before(now - kClaimTime); !gone) return std::move(gone).error();
  if (!untidy_) return dropped;
  if (Result<void> gone = store_->drop_dangling(); !gone) return std::move(gone).error();
  untidy_ = false;
  return dropped;
}

Result<std::unique_ptr<Returner>> SqliteReturner::open(const Options& options, const Clock& clock) {
  std::unique_ptr<SqliteReturner> returner(new SqliteReturner(options, clock));
  auto store = SqliteStore::open(options.sqlite3);
  if (!store) return std::move(store).error();
  auto sink = std::make_unique<SqliteSink>(options, clock, *returner->readers_, *std::move(store));
  returner->sink_ = sink.get();
  auto writer = SpooledWriter::start({.name = "sqlite3",
                                      .where = format("sqlite3.database: {}", options.sqlite3.database),
                                      .prefix = options.sqlite3.database,
                                      .spool_bytes = options.spool_bytes,
                                      .group_time = kGroupTime,
                                      .rest_time = kGroupTime,
                                      .most_pause = kRetryTime},
                                     clock, std::move(sink));
  if (!writer) return std::move(writer).error();
  returner->writer_ = *std::move(writer);
  return std::unique_ptr<Returner>(std::move(returner));
}

void SqliteReturner::append(std::string_view record) {
  if (writer_->takes(record.size())) return writer_->append(record);
  SqliteGroup group;
  static_cast<void>(group.add(record));
  const auto task = [&](SqliteStore& store) { return group.write(store); };
  if (!run(Durability::grouped, task)) writer_->lose(record);
}

Result<void> SqliteReturner::run(Durability durability,
                                 const std::function<Result<void>(SqliteStore&)>& task) {
  return writer_->run(durability, [&] { return task(sink_->store()); });
}

Result<bool> SqliteReturner::prep_jid(std::string_view passed_jid) {
  const std::optional<JidKey> key = key_of(passed_jid);
  if (!key) return not_in_database(passed_jid);
  bool claimed = false;
  const Result<void> done = run(Durability::grouped, [&](SqliteStore& store) -> Result<void> {
    const Result<bool> claim = store.claim(*key, clock_.wall());
    if (!claim) return claim.error();
    claimed = *claim;
    return {};
  });
  return done ? Result<bool>(claimed) : done.error();
}

Result<void> SqliteReturner::save_load(Load load, Durability durability) {
  const std::optional<JidKey> key = key_of(load.jid);
  if (!key) return not_in_database(load.jid);
  const std::string record = load_record(*key, load, clock_.wall());
  if (durability == Durability::grouped) {
    append(record);
    return {};
  }
  SqliteGroup group;
  static_cast<void>(group.add(record));
  return run(durability, [&](SqliteStore& store) { return group.write(store); });
}

Result<void> SqliteReturner::save_minions(std::string_view jid, const std::vector<std::string>& minions) {
  if (const auto key = key_of(jid)) append(minions_record(*key, minions));
  return {};
}

Result<void> SqliteReturner::returner(std::string_view jid, JobReturn ret) {
  if (const auto key = key_of(jid)) append(return_record(*key, ret));
  return {};
}

Result<void> SqliteReturner::flush() {
  return run(Durability::durable, [](SqliteStore&) { return Result<void>(); });
}

Result<std::size_t> SqliteReturner::clean_old_jobs() {
  std::size_t all = 0;
  for (std::size_t slice = kSlice; slice == kSlice; all += slice) {
    const Result<void> done = run(Durability::grouped, [&](SqliteStore&) -> Result<void> {
      const Result<std::size_t> dropped = sink_->clean_slice();
      if (!dropped) return dropped.error();
      slice = *dropped;
      return {};
    });
    if (!done) return done.error();
  }
  return all;
}

Result<void> SqliteReturner::read(const std::function<Result<void>(SqliteConnection&)>& reading) const {
  if (Result<void> flushed = writer_->flush(); !flushed) return flushed;
  Result<void> done = readers_->with(reading);
  return done ? done : writer_->failure(done.error());
}

Result<std::optional<Load>> SqliteReturner::get_load(std::string_view jid) const {
  std::optional<Load> load;
  const std::optional<JidKey> key = key_of(jid);
  if (!key) return load;
  const Result<void> done =
      read([&](SqliteConnection& connection) { return find_load(connection, *key, load); });
  return done ? Result(std::move(load)) : done.error();
}

Result<std::vector<JobReturn>> SqliteReturner::get_jid(std::string_view jid) const {
  std::vector<JobReturn> returns;
  const std::optional<JidKey> key = key_of(jid);
  if (!key) return returns;
  const Result<void> done =
      read([&](SqliteConnection& connection) { return find_returns(connection, *key, returns); });
  return done ? Result(std::move(returns)) : done.error();
}

Result<std::vector<FunctionReturn>> SqliteReturner::get_fun(std::string_view fun) const {
  std::vector<FunctionReturn> returns;
  const Result<void> done =
      read([&](SqliteConnection& connection) { return find_newest(connection, fun, returns); });
  return done ? Result(std::move(returns)) : done.error();
}

Result<void> SqliteReturner::get_jids(const JobQuery& query, const LoadVisitor& visit) const {
  return read([&](SqliteConnection& connection) { return walk_loads(connection, query, visit); });
}

Result<std::vector<std::string>> SqliteReturner::get_minions() const {
  std::vector<std::string> minions;
  const Result<void> done =
      read([&](SqliteConnection& connection) { return find_minions(connection, minions); });
  return done ? Result(std::move(minions)) : done.error();
}

}  // namespace rest_fcgi::returner
