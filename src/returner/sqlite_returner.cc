// SPDX-License-Identifier: MIT
#include "returner/sqlite_returner.h"

#include <utility>

#include "rest_fcgi/core/format.h"
#include "returner/group.h"
#include "returner/record.h"
#include "returner/sqlite_queries.h"

namespace rest_fcgi::returner {
namespace {

Error not_kept(std::string_view jid) {
  return {
      ErrorKind::invocation,
      format(
          "The job cache sqlite3 keeps no job '{}': a jid is 20 digits, and begins with a year from 1100 to "
          "2899.",
          jid)};
}

}  // namespace

Result<std::unique_ptr<Returner>> SqliteReturner::open(const Options& options, const Clock& clock) {
  std::unique_ptr<SqliteReturner> returner(new SqliteReturner(options, clock));
  auto writer = SqliteWriter::start(options, clock, *returner->readers_);
  if (!writer) return std::move(writer).error();
  returner->writer_ = *std::move(writer);
  return std::unique_ptr<Returner>(std::move(returner));
}

Result<bool> SqliteReturner::prep_jid(std::string_view passed_jid) {
  const std::optional<JidKey> key = key_of(passed_jid);
  if (!key) return not_kept(passed_jid);
  bool claimed = false;
  const Result<void> done = writer_->run(Durability::grouped, [&](SqliteStore& store) -> Result<void> {
    const Result<bool> claim = store.claim(*key, clock_.wall());
    if (!claim) return claim.error();
    claimed = *claim;
    return {};
  });
  return done ? Result<bool>(claimed) : done.error();
}

Result<void> SqliteReturner::save_load(Load load, Durability durability) {
  const std::optional<JidKey> key = key_of(load.jid);
  if (!key) return not_kept(load.jid);
  const std::string record = load_record(*key, load, clock_.wall());
  if (durability == Durability::grouped) {
    writer_->append(record);
    return {};
  }
  Group group;
  static_cast<void>(group.add(record));
  return writer_->run(durability, [&](SqliteStore& store) { return group.write(store); });
}

Result<void> SqliteReturner::save_minions(std::string_view jid, const std::vector<std::string>& minions) {
  if (const auto key = key_of(jid)) writer_->append(minions_record(*key, minions));
  return {};
}

Result<void> SqliteReturner::returner(std::string_view jid, JobReturn ret) {
  if (const auto key = key_of(jid)) writer_->append(return_record(*key, ret));
  return {};
}

Result<void> SqliteReturner::flush() {
  return writer_->run(Durability::durable, [](SqliteStore&) { return Result<void>(); });
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

bool SqliteReturner::works_on(const struct stat& file) const {
  for (const char* ending : {"", "-wal", "-shm"}) {
    struct stat ours {};
    const bool there = ::stat((database_ + ending).c_str(), &ours) == 0;
    if (there && ours.st_dev == file.st_dev && ours.st_ino == file.st_ino) return true;
  }
  return false;
}

}  // namespace rest_fcgi::returner
