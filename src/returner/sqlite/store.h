// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/returner/options.h"
#include "rest_fcgi/returner/returner.h"
#include "returner/record.h"
#include "returner/sqlite/database.h"

namespace rest_fcgi::returner {

/// What is written into the database, statement by statement; between `begin` and `commit`. Errors of all:
/// unavailable, after which the transaction has to be rolled back. Not synchronized.
class SqliteStore {
 public:
  [[nodiscard]] static Result<std::unique_ptr<SqliteStore>> open(const SqliteOptions& options);

  [[nodiscard]] Result<void> begin() { return connection_->run("BEGIN IMMEDIATE"); }
  [[nodiscard]] Result<void> commit() { return connection_->run("COMMIT"); }
  void rollback();
  [[nodiscard]] Result<void> sync() { return connection_->sync(); }
  [[nodiscard]] Result<void> checkpoint() { return connection_->checkpoint(); }
  [[nodiscard]] bool has_moved() const noexcept { return connection_->has_moved(); }

  /// A load, and those of its returns that are known already. False where the job is kept: nothing was done.
  [[nodiscard]] Result<bool> insert_load(JidKey key, const LoadView& load, std::string_view returns);

  /// The load of a job that is kept.
  [[nodiscard]] Result<void> replace_load(JidKey key, const LoadView& load);

  /// A return of a job whose load may have come long before; nothing for one that is not kept.
  [[nodiscard]] Result<void> save_late_return(JidKey key, const ReturnView& ret);

  /// The same, but nothing where a return of that minion is kept.
  [[nodiscard]] Result<void> save_stand_in(JidKey key, const ReturnView& ret);

  /// That this is where the newest return of that function by that minion is, unless a newer one is known.
  [[nodiscard]] Result<void> save_newest(std::string_view fun, std::string_view minion, JidKey key);

  [[nodiscard]] Result<void> add_minions(JidKey key, std::string_view packed);

  /// False where the jid is taken.
  [[nodiscard]] Result<bool> claim(JidKey key, WallTime now);

  /// Drops some of the jobs that were saved before that time, at most `most`. Returns how many.
  [[nodiscard]] Result<std::size_t> drop_saved_before(WallTime time, std::size_t most);

  /// Drops what says where the returns of dropped jobs are.
  [[nodiscard]] Result<void> drop_dangling() { return connection_->run(kDropDangling); }

  /// Drops claims that were made before that time.
  [[nodiscard]] Result<void> drop_claims_before(WallTime time);

 private:
  static constexpr const char* kDropDangling =
      "DELETE FROM newest WHERE NOT EXISTS (SELECT 1 FROM job WHERE job.jid = newest.jid)";

  [[nodiscard]] Result<void> save_late(const char* sql, JidKey key, const ReturnView& ret);

  explicit SqliteStore(std::unique_ptr<SqliteConnection> connection) : connection_(std::move(connection)) {}

  std::unique_ptr<SqliteConnection> connection_;
};

/// Records that are written in one transaction: a load and those of its returns that came soon after it
/// become one row, and what is newest of each function and minion is written once. Borrows the records'
/// bytes. Not synchronized.
class SqliteGroup {
 public:
  /// False where the bytes are no record.
  bool add(std::string_view record);

  /// Errors: those of the store.
  [[nodiscard]] Result<void> write(SqliteStore& store) const;

 private:
  struct NewJob {
    JidKey key = 0;
    LoadView load;
    std::vector<ReturnView> returns;  ///< of one minion, the last one counts
  };
  using Newest = std::map<std::pair<std::string_view, std::string_view>, JidKey>;

  [[nodiscard]] Result<void> write(SqliteStore& store, const NewJob& job, Newest& newest) const;
  [[nodiscard]] static Result<void> write(SqliteStore& store, const RecordView& other);

  std::vector<NewJob> jobs_;
  std::unordered_map<JidKey, std::size_t> by_key_;  // places in jobs_
  std::vector<RecordView> others_;                  // of jobs that are kept already, in order; what stands in
};

// What is read from the database. Errors of all: unavailable, with SQLite's words.

[[nodiscard]] Result<void> find_load(SqliteConnection& connection, JidKey key, std::optional<Load>& load);

/// In the order of the minions' ids.
[[nodiscard]] Result<void> find_returns(SqliteConnection& connection, JidKey key,
                                        std::vector<JobReturn>& returns);

/// For each minion the newest return of that function, in the order of the minions' ids.
[[nodiscard]] Result<void> find_newest(SqliteConnection& connection, std::string_view fun,
                                       std::vector<FunctionReturn>& returns);

[[nodiscard]] Result<void> walk_loads(SqliteConnection& connection, const JobQuery& query,
                                      const LoadVisitor& visit);

[[nodiscard]] Result<void> find_minions(SqliteConnection& connection, std::vector<std::string>& minions);

}  // namespace rest_fcgi::returner
