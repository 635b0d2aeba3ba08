// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "returner/record.h"
#include "returner/spool/spooled_writer.h"
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

/// Writes a group of records, and what callers wait for, into the database in one transaction, waits for the
/// disk, and drops old jobs. Used by the writer's thread alone.
class SqliteSink : public SpoolSink {
 public:
  SqliteSink(const Options& options, const Clock& clock, SqliteReaders& readers,
             std::unique_ptr<SqliteConnection> connection)
      : options_(options), clock_(clock), readers_(readers), connection_(std::move(connection)) {}

  Result<void> write(const SpooledWork& work, Trouble& trouble) override {
    SqliteGroup group;
    std::uint64_t no_records = 0;
    const Spool::Taken taken = work.spool.take(work.end, [&](std::string_view record) {
      if (!group.add(record)) ++no_records;
      return true;
    });
    const WriterTask inside = [&] {
      Result<void> done = group.write(*connection_);
      for (auto task = work.tasks.begin(); done && task != work.tasks.end(); ++task) done = (**task)();
      return done;
    };
    if (Result<void> done = transact(inside, work.durable); !done) return done;
    for (; no_records > 0; --no_records) trouble.lose({});
    trouble.tell_of_unreadable(taken.unreadable, work.spool.file().path());
    return {};
  }

  void give_up() override { connection_.reset(); }  // which rolls back
  Result<void> tend(bool is_last) override {
    const SteadyTime now = std::chrono::steady_clock::now();
    Result<void> synced;
    if (unsynced_ && (is_last || now >= sync_due_)) {
      sync_due_ = now + kRetryTime;
      if (connection_ != nullptr) synced = sync();
    }
    if (now < clean_due_) return synced;
    clean_due_ = now + kCleanTime;
    if (connection_ == nullptr) return synced;  // told of already
    Result<void> cleaned = transact(
        [&]() -> Result<void> {
          const Result<std::size_t> dropped = clean_slice();
          if (dropped && *dropped == kSlice) clean_due_ = now;
          return dropped ? Result<void>() : dropped.error();
        },
        false);
    return synced ? cleaned : synced;
  }

  [[nodiscard]] SteadyTime next_due() const override {
    return unsynced_ ? std::min(sync_due_, clean_due_) : clean_due_;
  }
  [[nodiscard]] bool is_well() const override { return !sync_failed_; }
  [[nodiscard]] std::optional<RecordView> view(std::string_view record) const override {
    return view_of(record);
  }

  /// For tasks, which run inside of a transaction.
  [[nodiscard]] SqliteConnection& connection() const noexcept { return *connection_; }
  /// Drops some of the jobs that are too old; inside of a transaction. Returns how many.
  [[nodiscard]] Result<std::size_t> clean_slice() {
    const WallTime now = clock_.wall();
    const bool for_ever = options_.keep_jobs_seconds.count() == 0;
    Result<std::size_t> dropped =
        for_ever ? std::size_t{0} : drop_saved_before(*connection_, now - options_.keep_jobs_seconds, kSlice);
    if (!dropped) return dropped;
    untidy_ = untidy_ || *dropped > 0;
    if (*dropped == kSlice) return dropped;
    Result<void> gone = drop_claims_before(*connection_, now - kClaimTime);
    if (gone && untidy_) gone = drop_dangling(*connection_);
    if (!gone) return std::move(gone).error();
    untidy_ = false;
    return dropped;
  }

 private:
  [[nodiscard]] Result<void> transact(const WriterTask& inside, bool durable) {
    for (int tries = 0; tries < 2; ++tries) {
      if (connection_ == nullptr) {
        readers_.renew();
        auto opened = open_database(options_.sqlite3);
        if (!opened) return std::move(opened).error();
        connection_ = *std::move(opened);
      }
      Result<void> done = connection_->transact(inside);
      if (done && !unsynced_) sync_due_ = std::chrono::steady_clock::now() + kSyncTime;
      unsynced_ = unsynced_ || done;
      if (done && durable) done = sync();
      if (!done) {
        // Opened anew the next time: that helps against more than one kind of trouble.
        connection_.reset();
        return done;
      }
      if (!connection_->has_moved()) return {};
      log::error(
          format("sqlite3.database: {} was removed or replaced while in use: the jobs in it are gone, "
                 "and go on in a new one",
                 options_.sqlite3.database));
      connection_.reset();
    }
    return Error{ErrorKind::unavailable, "it is removed again and again"};
  }

  [[nodiscard]] Result<void> sync() {
    // After one that failed, the next one would succeed: the system takes what it could not write for written
    // (fsync(2)). What a checkpoint writes anew is there.
    Result<void> synced = sync_failed_ ? connection_->checkpoint() : connection_->sync();
    unsynced_ = !synced.ok();
    sync_failed_ = !synced.ok();
    return synced;
  }

  const Options options_;
  const Clock& clock_;
  SqliteReaders& readers_;
  std::unique_ptr<SqliteConnection> connection_;  // null where it has to be opened anew
  bool unsynced_ = false;
  bool sync_failed_ = false;  // since then, nothing is durable before a checkpoint
  bool untidy_ = true;        // jobs were dropped, and what they left was not
  SteadyTime sync_due_;
  SteadyTime clean_due_;
};

class SqliteReturner : public Returner {
 public:
  SqliteReturner(const Options& options, const Clock& clock) : clock_(clock), readers_(options.sqlite3) {}

  Result<void> start(const Options& options, std::unique_ptr<SqliteConnection> connection) {
    auto sink = std::make_unique<SqliteSink>(options, clock_, readers_, std::move(connection));
    sink_ = sink.get();
    auto writer = SpooledWriter::start({.name = "sqlite3",
                                        .where = format("sqlite3.database: {}", options.sqlite3.database),
                                        .prefix = options.sqlite3.database,
                                        .spool_bytes = options.spool_bytes,
                                        .group_time = kGroupTime,
                                        .rest_time = kGroupTime,
                                        .most_pause = kRetryTime},
                                       clock_, std::move(sink));
    if (!writer) return std::move(writer).error();
    writer_ = *std::move(writer);
    return {};
  }

  Result<bool> prep_jid(std::string_view passed_jid) override {
    const std::optional<JidKey> key = key_of(passed_jid);
    if (!key) return no_key_of(passed_jid, "sqlite3");
    Result<bool> claimed = false;
    const Result<void> done = run(Durability::grouped, [&](SqliteConnection& connection) -> Result<void> {
      claimed = claim_jid(connection, *key, clock_.wall());
      return claimed ? Result<void>() : claimed.error();
    });
    return done ? claimed : done.error();
  }

  Result<void> save_load(Load load, Durability durability) override {
    const std::optional<JidKey> key = key_of(load.jid);
    if (!key) return no_key_of(load.jid, "sqlite3");
    const std::string record = load_record(*key, load, clock_.wall());
    if (durability == Durability::durable) return write(durability, record);
    append(record);
    return {};
  }

  Result<void> save_job(const Load& load, std::span<const ReturnView> returns) override {
    const std::optional<JidKey> key = key_of(load.jid);
    if (!key) return no_key_of(load.jid, "sqlite3");
    const std::string record = load_record(*key, load, clock_.wall(), returns);
    // Where its parts may fit into the spool, they need not wait for the database.
    if (!writer_->takes(record.size())) return Returner::save_job(load, returns);
    writer_->append(record);
    return {};
  }

  Result<void> save_minions(std::string_view jid, const std::vector<std::string>& minions) override {
    if (const auto key = key_of(jid)) append(minions_record(*key, minions));
    return {};
  }

  Result<void> returner(std::string_view jid, JobReturn ret) override {
    if (const auto key = key_of(jid)) append(return_record(*key, ret));
    return {};
  }

  [[nodiscard]] Result<std::optional<Load>> get_load(std::string_view jid) const override {
    const std::optional<JidKey> key = key_of(jid);
    if (!key) return std::optional<Load>();
    return read<std::optional<Load>>([&](auto& from, auto& load) { return find_load(from, *key, load); });
  }

  [[nodiscard]] Result<std::vector<JobReturn>> get_jid(std::string_view jid) const override {
    const std::optional<JidKey> key = key_of(jid);
    if (!key) return std::vector<JobReturn>();
    return read<std::vector<JobReturn>>(
        [&](auto& from, auto& returns) { return find_returns(from, *key, returns); });
  }

  [[nodiscard]] Result<std::vector<FunctionReturn>> get_fun(std::string_view fun) const override {
    return read<std::vector<FunctionReturn>>(
        [&](auto& from, auto& returns) { return find_newest(from, fun, returns); });
  }

  [[nodiscard]] Result<void> get_jids(const JobQuery& query, const LoadVisitor& visit) const override {
    if (Result<void> flushed = writer_->flush(); !flushed) return flushed;
    const Result<void> walked =
        readers_.with([&](SqliteConnection& from) { return walk_loads(from, query, visit); });
    return walked ? walked : writer_->failure(walked.error());
  }

  [[nodiscard]] Result<std::vector<std::string>> get_minions() const override {
    return read<std::vector<std::string>>(find_minions);
  }

  Result<void> flush() override {
    return run(Durability::durable, [](SqliteConnection&) { return Result<void>(); });
  }

  Result<std::size_t> clean_old_jobs() override {
    std::size_t all = 0;
    for (Result<std::size_t> slice = kSlice; *slice == kSlice; all += *slice) {
      const Result<void> done = run(Durability::grouped, [&](SqliteConnection&) -> Result<void> {
        slice = sink_->clean_slice();
        return slice ? Result<void>() : slice.error();
      });
      if (!done) return done.error();
    }
    return all;
  }

 private:
  void append(std::string_view record) {
    if (writer_->takes(record.size())) return writer_->append(record);
    if (!write(Durability::grouped, record)) writer_->lose(record);
  }

  /// In the transaction of the next group, which the caller waits for.
  Result<void> write(Durability durability, std::string_view record) {
    SqliteGroup group;
    static_cast<void>(group.add(record));
    return run(durability, [&](SqliteConnection& connection) { return group.write(connection); });
  }

  /// The same for any work.
  Result<void> run(Durability durability, const std::function<Result<void>(SqliteConnection&)>& task) {
    return writer_->run(durability, [&] { return task(sink_->connection()); });
  }

  /// What `find` makes of what is saved by now.
  template <class Found, class Find>
  Result<Found> read(const Find& find) const {
    if (Result<void> flushed = writer_->flush(); !flushed) return std::move(flushed).error();
    Found found{};
    const Result<void> done = readers_.with([&](SqliteConnection& from) { return find(from, found); });
    return done ? Result<Found>(std::move(found)) : writer_->failure(done.error());
  }

  const Clock& clock_;
  mutable SqliteReaders readers_;          // which are thread-safe
  std::unique_ptr<SpooledWriter> writer_;  // uses readers_
  SqliteSink* sink_ = nullptr;             // the writer's
};

}  // namespace

Result<std::unique_ptr<Returner>> open_sqlite_returner(const Options& options, const Clock& clock) {
  auto connection = open_database(options.sqlite3);
  if (!connection) return std::move(connection).error();
  auto returner = std::make_unique<SqliteReturner>(options, clock);
  if (auto started = returner->start(options, *std::move(connection)); !started) {
    return std::move(started).error();
  }
  return std::unique_ptr<Returner>(std::move(returner));
}

}  // namespace rest_fcgi::returner
