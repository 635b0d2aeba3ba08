// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/returner/returner.h"
#include "returner/spool/spooled_writer.h"
#include "returner/sqlite/database.h"

namespace rest_fcgi::returner {

class SqliteSink;
class SqliteStore;

/// The job cache in an SQLite database, which several processes may share. Every read finds what was saved
/// through this object before, and what other processes committed. Jids are 20 digits of the years 1100 to
/// 2899; others are not kept, with an error: invocation.
class SqliteReturner : public Returner {
 public:
  /// Errors: unavailable.
  [[nodiscard]] static Result<std::unique_ptr<Returner>> open(const Options& options, const Clock& clock);

  [[nodiscard]] Result<bool> prep_jid(std::string_view passed_jid) override;
  Result<void> save_load(Load load, Durability durability) override;
  Result<void> save_minions(std::string_view jid, const std::vector<std::string>& minions) override;
  Result<void> returner(std::string_view jid, JobReturn ret) override;
  [[nodiscard]] Result<std::optional<Load>> get_load(std::string_view jid) const override;
  [[nodiscard]] Result<std::vector<JobReturn>> get_jid(std::string_view jid) const override;
  [[nodiscard]] Result<std::vector<FunctionReturn>> get_fun(std::string_view fun) const override;
  [[nodiscard]] Result<void> get_jids(const JobQuery& query, const LoadVisitor& visit) const override;
  [[nodiscard]] Result<std::vector<std::string>> get_minions() const override;
  Result<void> flush() override;
  Result<std::size_t> clean_old_jobs() override;

 private:
  SqliteReturner(const Options& options, const Clock& clock)
      : clock_(clock),
        database_(options.sqlite3.database),
        readers_(std::make_unique<SqliteReaders>(options.sqlite3)) {}

  void append(std::string_view record);
  /// In the transaction of the next group.
  [[nodiscard]] Result<void> run(Durability durability,
                                 const std::function<Result<void>(SqliteStore&)>& task);
  /// Reads what is saved by now.
  [[nodiscard]] Result<void> read(const std::function<Result<void>(SqliteConnection&)>& reading) const;

  const Clock& clock_;
  const std::string database_;
  std::unique_ptr<SqliteReaders> readers_;
  std::unique_ptr<SpooledWriter> writer_;  // uses readers_
  SqliteSink* sink_ = nullptr;             // the writer's
};

}  // namespace rest_fcgi::returner
