// SPDX-License-Identifier: MIT
#include <chrono>
#include <filesystem>

#include "../support/captured_log.h"
#include "etcd_caches.h"
#include "returner/spool/spool.h"

// A cluster that cannot be written, for one reason or another, and what dead processes left.

namespace rest_fcgi::returner {
namespace {

/// With a job that was kept before the trouble.
struct EtcdTrouble {
  test::ManualClock clock;
  test::CapturedLog log;
  InFakeEtcd in;
  std::unique_ptr<Returner> cache;

  explicit EtcdTrouble(std::size_t spool_bytes = 256 * 1024) {
    in.options.spool_bytes = spool_bytes;
    open();
    save(0, Durability::durable);
  }

  void open() { cache = in.make(clock); }
  void go_away() const { in.etcd->fail(Error{ErrorKind::unavailable, "no member answers"}); }
  /// And is heard again: a failure counts for half a second, and a try that began before it may yet fail.
  void come_back() {
    in.etcd->fail({});
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (cache != nullptr && !cache->get_load(jid_number(0)) &&
           std::chrono::steady_clock::now() < deadline) {
      clock.advance(std::chrono::milliseconds(600));
    }
  }

  void save(int number, Durability durability = Durability::grouped) const {
    const Result<void> saved = cache->save_load(load_of(jid_number(number)), durability);
    CHECK_MESSAGE(saved.ok(), saved.error().message);
  }

  /// What a caller is told who wants to read.
  [[nodiscard]] std::string refusal() const {
    const auto load = cache->get_load(jid_number(0));
    REQUIRE_FALSE(load.ok());
    CHECK(load.error().kind == ErrorKind::unavailable);
    return load.error().message;
  }

  /// A record as a process told it that died since, after so many microseconds of the clock's time.
  [[nodiscard]] std::string told(int after, const std::string& record) const {
    return stamped_record(clock.wall() + std::chrono::microseconds(after), record);
  }
  void leave_behind(const std::vector<std::string>& records) const {
    const auto spool = *Spool::create(in.options.etcd.spool, 64 * 1024);
    for (const std::string& record : records) REQUIRE(spool->append(record));
  }
  [[nodiscard]] std::size_t spools() const {
    const std::filesystem::directory_iterator files(in.dir.path() / "jobs");
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }
};

TEST_CASE(
    "while etcd is away jobs wait and readers are told why; the log says it once, and when it is back") {
  EtcdTrouble trouble;
  trouble.go_away();
  for (int i = 1; i <= 10; ++i) trouble.save(i);
  CHECK(trouble.refusal() == "The job cache etcd cannot be used now: no member answers.");
  CHECK_FALSE(trouble.cache->get_jid(jid_number(0)).ok());
  CHECK_FALSE(trouble.cache->get_fun("test.ping").ok());
  CHECK_FALSE(trouble.cache->get_minions().ok());
  CHECK_FALSE(trouble.cache->prep_jid(jid_number(12)).ok());
  CHECK(trouble.cache->flush());  // on the disk
  CHECK_FALSE(trouble.cache->get_jids({}, [](const Load&) { return true; }).ok());
  CHECK(count(trouble.log.text(),
              "etcd.host: http://127.0.0.1:2379 cannot be written: no member answers. "
              "Jobs wait in its spool.") == 1);
  trouble.come_back();
  CHECK(jids_of(*trouble.cache).size() == 11);
  CHECK(count(trouble.log.text(), "is written again; nothing was lost") == 1);
}

TEST_CASE("readers are told why also where nothing waits") {
  const EtcdTrouble trouble;
  trouble.go_away();
  const std::string why = "The job cache etcd cannot be used now: no member answers.";
  CHECK(trouble.refusal() == why);
  CHECK(trouble.cache->get_jid(jid_number(0)).error().message == why);
  CHECK(trouble.cache->get_fun("test.ping").error().message == why);
  CHECK(trouble.cache->get_minions().error().message == why);
  CHECK(trouble.cache->prep_jid(jid_number(12)).error().message == why);
  CHECK(trouble.cache->get_jids({}, [](const Load&) { return true; }).error().message == why);
  CHECK(trouble.cache->get_jids({.newest_first = true}, [](const Load&) { return true; }).error().message ==
        why);
}

TEST_CASE("a durable job is taken while etcd is away, and is there after a restart") {
  EtcdTrouble trouble;
  trouble.go_away();
  trouble.save(1, Durability::durable);
  trouble.cache.reset();
  CHECK(trouble.log.has("holds jobs that could not be written; it waits for the next start"));
  CHECK(trouble.spools() == 1);
  trouble.come_back();
  trouble.open();
  CHECK(jids_of(*trouble.cache) == Jids{jid_number(0), jid_number(1)});
  CHECK(trouble.spools() == 1);  // the new process's own
  trouble.cache.reset();
  CHECK(trouble.spools() == 0);
}

TEST_CASE(
    "what finds no room while etcd is away is counted as lost, and that is said; a durable job is refused") {
  EtcdTrouble trouble(64 * 1024);
  trouble.go_away();
  trouble.save(1);
  (void)trouble.refusal();
  for (int i = 2; i < 1000; ++i) {
    trouble.save(i);
    CHECK(trouble.cache->returner(jid_number(i), return_of("ms-0", "x")));
  }
  const Result<void> saved = trouble.cache->save_load(load_of(jid_number(1001)), Durability::durable);
  REQUIRE_FALSE(saved.ok());
  CHECK(saved.error().kind == ErrorKind::unavailable);
  CHECK(saved.error().message.find("no member answers. Missing: ") != std::string::npos);
  CHECK(count(trouble.log.text(), "its spool is full: jobs are lost from now on") == 1);
  trouble.come_back();
  const std::size_t kept = jids_of(*trouble.cache).size();
  CHECK(kept > 100);
  CHECK(kept < 1000);
  CHECK(trouble.log.has("is written again; " + std::to_string(1000 - kept) + " jobs and "));
}

TEST_CASE("what is larger than the spool takes is lost, and a durable job of that size is refused") {
  const EtcdTrouble trouble(64 * 1024);
  CHECK(trouble.cache->returner(jid_number(0), return_of("ms-0", std::string(20000, 'x'))));
  CHECK(trouble.cache->get_jid(jid_number(0))->empty());
  CHECK(trouble.log.has("jobs are lost from now on"));
  Load load = load_of(jid_number(1));
  load.arg = Json::string(std::string(20000, 'x'));
  const Result<void> saved = trouble.cache->save_load(load, Durability::durable);
  REQUIRE_FALSE(saved.ok());
  CHECK(saved.error().message.find("bytes are too many for its spool") != std::string::npos);
}

TEST_CASE("what etcd refuses is told of and counted, and takes nothing else with it") {
  // The second kind is that of what is no answer of etcd, such as a page of a proxy: 413.
  for (const ErrorKind kind : {ErrorKind::invocation, ErrorKind::internal}) {
    const EtcdTrouble trouble;
    trouble.in.etcd->refuse_beyond(1000, kind);
    trouble.save(1);
    REQUIRE(trouble.cache->returner(jid_number(1), return_of("m1", "fits")));
    REQUIRE(trouble.cache->returner(jid_number(1), return_of("m2", std::string(2000, 'x'))));
    REQUIRE(trouble.cache->returner(jid_number(1), return_of("m3", "fits")));
    CHECK(trouble.cache->get_jid(jid_number(1))->size() == 2);
    CHECK(count(trouble.log.text(), "etcd does not keep the return of m2 to job " + jid_number(1) +
                                        ": request is too large (1 refused since the start)") == 1);
  }
}

TEST_CASE("what etcd refuses is told of once, also where what came with it has to be written again") {
  EtcdTrouble trouble;
  trouble.in.etcd->refuse_beyond(1000);
  trouble.in.etcd->lose_next_answer(Error{ErrorKind::timeout, "no answer"});
  trouble.cache.reset();
  const JobReturn large = return_of("m1", std::string(2000, 'x'));
  trouble.leave_behind({trouble.told(1, return_record(*key_of(jid_number(0)), large)),
                        trouble.told(2, return_record(*key_of(jid_number(0)), return_of("m2", "fits")))});
  trouble.open();
  trouble.come_back();
  CHECK(trouble.cache->get_jid(jid_number(0))->size() == 1);
  CHECK(count(trouble.log.text(), "etcd does not keep the return of m1") == 1);
  CHECK(trouble.log.has("cannot be written: no answer"));
}

TEST_CASE("where nothing but nonsense is answered, jobs wait, and none is put aside") {
  EtcdTrouble trouble;
  trouble.in.etcd->fail(Error{ErrorKind::internal, "HTTP 418"});
  trouble.save(1);
  CHECK(trouble.refusal() == "The job cache etcd cannot be used now: HTTP 418.");
  trouble.come_back();
  CHECK(jids_of(*trouble.cache) == Jids{jid_number(0), jid_number(1)});
  CHECK_FALSE(trouble.log.has("does not keep"));
}

TEST_CASE("a record that nonsense was answered to once is written, and not put aside") {
  const EtcdTrouble trouble;
  trouble.in.etcd->fail_next_write(Error{ErrorKind::internal, "HTTP 418"});
  trouble.save(1);
  CHECK(jids_of(*trouble.cache) == Jids{jid_number(0), jid_number(1)});
  CHECK_FALSE(trouble.log.has("does not keep"));
}

TEST_CASE("what a dead process told is written by the next, in its order") {
  EtcdTrouble trouble;
  trouble.leave_behind({trouble.told(1, load_record(*key_of(jid_number(1)), load_of(jid_number(1)), {})),
                        trouble.told(2, return_record(*key_of(jid_number(1)), return_of("m1", "first"))),
                        trouble.told(3, return_record(*key_of(jid_number(1)), return_of("m1", "second"))),
                        trouble.told(4, return_record(*key_of(jid_number(9)), return_of("m1", "of no job"))),
                        trouble.told(5, "no record")});
  trouble.open();
  const std::vector<JobReturn> returns = *trouble.cache->get_jid(jid_number(1));
  REQUIRE(returns.size() == 1);
  CHECK(returns[0].ret.text() == "\"second\"");
  CHECK(trouble.cache->get_jid(jid_number(9))->empty());
  CHECK(trouble.spools() == 1);
  CHECK(trouble.log.has("etcd does not keep a record of its spool: it cannot be read"));
}

TEST_CASE("a process that lives finds what another one left that died") {
  EtcdTrouble trouble;
  trouble.leave_behind({trouble.told(1, load_record(*key_of(jid_number(1)), load_of(jid_number(1)), {}))});
  trouble.clock.advance(std::chrono::milliseconds(1100));  // it looks once a second
  CHECK(trouble.cache->get_load(jid_number(1))->has_value());
  CHECK(trouble.spools() == 1);
}

TEST_CASE("a return that a dead process left overwrites none that came later, but one that stands in") {
  EtcdTrouble trouble;
  trouble.save(1);
  trouble.clock.advance(std::chrono::seconds(1));
  REQUIRE(trouble.cache->returner(jid_number(0), return_of("m1", "later")));
  JobReturn stand_in = return_of("m1", "interrupted");
  stand_in.stands_in = true;
  REQUIRE(trouble.cache->returner(jid_number(1), stand_in));
  REQUIRE(trouble.cache->get_minions());
  trouble.leave_behind(
      {trouble.told(-500000, return_record(*key_of(jid_number(0)), return_of("m1", "earlier"))),
       trouble.told(-500000, return_record(*key_of(jid_number(1)), return_of("m1", "came")))});
  trouble.open();
  CHECK(trouble.cache->get_jid(jid_number(0))->at(0).ret.text() == "\"later\"");
  CHECK(trouble.cache->get_jid(jid_number(1))->at(0).ret.text() == "\"came\"");
}

TEST_CASE("a second return replaces the first also where the clock was set back between them") {
  EtcdTrouble trouble;
  REQUIRE(trouble.cache->returner(jid_number(0), return_of("m1", "first")));
  REQUIRE(trouble.cache->get_minions());
  trouble.clock.advance(-std::chrono::hours(1));
  REQUIRE(trouble.cache->returner(jid_number(0), return_of("m1", "second")));
  CHECK(trouble.cache->get_jid(jid_number(0))->at(0).ret.text() == "\"second\"");
}

TEST_CASE("a file under a spool's name that is none stays, and is told of once") {
  EtcdTrouble trouble;
  trouble.cache.reset();  // which would remove it while nothing is written into it so far
  const std::string path = trouble.in.dir.write("jobs/etcd-spool-abcdef", std::string(8192, 'x'));
  trouble.open();
  // Its writer looks at least once. A reader that looked at the same time would hide the file from it.
  trouble.cache.reset();
  CHECK(std::filesystem::exists(path));
  CHECK(count(trouble.log.text(), "is no spool that this program can read; it stays there") >= 1);
}

TEST_CASE("a folder for the spool that cannot be had is an error") {
  const test::TempDir dir;
  const test::ManualClock clock;
  Options options = etcd_options(dir);
  options.etcd.spool = dir.write("file", "") + "/etcd";
  const auto opened = open_etcd_returner(options, clock);
  REQUIRE_FALSE(opened.ok());
  CHECK(opened.error().kind == ErrorKind::unavailable);
  CHECK(opened.error().message.find("cannot be opened: Not a directory") != std::string::npos);
}

}  // namespace
}  // namespace rest_fcgi::returner
