// SPDX-License-Identifier: MIT
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <thread>
#include <utility>

#include "../support/captured_log.h"
#include "../support/fork_alone.h"
#include "caches.h"
#include "rest_fcgi/core/unique_fd.h"
#include "returner/sqlite/database.h"

namespace rest_fcgi::returner {
namespace {

struct Database {
  test::TempDir dir;
  test::ManualClock clock;
  Options options = sqlite_options(dir);

  [[nodiscard]] std::unique_ptr<Returner> open() const { return open_sqlite(options, clock); }
  [[nodiscard]] std::string folder() const { return dir / "jobs"; }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder()))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  /// Why it cannot be opened.
  [[nodiscard]] std::string refusal() const {
    auto opened = open_sqlite_returner(options, clock);
    REQUIRE_FALSE(opened.ok());
    CHECK(opened.error().kind == ErrorKind::unavailable);
    return opened.error().message;
  }
};

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

/// Runs `body` in a process of its own, which ends as by kill -9 while what that returns still lives. `first`
/// is run here before `body` begins, and after the fork: what it starts could hold SQLite's locks at that
/// moment.
template <class Body, class First>
void in_killed_process(Body body, First first) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const UniqueFd gate(ends[0]);
  UniqueFd open_gate(ends[1]);
  const pid_t child = test::fork_alone();
  REQUIRE(child >= 0);
  if (child == 0) {
    open_gate.reset();
    char none = 0;
    (void)!::read(gate.get(), &none, 1);  // to its end
    const auto kept = body();
    ::kill(::getpid(), SIGKILL);
  }
  first();
  open_gate.reset();
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
}

template <class Body>
void in_killed_process(Body body) {
  in_killed_process(std::move(body), [] {});
}

void run_sql(const std::string& path, const char* sql) {
  auto connection = SqliteConnection::open(path, std::chrono::milliseconds(1000));
  REQUIRE(connection.ok());
  const Result<void> done = (*connection)->run(sql);
  REQUIRE_MESSAGE(done.ok(), done.error().message);
}

TEST_CASE("the database is its owner's alone, and no spool stays after an orderly end") {
  const Database database;
  {
    const auto cache = database.open();
    REQUIRE(cache->save_load(load_of(jid_number(1)), Durability::grouped));
    CHECK(mode_of(database.folder()) == 0700);
    for (const std::string& file : database.files()) CHECK(mode_of(database.folder() + "/" + file) == 0600);
    CHECK(database.files().size() == 4);  // with the log, its index and the spool
  }
  CHECK(database.files() == std::vector<std::string>{"jobs.db"});
  CHECK(jids_of(*database.open()) == Jids{jid_number(1)});
}

TEST_CASE("nothing that was saved is missing after a kill, whether it was in the database or not") {
  const Database database;
  in_killed_process([&] {
    auto cache = database.open();
    for (int i = 0; i < 100; ++i) {
      (void)cache->save_load(load_of(jid_number(i)), i == 50 ? Durability::durable : Durability::grouped);
      (void)cache->returner(jid_number(i), return_of("ms-0", std::to_string(i)));
    }
    return cache;
  });
  CHECK(database.files().size() == 4);
  const auto cache = database.open();
  CHECK(jids_of(*cache).size() == 100);
  for (int i = 0; i < 100; ++i) {
    const std::vector<JobReturn> returns = *cache->get_jid(jid_number(i));
    REQUIRE(returns.size() == 1);
    CHECK(returns[0].ret.text() == "\"" + std::to_string(i) + "\"");
  }
}

TEST_CASE("a spool that a power cut damaged gives what can be read, and the log says that it is not all") {
  const Database database;
  in_killed_process([&] {
    auto cache = database.open();
    auto lock = *SqliteConnection::open(database.options.sqlite3.database, std::chrono::milliseconds(1000));
    (void)lock->run("BEGIN IMMEDIATE");  // so that all waits in the spool
    for (const int number : {1, 2, 3}) {
      (void)cache->save_load(load_of(jid_number(number)), Durability::grouped);
    }
    for (const std::string& file : database.files()) {
      if (file.find("-spool-") == std::string::npos) continue;
      const std::string text = database.dir.read("jobs/" + file);
      const std::size_t last = text.rfind("test.ping");
      std::FILE* const spool = std::fopen((database.folder() + "/" + file).c_str(), "r+");
      std::fseek(spool, static_cast<long>(last), SEEK_SET);
      std::fputs("X", spool);
      std::fflush(spool);
    }
    return std::pair(std::move(cache), std::move(lock));
  });
  const test::CapturedLog log;
  {
    auto lock = *SqliteConnection::open(database.options.sqlite3.database, std::chrono::milliseconds(1000));
    REQUIRE(lock->run("BEGIN IMMEDIATE"));
    (void)database.open();
    CHECK_FALSE(log.has("cannot be read"));  // so far it is tried again
  }
  const auto cache = database.open();
  CHECK(jids_of(*cache) == Jids{jid_number(1), jid_number(2)});
  CHECK(log.has("cannot be read, as after a power cut"));
  CHECK(database.files().size() == 4);  // none is left behind
}

TEST_CASE("what a killed process left is found by a process that runs already") {
  const Database database;
  const auto leave_job = [&] {
    auto dying = database.open();
    auto lock = *SqliteConnection::open(database.options.sqlite3.database, std::chrono::milliseconds(1000));
    (void)lock->run("BEGIN IMMEDIATE");  // so that all waits in the spool
    (void)dying->save_load(load_of(jid_number(1)), Durability::grouped);
    return std::pair(std::move(dying), std::move(lock));
  };
  std::unique_ptr<Returner> cache;
  in_killed_process(leave_job, [&] { cache = database.open(); });
  CHECK(jids_of(*cache) == Jids{jid_number(1)});
  CHECK(database.files().size() == 4);
}

TEST_CASE("what stands in for a return of a killed process gives way to it, whichever is written first") {
  const Database database;
  const JobReturn stand_in{"ms-0", Json::string("interrupted"), 1, false, "", true};
  const auto leave_return = [&](int number) {
    in_killed_process([&] {
      auto dying = database.open();
      auto lock = *SqliteConnection::open(database.options.sqlite3.database, std::chrono::milliseconds(1000));
      (void)lock->run("BEGIN IMMEDIATE");  // so that all waits in the spool
      (void)dying->returner(jid_number(number), return_of("ms-0", "came"));
      return std::pair(std::move(dying), std::move(lock));
    });
  };
  const auto what_is_kept = [&](int number) {
    return database.open()->get_jid(jid_number(number))->at(0).ret.text();
  };
  for (const int number : {1, 2, 3}) {
    REQUIRE(database.open()->save_load(load_of(jid_number(number)), Durability::durable));
  }
  REQUIRE(database.open()->returner(jid_number(1), stand_in));
  CHECK(what_is_kept(1) == "\"interrupted\"");
  leave_return(1);
  CHECK(what_is_kept(1) == "\"came\"");

  leave_return(2);
  REQUIRE(database.open()->returner(jid_number(2), stand_in));
  CHECK(what_is_kept(2) == "\"came\"");

  // Both are there, and not written yet.
  leave_return(3);
  in_killed_process([&] {
    auto lock = *SqliteConnection::open(database.options.sqlite3.database, std::chrono::milliseconds(1000));
    (void)lock->run("BEGIN IMMEDIATE");
    auto dying = database.open();
    (void)dying->returner(jid_number(3), stand_in);
    return std::pair(std::move(dying), std::move(lock));
  });
  CHECK(what_is_kept(3) == "\"came\"");
}

TEST_CASE("a spool that nothing was written into is taken away without a word") {
  const Database database;
  (void)database.open();
  database.dir.write("jobs/jobs.db-spool-abcdef", std::string(10000, '\0'));
  const test::CapturedLog log;
  (void)database.open();
  CHECK(database.files() == std::vector<std::string>{"jobs.db"});
  CHECK(log.text().empty());
}

TEST_CASE("a folder that belongs to another user is refused") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can give a folder away");
    return;
  }
  const Database database;
  std::filesystem::create_directory(database.folder());
  ::chmod(database.folder().c_str(), 0700);
  REQUIRE(::chown(database.folder().c_str(), 65534, 65534) == 0);
  CHECK(database.refusal() ==
        "its folder " + database.folder() + " belongs to user id 65534, not to this process's 0");
}

TEST_CASE("a file in the place of a spool that is none stays, and the log says so once") {
  const Database database;
  (void)database.open();
  const std::string name = "jobs/jobs.db-spool-abcdef";
  database.dir.write(name, std::string(10000, 'x'));
  const test::CapturedLog log;
  (void)database.open();
  CHECK(log.has("jobs.db-spool-abcdef is no spool that this program can read; it stays there"));
  CHECK(database.dir.read(name) == std::string(10000, 'x'));
}

TEST_CASE("what one process committed another one finds, and no jid can be claimed in both") {
  const Database database;
  const auto one = database.open();
  const auto other = database.open();
  REQUIRE(one->save_load(load_of(jid_number(1)), Durability::durable));
  CHECK((*other->get_load(jid_number(1))).has_value());
  CHECK(*one->prep_jid(jid_number(2)));
  CHECK_FALSE(*other->prep_jid(jid_number(2)));
  CHECK_FALSE(*other->prep_jid(jid_number(1)));
}

TEST_CASE("many processes at once make one database") {
  Database database;
  database.options.sqlite3.timeout = std::chrono::seconds(20);
  std::vector<std::unique_ptr<Returner>> caches(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < caches.size(); ++i) {
    threads.emplace_back([&, i] {
      auto opened = open_sqlite_returner(database.options, database.clock);
      CHECK_MESSAGE(opened.ok(), opened.error().message);
      if (!opened) return;
      caches[i] = *std::move(opened);
      (void)caches[i]->save_load(load_of(jid_number(static_cast<int>(i))), Durability::durable);
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& cache : caches) {
    REQUIRE(cache != nullptr);
    CHECK(jids_of(*cache).size() == caches.size());
  }
}

TEST_CASE("a jid that has no key is refused, with what one is") {
  const Database database;
  const auto cache = database.open();
  for (const Durability durability : {Durability::grouped, Durability::durable}) {
    const Result<void> saved = cache->save_load(load_of("17"), durability);
    REQUIRE_FALSE(saved.ok());
    CHECK(saved.error().kind == ErrorKind::invocation);
    CHECK(saved.error().message ==
          "The job cache sqlite3 keeps no job '17': a jid is 20 digits, and begins with a year from 1100 to "
          "2899.");
  }
  CHECK_FALSE(cache->prep_jid("17").ok());
  CHECK_FALSE(cache->save_job(load_of("17"), {}).ok());
  CHECK(cache->returner("17", return_of("a", "b")));
}

TEST_CASE("a return that is larger than the spool is kept as well") {
  const Database database;
  const auto cache = database.open();
  REQUIRE(cache->save_load(load_of(jid_number(1)), Durability::grouped));
  REQUIRE(cache->returner(jid_number(1), return_of("ms-0", std::string(1 << 20, 'x'))));
  CHECK(cache->get_jid(jid_number(1))->at(0).ret.text().size() == (1 << 20) + 2);
}

TEST_CASE("a whole job that is larger than the spool is kept as well") {
  const Database database;
  const auto cache = database.open();
  const std::string large = Json::string(std::string(50'000, 'x')).text();
  const std::string huge = Json::string(std::string(1 << 20, 'x')).text();
  const std::vector<ReturnView> returns{{"ms-0", large}, {"ms-1", large}, {"ms-2", huge}};
  REQUIRE(cache->save_job(load_of(jid_number(1)), returns));
  const std::vector<JobReturn> kept = *cache->get_jid(jid_number(1));
  REQUIRE(kept.size() == 3);
  for (std::size_t i = 0; i < kept.size(); ++i) CHECK(kept[i].ret.text() == returns[i].ret);
  CHECK_FALSE(cache->save_job(load_of("17"), returns).ok());
}

TEST_CASE("of many minions, some of which are new, or have newer returns, each one's newest is found") {
  const Database database;
  const auto cache = database.open();
  const auto run = [&](int number, const std::string& from, const std::string& to) {
    Load load = load_of(jid_number(number));
    std::vector<ReturnView> returns;
    load.minions.clear();
    for (int i = 100; i < 200; ++i) {
      std::string minion = "ms-" + std::to_string(i);
      if (minion >= from && minion <= to) load.minions.push_back(std::move(minion));
    }
    for (const std::string& minion : load.minions) returns.push_back({minion, "true"});
    REQUIRE(cache->save_job(load, returns));
    // As "ms-100 of 1, ms-150 of 2 ...": where another job's begin.
    std::string found;
    std::string last;
    const std::vector<FunctionReturn> newest = *cache->get_fun("test.ping");
    for (const FunctionReturn& one : newest) {
      if (one.jid != last) found += one.ret.minion + " of " + one.jid.substr(18) + " ";
      last = one.jid;
    }
    return found + std::to_string(newest.size());
  };
  CHECK(run(10, "ms-120", "ms-179") == "ms-120 of 10 60");
  CHECK(run(11, "ms-120", "ms-179") == "ms-120 of 11 60");  // all
  CHECK(run(12, "ms-120", "ms-178") == "ms-120 of 12 ms-179 of 11 60");
  CHECK(run(13, "ms-120", "ms-180") == "ms-120 of 13 61");
  CHECK(run(14, "ms-110", "ms-180") == "ms-110 of 14 71");
  CHECK(run(15, "ms-130", "ms-180") == "ms-110 of 14 ms-130 of 15 71");
  CHECK(run(16, "ms-120", "ms-122") == "ms-110 of 14 ms-120 of 16 ms-123 of 14 ms-130 of 15 71");
  CHECK(run(9, "ms-110", "ms-180") == "ms-110 of 14 ms-120 of 16 ms-123 of 14 ms-130 of 15 71");  // older
  CHECK(run(17, "ms-110", "ms-180") == "ms-110 of 17 71");
  CHECK(run(18, "ms-111", "ms-181") == "ms-110 of 17 ms-111 of 18 72");  // as many, and others
}

TEST_CASE("of jobs that are written together and are alike, the newest one's returns are found") {
  const Database database;
  const auto cache = database.open();
  const auto save = [&](int number, const char* fun, std::string_view ret) {
    const std::vector<ReturnView> returns{{"ms-0", ret}};
    REQUIRE(cache->save_job(load_of(jid_number(number), fun), returns));
  };
  for (const int number : {2, 4, 3}) save(number, "test.ping", "true");
  save(5, "test.arg", "true");
  save(1, "test.ping", "true");
  save(6, "test.arg", "false");
  CHECK(cache->get_fun("test.ping")->at(0).jid == jid_number(4));
  CHECK(cache->get_fun("test.arg")->at(0).ret.ret.text() == "false");
}

TEST_CASE("of many jobs that are written together, some may be kept already") {
  const Database database;
  const auto cache = database.open();
  const auto save = [&](int number, std::string_view ret) {
    const std::vector<ReturnView> returns{{"ms-0", ret}};
    REQUIRE(cache->save_job(load_of(jid_number(number)), returns));
  };
  save(3, "\"before\"");
  REQUIRE(cache->flush());
  for (int number = 1; number <= 40; ++number) save(number, std::to_string(number));
  CHECK(jids_of(*cache).size() == 40);
  for (int number = 1; number <= 40; ++number) {
    const std::vector<JobReturn> returns = *cache->get_jid(jid_number(number));
    REQUIRE(returns.size() == 1);
    CHECK(returns[0].ret.text() == std::to_string(number));
    CHECK((*cache->get_load(jid_number(number)))->minions == load_of(jid_number(number)).minions);
  }
  CHECK(cache->get_fun("test.ping")->at(0).jid == jid_number(40));
}

TEST_CASE("where there is no room for a while, writers wait, and nothing is lost") {
  Database database;
  database.options.spool_bytes = 64 * 1024;
  const test::CapturedLog log;
  const auto cache = database.open();
  for (int i = 0; i < 5000; ++i) REQUIRE(cache->save_load(load_of(jid_number(i)), Durability::grouped));
  CHECK(jids_of(*cache).size() == 5000);
  CHECK(log.text().empty());
}

TEST_CASE("another application's database is refused and left as it is") {
  const Database database;
  std::filesystem::create_directory(database.folder());
  ::chmod(database.folder().c_str(), 0700);
  database.dir.write("jobs/jobs.db", "");
  run_sql(database.options.sqlite3.database, "CREATE TABLE theirs (a); PRAGMA application_id = 7");
  const std::string before = database.dir.read("jobs/jobs.db");
  CHECK(database.refusal() == "it is another application's database (application_id 7)");
  CHECK(database.dir.read("jobs/jobs.db") == before);
}

TEST_CASE("a database of a newer version is refused") {
  const Database database;
  (void)database.open();
  run_sql(database.options.sqlite3.database, "PRAGMA user_version = 99");
  CHECK(database.refusal() == "its schema has version 99; this program knows those up to 2");
}

TEST_CASE("a file that is no database is refused and left as it is") {
  const Database database;
  (void)database.open();
  database.dir.write("jobs/jobs.db", std::string(8192, 'x'));
  CHECK(database.refusal() == "file is not a database");
  CHECK(database.dir.read("jobs/jobs.db") == std::string(8192, 'x'));
}

TEST_CASE("a folder that cannot be had, or that others may write into, is refused") {
  Database database;
  database.dir.write("file", "");
  database.options.sqlite3.database = database.dir / "file/jobs.db";
  CHECK(database.refusal() == "its folder " + (database.dir / "file") + " cannot be opened: Not a directory");
  database.options.sqlite3.database = database.dir / "a/b/c/jobs.db";
  CHECK(database.refusal() ==
        "its folder " + (database.dir / "a/b/c") + " cannot be made: No such file or directory");
  std::filesystem::create_directory(database.dir / "open");
  ::chmod((database.dir / "open").c_str(), 0770);
  database.options.sqlite3.database = database.dir / "open/jobs.db";
  CHECK(database.refusal() == "its folder " + (database.dir / "open") +
                                  " has mode 0770, so that others could put files into it; 0700 is right");
  database.options.sqlite3.database = database.dir / ("made/" + std::string(300, 'x'));
  CHECK(database.refusal() == "it cannot be made: File name too long");
  database.options.sqlite3.database = database.dir / "open";
  ::chmod((database.dir / "open").c_str(), 0700);
  CHECK(database.refusal() == "unable to open database file (Is a directory)");
}

TEST_CASE("an older schema is brought up to date, and a migration that fails changes nothing") {
  const Database database;
  (void)database.open();
  auto connection =
      SqliteConnection::open(database.options.sqlite3.database, std::chrono::milliseconds(1000));
  REQUIRE(connection.ok());
  std::vector<const char*> steps(migrations().begin(), migrations().end());
  steps.push_back("CREATE TABLE second (a); INSERT INTO nosuch VALUES (1)");
  const Result<void> failed = migrate(**connection, steps);
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().message == "no such table: nosuch");
  CHECK(*(*connection)->value("PRAGMA user_version") == "2");
  steps.back() = "CREATE TABLE second (a); INSERT INTO second VALUES (1)";
  REQUIRE(migrate(**connection, steps));
  CHECK(*(*connection)->value("PRAGMA user_version") == "3");
  CHECK(*(*connection)->value("SELECT count(*) FROM second") == "1");
  REQUIRE(migrate(**connection, steps));
  CHECK(*(*connection)->value("SELECT count(*) FROM second") == "1");
}

/// A job, and two returns of it, as releases of schema 1 left them.
constexpr const char* kFirstJob =
    "INSERT INTO job VALUES (231114221320000001, 1700000000000000, '\"test.ping\"', '[]', '\"*\"', 'glob',"
    " 'fred', NULL, x'040000006d732d30040000006d732d31',"
    " x'040000006d732d300000000001000000000400000074727565');"
    "INSERT INTO late VALUES (231114221320000001, 'ms-1',"
    " x'040000006d732d310200000000060000006e6573746564020000005b5d');"
    "INSERT INTO newest VALUES ('\"test.ping\"', 'ms-0', 231114221320000001),"
    " ('\"test.ping\"', 'ms-1', 231114221320000001)";

TEST_CASE("jobs in a database of the schema before are found, replaced and added to, without a rewrite") {
  const Database database;
  (void)database.open();
  for (const char* file : {"jobs.db", "jobs.db-wal", "jobs.db-shm"}) {
    std::filesystem::remove(database.folder() + "/" + file);
  }
  database.dir.write("jobs/jobs.db", "");
  {
    auto connection =
        *SqliteConnection::open(database.options.sqlite3.database, std::chrono::milliseconds(1000));
    REQUIRE(migrate(*connection, migrations().first(1)));
    REQUIRE(connection->run(kFirstJob));
  }
  const std::string jid = jid_number(1);
  const auto cache = database.open();
  const auto minions = [&] { return (*cache->get_load(jid))->minions; };
  const auto check_returns = [&](std::size_t size) {
    const std::vector<JobReturn> returns = *cache->get_jid(jid);
    REQUIRE(returns.size() == size);
    CHECK(returns[size - 2].minion == "ms-0");
    CHECK(returns[size - 2].ret.text() == "true");
    CHECK(returns[size - 1].minion == "ms-1");
    CHECK(returns[size - 1].ret.text() == "[]");
    CHECK(returns[size - 1].retcode == 2);
    CHECK_FALSE(returns[size - 1].success);
    CHECK(returns[size - 1].out == "nested");
  };
  CHECK(minions() == std::vector<std::string>{"ms-0", "ms-1"});
  check_returns(2);
  const std::vector<FunctionReturn> newest = *cache->get_fun("test.ping");
  REQUIRE(newest.size() == 2);
  CHECK(newest[0].ret.ret.text() == "true");
  CHECK(newest[1].ret.ret.text() == "[]");
  auto connection =
      *SqliteConnection::open(database.options.sqlite3.database, std::chrono::milliseconds(1000));
  CHECK(*connection->value("SELECT sum(packing) FROM job") == "0");
  REQUIRE(cache->save_minions(jid, {"a"}));
  CHECK(minions() == std::vector<std::string>{"a", "ms-0", "ms-1"});
  check_returns(2);
  REQUIRE(cache->returner(jid, return_of("a", "new")));
  check_returns(3);
  Load again = load_of(jid);
  again.user = "ann";
  again.minions = {"ms-1"};
  REQUIRE(cache->save_load(again, Durability::grouped));
  CHECK((*cache->get_load(jid))->user == "ann");
  CHECK(minions() == std::vector<std::string>{"ms-1"});
  check_returns(3);
}

TEST_CASE("jobs that go leave their space to others, and are dropped in slices") {
  Database database;
  database.options.keep_jobs_seconds = std::chrono::seconds(60);
  const auto cache = database.open();
  const auto fill = [&](int from) {
    for (int i = from; i < from + 1000; ++i) {
      REQUIRE(cache->save_load(load_of(jid_number(i)), Durability::grouped));
      REQUIRE(cache->returner(jid_number(i), return_of("ms-0", std::string(300, 'x'))));
    }
    CHECK(jids_of(*cache).size() == 1000);
  };
  const auto pages = [&] {
    auto connection =
        SqliteConnection::open(database.options.sqlite3.database, std::chrono::milliseconds(1000));
    return std::stoi(*(*connection)->value("PRAGMA page_count"));
  };
  fill(0);
  const int before = pages();
  for (int round = 1; round < 5; ++round) {
    database.clock.advance(std::chrono::minutes(2));
    CHECK(*cache->clean_old_jobs() == 1000);
    fill(round * 1000);
  }
  CHECK(pages() <= before + before / 10);
}

TEST_CASE("with keep_jobs_seconds 0 jobs are kept for ever") {
  Database database;
  database.options.keep_jobs_seconds = std::chrono::seconds(0);
  const auto cache = database.open();
  REQUIRE(cache->save_load(load_of(jid_number(1)), Durability::grouped));
  database.clock.advance(std::chrono::hours(100000));
  CHECK(*cache->clean_old_jobs() == 0);
  CHECK(jids_of(*cache).size() == 1);
}

TEST_CASE("claims go after an hour, also where jobs are kept for ever") {
  Database database;
  database.options.keep_jobs_seconds = std::chrono::seconds(0);
  const auto cache = database.open();
  REQUIRE(*cache->prep_jid(jid_number(1)));
  database.clock.advance(std::chrono::minutes(59));
  CHECK(*cache->clean_old_jobs() == 0);
  CHECK_FALSE(*cache->prep_jid(jid_number(1)));
  database.clock.advance(std::chrono::minutes(2));
  CHECK(*cache->clean_old_jobs() == 0);
  CHECK(*cache->prep_jid(jid_number(1)));
}

}  // namespace
}  // namespace rest_fcgi::returner
