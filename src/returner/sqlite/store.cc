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
  const Result<void> run =
      connection_->execute(kInsertLoad, key, load.saved, load.fun, load.arg, load.tgt, load.tgt_type,
                           load.user, load.metadata, SqliteBlob{load.minions}, SqliteBlob{returns});
  return run ? Result(connection_->changes() > 0) : run.error();
}

Result<void> SqliteStore::replace_load(JidKey key, const LoadView& load) {
  return connection_->execute(kReplaceLoad, key, load.saved, load.fun, load.arg, load.tgt, load.tgt_type,
                              load.user, load.metadata, SqliteBlob{load.minions});
}

Result<void> SqliteStore::save_late_return(JidKey key, const ReturnView& ret) {
  return save_late(kSaveLate, key, ret);
}

Result<void> SqliteStore::save_stand_in(JidKey key, const ReturnView& ret) {
  bool came = false;
  const auto look = [&](const SqliteQuery& row) { return came = holds_return_of(ret.minion, row.text(0)); };
  const Result<void> looked = connection_->each(kEarlyReturns, look, key);
  return looked && !came ? save_late(kSaveStandIn, key, ret) : looked;
}

Result<void> SqliteStore::save_late(const char* sql, JidKey key, const ReturnView& ret) {
  Result<void> saved = connection_->execute(sql, key, ret.minion, SqliteBlob{ret.packed});
  return saved ? connection_->execute(kLateIsNewest, key, ret.minion) : saved;
}

Result<void> SqliteStore::save_newest(std::string_view fun, std::string_view minion, JidKey key) {
  return connection_->execute(kSaveNewest, fun, minion, key);
}

Result<void> SqliteStore::add_minions(JidKey key, std::string_view packed) {
  std::optional<std::vector<std::string>> minions;
  const auto look = [&](const SqliteQuery& row) {
    minions = minions_in(row.text(0));
    return true;
  };
  Result<void> looked = connection_->each(kGetMinions, look, key);
  if (!looked || !minions) return looked;
  for (std::string& minion : minions_in(packed)) {
    const auto at = std::lower_bound(minions->begin(), minions->end(), minion);
    if (at == minions->end() || *at != minion) minions->insert(at, std::move(minion));
  }
  const std::string all = packed_minions(*minions);
  return connection_->execute(kSetMinions, SqliteBlob{all}, key);
}

Result<bool> SqliteStore::claim(JidKey key, WallTime now) {
  const Result<void> run = connection_->execute(kClaim, key, number_of(now));
  return run ? Result(connection_->changes() > 0) : run.error();
}

Result<std::size_t> SqliteStore::drop_saved_before(WallTime time, std::size_t most) {
  std::vector<JidKey> keys;
  const auto look = [&](const SqliteQuery& row) {
    keys.push_back(row.number(0));
    return true;
  };
  Result<void> done = connection_->each(kOutdated, look, number_of(time), static_cast<std::int64_t>(most));
  for (const char* sql : {kDropJob, kDropLate}) {
    for (auto key = keys.begin(); done && key != keys.end(); ++key) done = connection_->execute(sql, *key);
  }
  return done ? Result(keys.size()) : done.error();
}

Result<void> SqliteStore::drop_claims_before(WallTime time) {
  return connection_->execute(kDropClaims, number_of(time));
}

bool SqliteGroup::add(std::string_view record) {
  const std::optional<RecordView> view = view_of(record);
  if (!view) return false;
  const auto found = by_key_.find(view->key);
  switch (view->kind) {
    case RecordView::Kind::load:
      if (found == by_key_.end()) {
        by_key_.emplace(view->key, jobs_.size());
        jobs_.push_back({view->key, view->load, {}});
      } else {
        jobs_[found->second].load = view->load;
      }
      break;
    case RecordView::Kind::ret:
      if (found == by_key_.end()) {
        others_.push_back(*view);
      } else {
        jobs_[found->second].returns.push_back(view->ret);
      }
      break;
    case RecordView::Kind::stand_in:
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
  const auto take = [&](const SqliteQuery& row) {
    load = load_of(row);
    return false;
  };
  return connection.each(kLoad, take, key);
}

Result<void> find_returns(SqliteConnection& connection, JidKey key, std::vector<JobReturn>& returns) {
  std::map<std::string, JobReturn> by_minion;
  const auto take = [&](const SqliteQuery& row) {
    std::string_view packed = row.text(0);
    while (auto ret = take_return(packed)) {
      std::string minion = ret->minion;
      by_minion.insert_or_assign(std::move(minion), *std::move(ret));
    }
    return true;
  };
  // Late ones come after, and take the places of the others.
  for (const char* sql : {kReturns, kLate}) {
    if (Result<void> read = connection.each(sql, take, key); !read) return read;
  }
  for (auto& [minion, ret] : by_minion) returns.push_back(std::move(ret));
  return {};
}

Result<void> find_newest(SqliteConnection& connection, std::string_view fun,
                         std::vector<FunctionReturn>& returns) {
  const std::string name = Json::string(fun).text();
  const auto take = [&](const SqliteQuery& row) {
    auto ret = return_of(row.text(0), row.text(row.is_null(3) ? 2 : 3));
    if (ret) returns.push_back({jid_of(row.number(1)), *std::move(ret)});
    return true;
  };
  return connection.each(kNewest, take, std::string_view(name));
}

Result<void> walk_loads(SqliteConnection& connection, const JobQuery& query, const LoadVisitor& visit) {
  const std::string name = Json::string(query.fun).text();
  const JidKeys keys = keys_of(query);
  const auto take = [&](const SqliteQuery& row) { return visit(load_of(row)); };
  if (query.fun.empty()) {
    return connection.each(query.newest_first ? kNewestFirst : kOldestFirst, take, keys.least, keys.greatest);
  }
  return connection.each(query.newest_first ? kNewestOfFun : kOldestOfFun, take, keys.least, keys.greatest,
                         std::string_view(name));
}

Result<void> find_minions(SqliteConnection& connection, std::vector<std::string>& minions) {
  const auto take = [&](const SqliteQuery& row) {
    minions.emplace_back(row.text(0));
    return true;
  };
  return connection.each(kMinions, take);
}

}  // namespace rest_fcgi::returner
