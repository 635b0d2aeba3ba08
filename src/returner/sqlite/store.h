// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
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

/// The job cache in an SQLite database, which several processes may share. Every read finds what was saved
/// through the same object before, and what other processes committed. Jids are 20 digits and begin with a
/// year from 1100 to 2899; `save_load` and `prep_jid` refuse others: invocation. Errors: unavailable.
[[nodiscard]] Result<std::unique_ptr<Returner>> open_sqlite_returner(const Options& options,
                                                                     const Clock& clock);

// What is written into the database, statement by statement, inside of a transaction. Errors of all:
// unavailable, after which the transaction has to be rolled back.

/// False where the jid is taken.
[[nodiscard]] Result<bool> claim_jid(SqliteConnection& connection, JidKey key, WallTime now);

/// Drops some of the jobs that were saved before that time, at most `most`. Returns how many.
[[nodiscard]] Result<std::size_t> drop_saved_before(SqliteConnection& connection, WallTime time,
                                                    std::size_t most);

/// Drops what says where the returns of dropped jobs are.
[[nodiscard]] Result<void> drop_dangling(SqliteConnection& connection);

/// Drops claims that were made before that time.
[[nodiscard]] Result<void> drop_claims_before(SqliteConnection& connection, WallTime time);

/// Records that are written in one transaction: a load and those of its returns that came soon after it
/// become one row, and what is newest of each function and minion is written once. Borrows the records'
/// bytes. Not synchronized.
class SqliteGroup {
 public:
  /// False where the bytes are no record.
  bool add(std::string_view record);

  /// Inside of a transaction, as above.
  [[nodiscard]] Result<void> write(SqliteConnection& connection) const;

 private:
  struct NewJob {
    JidKey key = 0;
    LoadView load;
    std::string returns;  ///< all, where some came after the load; empty where it has them all
    bool is_closed;       ///< it came again: what follows belongs to that

    /// The load with all returns.
    [[nodiscard]] LoadView whole() const;
  };
  /// Jobs one after the other of the same function, whose minions returned the same.
  struct Alike {
    LoadView load;
    JidKey newest = 0;
  };
  using Newest = std::map<std::pair<std::string_view, std::string_view>, JidKey>;

  [[nodiscard]] static Result<void> write_together(SqliteConnection& connection, std::span<const NewJob> jobs,
                                                   std::vector<Alike>& alike);
  [[nodiscard]] static Result<void> write(SqliteConnection& connection, const NewJob& job,
                                          std::vector<Alike>& alike);
  static void add_to(std::vector<Alike>& alike, const NewJob& job);
  [[nodiscard]] static Newest newest_of(const std::vector<Alike>& alike);

  std::vector<NewJob> jobs_;
  std::unordered_map<JidKey, std::size_t> by_key_;  // places in jobs_
  std::vector<RecordView> others_;                  // of jobs that have a row by then, in order
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
