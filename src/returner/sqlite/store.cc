// SPDX-License-Identifier: MIT
#include "returner/sqlite/store.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <thread>
#include <tuple>

namespace rest_fcgi::returner {
namespace {

#define INSERT_LOADS(rows)                                                                            \
  "INSERT INTO job (jid, saved, fun, arg, tgt, tgt_type, user, metadata, minions, returns, packing) " \
  "VALUES " rows " ON CONFLICT (jid) DO NOTHING"
#define A_LOAD "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
#define FOUR_LOADS A_LOAD ", " A_LOAD ", " A_LOAD ", " A_LOAD
constexpr const char* kInsertLoad = INSERT_LOADS(A_LOAD);
constexpr const char* kInsertLoads = INSERT_LOADS(FOUR_LOADS ", " FOUR_LOADS ", " FOUR_LOADS ", " FOUR_LOADS);
#undef FOUR_LOADS
#undef A_LOAD
#undef INSERT_LOADS
constexpr const char* kReplaceLoad =
    "UPDATE job SET saved = ?2, fun = ?3, arg = ?4, tgt = ?5, tgt_type = ?6, user = ?7, metadata = ?8"
    " WHERE jid = ?1";
#define LATE_RETURN                                                                                         \
  "INTO late (jid, minion, ret, packing) SELECT ?1, ?2, ?3, 1 WHERE EXISTS (SELECT 1 FROM job WHERE jid = " \
  "?1)"
constexpr const char* kSaveLate = "INSERT OR REPLACE " LATE_RETURN;
constexpr const char* kSaveStandIn = "INSERT OR IGNORE " LATE_RETURN;
#undef LATE_RETURN
#define UNLESS_NEWER \
  " ON CONFLICT (fun, minion) DO UPDATE SET jid = excluded.jid WHERE excluded.jid > newest.jid"
constexpr const char* kLateIsNewest =
    "INSERT INTO newest (fun, minion, jid) SELECT fun, ?2, ?1 FROM job WHERE jid = ?1" UNLESS_NEWER;
constexpr const char* kSaveNewest = "INSERT INTO newest (fun, minion, jid) VALUES (?, ?, ?)" UNLESS_NEWER;
#undef UNLESS_NEWER
constexpr const char* kSetPacked = "UPDATE job SET minions = ?, returns = ?, packing = 1 WHERE jid = ?";
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
constexpr const char* kDropDangling =
    "DELETE FROM newest WHERE NOT EXISTS (SELECT 1 FROM job WHERE job.jid = newest.jid)";

/// A group has thousands of jobs where requests come fast, and nothing in it waits for the disk. So many are
/// inserted by one statement, kInsertLoads, which takes two thirds of the time that one for each does. After
/// it the writer lets other threads run, so that no request waits for a whole group: the 99th percentile of
/// requests is 0.6 of what it is without that.
constexpr std::size_t kJobsOfATurn = 16;

std::int64_t number_of(WallTime time) {
  return time.time_since_epoch().count();
}

#define LOAD_COLUMNS "jid, fun, arg, tgt, tgt_type, user, metadata, minions, packing"
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
constexpr const char* kReturns = "SELECT returns, minions, packing FROM job WHERE jid = ?";
constexpr const char* kLate = "SELECT ret, x'', packing FROM late WHERE jid = ?";
constexpr const char* kNewest = "SELECT minion, jid FROM newest WHERE fun = ? ORDER BY minion";
constexpr const char* kAllNewer = "UPDATE newest SET jid = ?2 WHERE fun = ?1";
constexpr const char* kMinions = "SELECT DISTINCT minion FROM newest ORDER BY minion";

Json json(const SqliteQuery& query, int column) {
  return Json::trusted(std::string(query.text(column)));
}

Packing packing_of(const SqliteQuery& row, int column) {
  return row.number(column) == 0 ? Packing::wide : Packing::tight;
}

Load load_of(const SqliteQuery& row) {
  Load load{jid_of(row.number(0)),
            json(row, 1),
            json(row, 2),
            json(row, 3),
            std::string(row.text(4)),
            std::string(row.text(5)),
            {},
            minions_in(row.text(7), packing_of(row, 8))};
  if (!row.is_null(6)) load.metadata = json(row, 6);
  return load;
}

/// Of kReturns, and kLate.
ReturnReader returns_in(const SqliteQuery& row) {
  return {row.text(0), row.text(1), packing_of(row, 2)};
}

/// What stands in a load's row.
auto row_of(JidKey key, const LoadView& load) {
  return std::tuple(key, load.saved, load.fun, load.arg, load.tgt, load.tgt_type, load.user, load.metadata,
                    SqliteBlob{load.minions}, SqliteBlob{load.returns},
                    static_cast<std::int64_t>(load.packing));
}

/// A return of a job whose load may have come long before; nothing for one that is not kept.
Result<void> save_late(SqliteConnection& connection, const char* sql, JidKey key, const ReturnView& ret) {
  const std::string packed = packed_returns({}, {&ret, 1});
  Result<void> saved = connection.execute(sql, key, ret.minion, SqliteBlob{packed});
  return saved ? connection.execute(kLateIsNewest, key, ret.minion) : saved;
}

/// The same, but nothing where a return of that minion is kept.
Result<void> save_stand_in(SqliteConnection& connection, JidKey key, const ReturnView& ret) {
  bool came = false;
  const auto look = [&](const SqliteQuery& row) {
    ReturnReader returns = returns_in(row);
    while (const auto one = returns.next()) came = came || one->minion == ret.minion;
    return false;
  };
  const Result<void> looked = connection.each(kReturns, look, key);
  return looked && !came ? save_late(connection, kSaveStandIn, key, ret) : looked;
}

/// Gives a job that is kept the minions that `change` makes of its own. What is packed with these is so anew.
template <class Change>
Result<void> change_minions(SqliteConnection& connection, JidKey key, const Change& change) {
  std::optional<std::string> minions;
  std::string returns;
  const auto look = [&](const SqliteQuery& row) {
    std::vector<std::string> all = minions_in(row.text(1), packing_of(row, 2));
    change(all);
    std::vector<ReturnView> kept;
    ReturnReader reader = returns_in(row);
    while (const auto ret = reader.next()) kept.push_back(*ret);
    returns = packed_returns(all, kept);
    minions = packed_minions(all);
    return false;
  };
  Result<void> looked = connection.each(kReturns, look, key);
  if (!looked || !minions) return looked;
  return connection.execute(kSetPacked, SqliteBlob{*minions}, SqliteBlob{returns}, key);
}

/// The load of a job that is kept.
Result<void> save_again(SqliteConnection& connection, JidKey key, const LoadView& load) {
  Result<void> saved = connection.execute(kReplaceLoad, key, load.saved, load.fun, load.arg, load.tgt,
                                          load.tgt_type, load.user, load.metadata);
  const auto replace = [&](auto& minions) { minions = minions_in(load.minions, load.packing); };
  if (saved) saved = change_minions(connection, key, replace);
  ReturnReader returns(load.returns, load.minions, load.packing);
  for (auto ret = returns.next(); saved && ret; ret = returns.next()) {
    saved = save_late(connection, kSaveLate, key, *ret);
  }
  return saved;
}

/// Of one function and job. Mostly its minions are those that the function is known of, and one statement
/// says so of all; else there is one for each.
template <class Place>
Result<void> save_newest(SqliteConnection& connection, Place first, Place last) {
  const std::string_view fun = first->first.first;
  const JidKey key = first->second;
  constexpr std::ptrdiff_t kMany = 20;  // so that it costs less
  auto at = first;
  bool same = std::distance(first, last) >= kMany;
  const auto compare = [&](const SqliteQuery& row) {
    same = at != last && row.text(0) == at->first.second && row.number(1) < key;
    if (same) ++at;
    return same;
  };
  Result<void> saved = same ? connection.each(kNewest, compare, fun) : Result<void>();
  if (saved && same && at == last) return connection.execute(kAllNewer, fun, key);
  for (at = first; saved && at != last; ++at) {
    saved = connection.execute(kSaveNewest, fun, at->first.second, key);
  }
  return saved;
}

/// One whose job has a row.
Result<void> save_alone(SqliteConnection& connection, const RecordView& record) {
  switch (record.kind) {
    case RecordView::Kind::load:
      return save_again(connection, record.key, record.load);
    case RecordView::Kind::ret:
      return save_late(connection, kSaveLate, record.key, record.ret);
    case RecordView::Kind::stand_in:
      return save_stand_in(connection, record.key, record.ret);
    default:
      return change_minions(connection, record.key, [&](std::vector<std::string>& minions) {
        add_minions(minions, minions_in(record.minions, record.packing));
      });
  }
}

}  // namespace

Result<bool> claim_jid(SqliteConnection& connection, JidKey key, WallTime now) {
  const Result<void> run = connection.execute(kClaim, key, number_of(now));
  return run ? Result(connection.changes() > 0) : run.error();
}

Result<std::size_t> drop_saved_before(SqliteConnection& connection, WallTime time, std::size_t most) {
  std::vector<JidKey> keys;
  const auto look = [&](const SqliteQuery& row) {
    keys.push_back(row.number(0));
    return true;
  };
  Result<void> done = connection.each(kOutdated, look, number_of(time), static_cast<std::int64_t>(most));
  for (const char* sql : {kDropJob, kDropLate}) {
    for (auto key = keys.begin(); done && key != keys.end(); ++key) done = connection.execute(sql, *key);
  }
  return done ? Result(keys.size()) : done.error();
}

Result<void> drop_dangling(SqliteConnection& connection) {
  return connection.execute(kDropDangling);
}

Result<void> drop_claims_before(SqliteConnection& connection, WallTime time) {
  return connection.execute(kDropClaims, number_of(time));
}

bool SqliteGroup::add(std::string_view record) {
  const std::optional<RecordView> view = view_of(record);
  if (!view) return false;
  const bool is_load = view->kind == RecordView::Kind::load;
  const auto [found, is_new] =
      is_load ? by_key_.try_emplace(view->key, jobs_.size()) : std::pair(by_key_.find(view->key), false);
  if (is_new) {
    jobs_.push_back({view->key, view->load, {}, false});
    return true;
  }
  NewJob* const job = found == by_key_.end() ? nullptr : &jobs_[found->second];
  if (job != nullptr && view->kind == RecordView::Kind::ret && view->packing == job->load.packing &&
      !job->is_closed) {
    if (job->returns.empty()) job->returns = job->load.returns;
    job->returns += view->packed;
    return true;
  }
  if (is_load) job->is_closed = true;
  others_.push_back(*view);
  return true;
}

Result<void> SqliteGroup::write(SqliteConnection& connection) const {
  std::vector<Alike> alike;
  std::span<const NewJob> left = jobs_;
  for (; left.size() >= kJobsOfATurn; left = left.subspan(kJobsOfATurn)) {
    const std::span<const NewJob> turn = left.first(kJobsOfATurn);
    if (Result<void> written = write_together(connection, turn, alike); !written) return written;
    std::this_thread::yield();
  }
  for (const NewJob& job : left) {
    if (Result<void> written = write(connection, job, alike); !written) return written;
  }
  const Newest newest = newest_of(alike);
  for (auto at = newest.begin(); at != newest.end();) {
    const auto first = at;
    const auto is_of_first = [&](const auto& one) {
      return one.first.first == first->first.first && one.second == first->second;
    };
    at = std::find_if_not(first, newest.end(), is_of_first);
    if (Result<void> saved = save_newest(connection, first, at); !saved) return saved;
  }
  for (const RecordView& other : others_) {
    if (Result<void> saved = save_alone(connection, other); !saved) return saved;
  }
  return {};
}

LoadView SqliteGroup::NewJob::whole() const {
  LoadView whole = load;
  if (!returns.empty()) whole.returns = returns;
  return whole;
}

Result<void> SqliteGroup::write_together(SqliteConnection& connection, std::span<const NewJob> jobs,
                                         std::vector<Alike>& alike) {
  std::vector<decltype(row_of(0, {}))> rows;
  rows.reserve(jobs.size());
  for (const NewJob& job : jobs) rows.push_back(row_of(job.key, job.whole()));
  Result<void> done = connection.execute(kInsertLoads, rows);
  if (done && connection.changes() == static_cast<int>(jobs.size())) {
    for (const NewJob& job : jobs) add_to(alike, job);
    return done;
  }
  // Some were there before. Each is saved again then, also those that were not: they read the same after it.
  for (auto job = jobs.begin(); done && job != jobs.end(); ++job) done = write(connection, *job, alike);
  return done;
}

Result<void> SqliteGroup::write(SqliteConnection& connection, const NewJob& job, std::vector<Alike>& alike) {
  const LoadView load = job.whole();
  Result<void> inserted = connection.execute(kInsertLoad, row_of(job.key, load));
  if (!inserted) return inserted;
  if (connection.changes() == 0) return save_again(connection, job.key, load);
  add_to(alike, job);
  return {};
}

void SqliteGroup::add_to(std::vector<Alike>& alike, const NewJob& job) {
  const LoadView load = job.whole();
  const auto is_alike = [&load](const LoadView& other) {
    return load.fun == other.fun && load.minions == other.minions && load.returns == other.returns &&
           load.packing == other.packing;
  };
  if (alike.empty() || !is_alike(alike.back().load)) alike.push_back({load, job.key});
  alike.back().newest = std::max(alike.back().newest, job.key);
}

SqliteGroup::Newest SqliteGroup::newest_of(const std::vector<Alike>& alike) {
  Newest newest;
  for (const auto& [load, key] : alike) {
    ReturnReader returns(load.returns, load.minions, load.packing);
    auto place = newest.begin();
    while (const auto ret = returns.next()) {
      // Most come in order.
      place = newest.try_emplace(place, {load.fun, ret->minion}, key);
      place->second = std::max(place->second, key);
      ++place;
    }
  }
  return newest;
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
    ReturnReader reader = returns_in(row);
    while (const auto ret = reader.next()) by_minion.insert_or_assign(std::string(ret->minion), ret->copy());
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
  std::map<JidKey, std::set<std::string, std::less<>>> minions;  // so that each job is read once
  const auto take = [&](const SqliteQuery& row) {
    minions[row.number(1)].emplace(row.text(0));
    return true;
  };
  Result<void> read = connection.each(kNewest, take, std::string_view(name));
  for (auto job = minions.begin(); read && job != minions.end(); ++job) {
    std::vector<JobReturn> of_job;
    read = find_returns(connection, job->first, of_job);
    for (JobReturn& ret : of_job) {
      if (job->second.contains(ret.minion)) returns.push_back({jid_of(job->first), std::move(ret)});
    }
  }
  std::sort(returns.begin(), returns.end(),
            [](const FunctionReturn& a, const FunctionReturn& b) { return a.ret.minion < b.ret.minion; });
  return read;
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
