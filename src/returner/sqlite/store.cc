// SPDX-License-Identifier: MIT
#include "returner/sqlite/store.h"

#include <algorithm>

namespace rest_fcgi::returner {
namespace {

constexpr const char* kInsertLoad =
    "INSERT INTO job (jid, saved, fun, arg, tgt, tgt_type, user, metadata, minions, returns)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (jid) DO NOTHING";
constexpr const char* kReplaceLoad =
    "UPDATE job SET saved = ?2, fun = ?3, arg = ?4, tgt = ?5, tgt_type = ?6, user = ?7, metadata = ?8,"
    " minions = ?9 WHERE jid = ?1";
#define LATE_RETURN \
  "INTO late (jid, minion, ret) SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM job WHERE jid = ?1)"
constexpr const char* kSaveLate = "INSERT OR REPLACE " LATE_RETURN;
constexpr const char* kSaveStandIn = "INSERT OR IGNORE " LATE_RETURN;
#undef LATE_RETURN
constexpr const char* kEarlyReturns = "SELECT returns FROM job WHERE jid = ?";
#define UNLESS_NEWER \
  " ON CONFLICT (fun, minion) DO UPDATE SET jid = excluded.jid WHERE excluded.jid > newest.jid"
constexpr const char* kLateIsNewest =
    "INSERT INTO newest (fun, minion, jid) SELECT fun, ?2, ?1 FROM job WHERE jid = ?1" UNLESS_NEWER;
constexpr const char* kSaveNewest = "INSERT INTO newest (fun, minion, jid) VALUES (?, ?, ?)" UNLESS_NEWER;
#undef UNLESS_NEWER
constexpr const char* kGetMinions = "SELECT minions FROM job WHERE jid = ?";
constexpr const char* kSetMinions = "UPDATE job SET minions = ? WHERE jid = ?";
constexpr const char* kClaim =
    "INSERT INTO claim (jid, at) SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM job WHERE jid = ?1)"
    " ON CONFLICT (jid) DO NOTHING";
// No job is saved before the time that its jid stands for, so that those to be dropped lie at the beginning.
constexpr const char* kOutdated =
    "SELECT jid FROM job WHERE jid < (CAST(strftime('%Y%m%d%H%M%S', ?1 / 1000000, 'unixepoch') AS INTEGER)"
    " - 20000000000000 + 1) * 1000000 AND saved < ?1 ORDER BY jid LIMIT ?2";
constexpr const char* kDropJob = "DELETE FROM job WHERE jid = ?";
constexpr const char* kDropLate = "DELETE FROM late WHERE jid = ?";
constexpr const char* kDropClaims = "DELETE FROM claim WHERE at < ?";

std::int64_t number_of(WallTime time) {
  return time.time_since_epoch().count();
}

bool holds_return_of(std::string_view minion, std::string_view packed) {
  while (const auto ret = take_return(packed)) {
    if (ret->minion == minion) return true;
  }
  return false;
}

void bind(SqliteQuery& query, JidKey key, const LoadView& load) {
  query.bind(key).bind(load.saved).bind(load.fun).bind(load.arg).bind(load.tgt);
  query.bind(load.tgt_type).bind(load.user);
  load.metadata ? query.bind(*load.metadata) : query.bind_null();
  query.bind_blob(load.minions);
}

#define LOAD_COLUMNS "jid, fun, arg, tgt, tgt_type, user, metadata, minions"
constexpr const char* kLoad = "SELECT " LOAD_COLUMNS " FROM job WHERE jid = ?";
constexpr const char* kOldestFirst =
    "SELECT " LOAD_COLUMNS " FROM job WHERE jid BETWEEN ?1 AND ?2 ORDER BY jid";
constexpr const char* kNewestFirst =
    "SELECT " LOAD_COLUMNS " FROM job WHERE jid BETWEEN ?1 AND ?2 ORDER BY jid DESC";
constexpr const char* kOldestOfFun =
    "SELECT " LOAD_COLUMNS " FROM job WHERE jid BETWEEN ?1 AND ?2 AND fun = ?3 ORDER BY jid";
constexpr const char* kNewestOfFun =
    "SELECT " LOAD_COLUMNS " FROM job WHERE jid BETWEEN ?1 AND ?2 AND fun = ?3 ORDER BY jid DESC";
#undef LOAD_COLUMNS
constexpr const char* kReturns = "SELECT returns FROM job WHERE jid = ?";
constexpr const char* kLate = "SELECT ret FROM late WHERE jid = ?";
constexpr const char* kNewest =
    "SELECT newest.minion, newest.jid, job.returns, late.ret FROM newest JOIN job USING (jid)"
    " LEFT JOIN late ON late.jid = newest.jid AND late.minion = newest.minion"
    " WHERE newest.fun = ? ORDER BY newest.minion";
constexpr const char* kMinions = "SELECT DISTINCT minion FROM newest ORDER BY minion";

Json json(const SqliteQuery& query, int column) {
  return Json::trusted(std::string(query.text(column)));
}

Load load_of(const SqliteQuery& row) {
  Load load{
      jid_of(row.number(0)),    json(row, 1), json(row, 2),           json(row, 3), std::string(row.text(4)),
      std::string(row.text(5)), {},           minions_in(row.text(7))};
  if (!row.is_null(6)) load.metadata = json(row, 6);
  return load;
}

/// The return of one minion, the last one where there are several; absent where there is none.
std::optional<JobReturn> return_of(std::string_view minion, std::string_view packed) {
  std::optional<JobReturn> found;
  while (auto ret = take_return(packed)) {
    if (ret->minion == minion) found = std::move(ret);
  }
  return found;
}

}  // namespace

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const SqliteOptions& options) {
  auto connection = open_database(options);
  if (!connection) return std::move(connection).error();
  return std::unique_ptr<SqliteStore>(new SqliteStore(*std::move(connection)));
}

void SqliteStore::rollback() {
  // Some failures have rolled back already.
  if (connection_->in_transaction()) static_cast<void>(connection_->run("ROLLBACK"));
}

Result<bool> SqliteStore::insert_load(JidKey key, const LoadView& load, std::string_view returns) {
  const auto statement = connection_->prepared(kInsertLoad);
  if (!statement) return statement.error();
  SqliteQuery query(*statement);
  bind(query, key, load);
  query.bind_blob(returns);
  if (Result<void> run = query.run(); !run) return std::move(run).error();
  return connection_->changes() > 0;
}

Result<void> SqliteStore::replace_load(JidKey key, const LoadView& load) {
  const auto statement = connection_->prepared(kReplaceLoad);
  if (!statement) return statement.error();
  SqliteQuery query(*statement);
  bind(query, key, load);
  return query.run();
}

Result<void> SqliteStore::save_late_return(JidKey key, const ReturnView& ret) {
  return save_late(kSaveLate, key, ret);
}

Result<void> SqliteStore::save_stand_in(JidKey key, const ReturnView& ret) {
  const auto early = connection_->prepared(kEarlyReturns);
  if (!early) return early.error();
  {
    SqliteQuery query(*early);
    const Result<bool> row = query.bind(key).step();
    if (!row) return row.error();
    if (*row && holds_return_of(ret.minion, query.text(0))) return {};
  }
  return save_late(kSaveStandIn, key, ret);
}

Result<void> SqliteStore::save_late(const char* sql, JidKey key, const ReturnView& ret) {
  const auto late = connection_->prepared(sql);
  if (!late) return late.error();
  if (Result<void> run = SqliteQuery(*late).bind(key).bind(ret.minion).bind_blob(ret.packed).run(); !run) {
    return run;
  }
  const auto newest = connection_->prepared(kLateIsNewest);
  if (!newest) return newest.error();
  return SqliteQuery(*newest).bind(key).bind(ret.minion).run();
}

Result<void> SqliteStore::save_newest(std::string_view fun, std::string_view minion, JidKey key) {
  const auto statement = connection_->prepared(kSaveNewest);
  if (!statement) return statement.error();
  return SqliteQuery(*statement).bind(fun).bind(minion).bind(key).run();
}

Result<void> SqliteStore::add_minions(JidKey key, std::string_view packed) {
  const auto get = connection_->prepared(kGetMinions);
  if (!get) return get.error();
  std::vector<std::string> minions;
  {
    SqliteQuery query(*get);
    const Result<bool> row = query.bind(key).step();
    if (!row) return row.error();
    if (!*row) return {};
    minions = minions_in(query.text(0));
  }
  for (std::string& minion : minions_in(packed)) {
    const auto at = std::lower_bound(minions.begin(), minions.end(), minion);
    if (at == minions.end() || *at != minion) minions.insert(at, std::move(minion));
  }
  const auto set = connection_->prepared(kSetMinions);
  if (!set) return set.error();
  const std::string all = packed_minions(minions);
  return SqliteQuery(*set).bind_blob(all).bind(key).run();
}

Result<bool> SqliteStore::claim(JidKey key, WallTime now) {
  const auto statement = connection_->prepared(kClaim);
  if (!statement) return statement.error();
  if (Result<void> run = SqliteQuery(*statement).bind(key).bind(number_of(now)).run(); !run) {
    return std::move(run).error();
  }
  return connection_->changes() > 0;
}

Result<std::size_t> SqliteStore::drop_saved_before(WallTime time, std::size_t most) {
  const auto outdated = connection_->prepared(kOutdated);
  if (!outdated) return outdated.error();
  std::vector<JidKey> keys;
  {
    SqliteQuery query(*outdated);
    query.bind(number_of(time)).bind(static_cast<std::int64_t>(most));
    Result<bool> row = query.step();
    for (; row && *row; row = query.step()) keys.push_back(query.number(0));
    if (!row) return std::move(row).error();
  }
  for (const char* sql : {kDropJob, kDropLate}) {
    const auto drop = connection_->prepared(sql);
    if (!drop) return drop.error();
    for (const JidKey key : keys) {
      if (Result<void> run = SqliteQuery(*drop).bind(key).run(); !run) return std::move(run).error();
    }
  }
  return keys.size();
}

Result<void> SqliteStore::drop_claims_before(WallTime time) {
  const auto statement = connection_->prepared(kDropClaims);
  if (!statement) return statement.error();
  return SqliteQuery(*statement).bind(number_of(time)).run();
}

bool SqliteGroup::add(std::string_view record) {
  const std::optional<RecordView> view = view_of(record);
  if (!view) return false;
  const auto found = by_key_.find(view->key);
  switch (view->kind) {
    case RecordView::Kind::load:
      ++loads_;
      if (found == by_key_.end()) {
        by_key_.emplace(view->key, jobs_.size());
        jobs_.push_back({view->key, view->load, {}});
      } else {
        jobs_[found->second].load = view->load;
      }
      break;
    case RecordView::Kind::ret:
      ++returns_;
      if (found == by_key_.end()) {
        others_.push_back(*view);
      } else {
        jobs_[found->second].returns.push_back(view->ret);
      }
      break;
    case RecordView::Kind::stand_in:
      ++returns_;
      others_.push_back(*view);
      break;
    case RecordView::Kind::minions:
      others_.push_back(*view);
      break;
  }
  return true;
}

Result<void> SqliteGroup::write(SqliteStore& store) const {
  Newest newest;
  for (const NewJob& job : jobs_) {
    if (Result<void> written = write(store, job, newest); !written) return written;
  }
  for (const auto& [name, key] : newest) {
    if (Result<void> saved = store.save_newest(name.first, name.second, key); !saved) return saved;
  }
  for (const RecordView& other : others_) {
    if (Result<void> saved = write(store, other); !saved) return saved;
  }
  return {};
}

Result<void> SqliteGroup::write(SqliteStore& store, const RecordView& other) {
  switch (other.kind) {
    case RecordView::Kind::ret:
      return store.save_late_return(other.key, other.ret);
    case RecordView::Kind::stand_in:
      return store.save_stand_in(other.key, other.ret);
    default:
      return store.add_minions(other.key, other.minions);
  }
}

Result<void> SqliteGroup::write(SqliteStore& store, const NewJob& job, Newest& newest) const {
  std::string returns;
  for (const ReturnView& ret : job.returns) returns += ret.packed;
  const Result<bool> inserted = store.insert_load(job.key, job.load, returns);
  if (!inserted) return inserted.error();
  if (*inserted) {
    for (const ReturnView& ret : job.returns) {
      JidKey& known = newest.try_emplace({job.load.fun, ret.minion}, job.key).first->second;
      known = std::max(known, job.key);
    }
    return {};
  }
  if (Result<void> replaced = store.replace_load(job.key, job.load); !replaced) return replaced;
  for (const ReturnView& ret : job.returns) {
    if (Result<void> saved = store.save_late_return(job.key, ret); !saved) return saved;
  }
  return {};
}

Result<void> find_load(SqliteConnection& connection, JidKey key, std::optional<Load>& load) {
  const auto statement = connection.prepared(kLoad);
  if (!statement) return statement.error();
  SqliteQuery query(*statement);
  const Result<bool> row = query.bind(key).step();
  if (!row) return row.error();
  if (*row) load = load_of(query);
  return {};
}

Result<void> find_returns(SqliteConnection& connection, JidKey key, std::vector<JobReturn>& returns) {
  std::map<std::string, JobReturn> by_minion;
  // Late ones come after, and take the places of the others.
  for (const char* sql : {kReturns, kLate}) {
    const auto statement = connection.prepared(sql);
    if (!statement) return statement.error();
    SqliteQuery query(*statement);
    Result<bool> row = query.bind(key).step();
    for (; row && *row; row = query.step()) {
      std::string_view packed = query.text(0);
      while (auto ret = take_return(packed)) {
        std::string minion = ret->minion;
        by_minion.insert_or_assign(std::move(minion), *std::move(ret));
      }
    }
    if (!row) return std::move(row).error();
  }
  for (auto& [minion, ret] : by_minion) returns.push_back(std::move(ret));
  return {};
}

Result<void> find_newest(SqliteConnection& connection, std::string_view fun,
                         std::vector<FunctionReturn>& returns) {
  const auto statement = connection.prepared(kNewest);
  if (!statement) return statement.error();
  const std::string name = Json::string(fun).text();
  SqliteQuery query(*statement);
  Result<bool> row = query.bind(name).step();
  for (; row && *row; row = query.step()) {
    auto ret = return_of(query.text(0), query.text(query.is_null(3) ? 2 : 3));
    if (ret) returns.push_back({jid_of(query.number(1)), *std::move(ret)});
  }
  return row ? Result<void>() : std::move(row).error();
}

Result<void> walk_loads(SqliteConnection& connection, const JobQuery& query, const LoadVisitor& visit) {
  const char* const all = query.newest_first ? kNewestFirst : kOldestFirst;
  const char* const of_fun = query.newest_first ? kNewestOfFun : kOldestOfFun;
  const auto statement = connection.prepared(query.fun.empty() ? all : of_fun);
  if (!statement) return statement.error();
  const std::string name = Json::string(query.fun).text();
  SqliteQuery rows(*statement);
  const JidKeys keys = keys_of(query);
  rows.bind(keys.least).bind(keys.greatest);
  if (!query.fun.empty()) rows.bind(std::string_view(name));
  Result<bool> row = rows.step();
  while (row && *row && visit(load_of(rows))) row = rows.step();
  return row ? Result<void>() : std::move(row).error();
}

Result<void> find_minions(SqliteConnection& connection, std::vector<std::string>& minions) {
  const auto statement = connection.prepared(kMinions);
  if (!statement) return statement.error();
  SqliteQuery query(*statement);
  Result<bool> row = query.step();
  for (; row && *row; row = query.step()) minions.emplace_back(query.text(0));
  return row ? Result<void>() : std::move(row).error();
}

}  // namespace rest_fcgi::returner
