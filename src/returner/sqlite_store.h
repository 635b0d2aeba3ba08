// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/returner/options.h"
#include "returner/record.h"
#include "returner/sqlite_connection.h"

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

}  // namespace rest_fcgi::returner
