// SPDX-License-Identifier: MIT
#include "returner/sqlite_queries.h"

#include <algorithm>
#include <map>
#include <utility>

#include "returner/record.h"

namespace rest_fcgi::returner {
namespace {

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
