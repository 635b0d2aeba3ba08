// SPDX-License-Identifier: MIT
#include <string>

#include "caches.h"
#include "returner/record.h"
#include "returner/sqlite/store.h"

// What a look at the jobs costs, in steps of SQLite's machine rather than in time.

namespace rest_fcgi::returner {
namespace {

/// A database of so many jobs, each hundredth of them of `test.arg`, all with a large return of `ms-0`.
struct Jobs {
  test::TempDir dir;
  Options options = sqlite_options(dir);
  std::unique_ptr<SqliteConnection> connection;

  explicit Jobs(int count) {
    connection = *open_database(options.sqlite3);
    const JobReturn ret = return_of("ms-0", std::string(5000, 'x'));
    const ReturnView large = view_of(ret);
    REQUIRE(connection->run("BEGIN"));
    for (int i = 0; i < count; ++i) {
      const Load load = load_of(jid_number(i), i % 100 == 0 ? "test.arg" : "test.ping");
      const bool has_returned = i % 100 == 0;
      const std::string record =
          load_record(*key_of(load.jid), load, WallTime(), {&large, has_returned ? std::size_t{1} : 0});
      SqliteGroup group;
      REQUIRE(group.add(record));
      REQUIRE(group.write(*connection));
    }
    REQUIRE(connection->run("COMMIT"));
    connection = *SqliteConnection::open(options.sqlite3.database, std::chrono::milliseconds(1000));
  }

  /// The steps that `look` takes, which sorts so many results.
  template <class Look>
  int steps(Look look, int sorts = 0) const {
    sqlite3* const handle = sqlite3_db_handle(*connection->prepared("SELECT 1"));
    const Result<void> done = look(*connection);
    REQUIRE_MESSAGE(done.ok(), done.error().message);
    int all = 0;
    int sorted = 0;
    for (auto* at = sqlite3_next_stmt(handle, nullptr); at != nullptr; at = sqlite3_next_stmt(handle, at)) {
      all += sqlite3_stmt_status(at, SQLITE_STMTSTATUS_VM_STEP, 1);
      sorted += sqlite3_stmt_status(at, SQLITE_STMTSTATUS_SORT, 1);
    }
    CHECK(sorted == sorts);
    return all;
  }

  /// The steps to visit at most so many loads.
  [[nodiscard]] int steps_of_walk(const JobQuery& query, int most) const {
    int visited = 0;
    const int taken = steps([&](SqliteConnection& open) {
      return walk_loads(open, query, [&](const Load&) { return ++visited < most; });
    });
    CHECK(visited == most);
    return taken;
  }
};

TEST_CASE("a look at some of 100,000 jobs costs what it finds, as if there were no others") {
  const Jobs many(100'000);
  const Jobs few(1'000);
  const auto same = [&](const JobQuery& of_many, const JobQuery& of_few, int most) {
    const int steps = many.steps_of_walk(of_many, most);
    CHECK(steps < 100 + 20 * most);
    CHECK(steps == few.steps_of_walk(of_few, most));
  };
  same({}, {}, 100);
  same({.newest_first = true}, {.newest_first = true}, 100);
  same({.first = jid_number(70'000), .last = jid_number(70'099)},
       {.first = jid_number(700), .last = jid_number(799)}, 100);
  same({.fun = "test.arg"}, {.fun = "test.arg"}, 10);
  same({.last = jid_number(90'000), .fun = "test.arg", .newest_first = true},
       {.last = jid_number(900), .fun = "test.arg", .newest_first = true}, 9);
  // None in sight:
  CHECK(many.steps([](SqliteConnection& open) {
    return walk_loads(open, {.fun = "nosuch.fun"}, [](const Load&) { return true; });
  }) < 50);
}

TEST_CASE(
    "one job, a function's newest returns and the minions are found among 100,000 jobs without a search") {
  const Jobs many(100'000);
  std::optional<Load> load;
  CHECK(many.steps([&](SqliteConnection& open) { return find_load(open, *key_of(jid_number(500)), load); }) <
        50);
  CHECK(load.has_value());
  std::vector<JobReturn> returns;
  CHECK(many.steps([&](SqliteConnection& open) {
    return find_returns(open, *key_of(jid_number(500)), returns);
  }) < 100);
  CHECK(returns.size() == 1);
  std::vector<FunctionReturn> newest;
  CHECK(many.steps([&](SqliteConnection& open) { return find_newest(open, "test.arg", newest); }) < 100);
  REQUIRE(newest.size() == 1);
  CHECK(newest[0].jid == jid_number(99'900));
  std::vector<std::string> minions;
  CHECK(many.steps([&](SqliteConnection& open) { return find_minions(open, minions); }, 1) < 100);
  CHECK(minions.size() == 1);
}

TEST_CASE("a ping on five minions takes less than 150 bytes") {
  constexpr int kJobs = 2000;
  const test::TempDir dir;
  const Options options = sqlite_options(dir);
  {
    const test::ManualClock clock;
    const auto cache = open_sqlite(options, clock);
    for (int i = 0; i < kJobs; ++i) {
      Load load = load_of(jid_number(i));
      load.minions = {"ms-0", "ms-1", "ms-2", "ms-3", "ms-4"};
      std::vector<ReturnView> returns;
      for (const std::string& minion : load.minions) returns.push_back({minion, "true"});
      REQUIRE(cache->save_job(load, returns));
    }
  }
  const auto connection = *SqliteConnection::open(options.sqlite3.database, std::chrono::milliseconds(1000));
  REQUIRE(connection->run("VACUUM"));
  CHECK(*connection->value("SELECT count(*) FROM job") == std::to_string(kJobs));
  CHECK(std::stoi(*connection->value("PRAGMA page_count")) * 4096 / kJobs < 150);
}

}  // namespace
}  // namespace rest_fcgi::returner
