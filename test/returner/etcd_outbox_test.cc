// SPDX-License-Identifier: MIT
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "../support/captured_log.h"
#include "../support/eventually.h"
#include "etcd_caches.h"
#include "returner/etcd/outbox.h"
#include "returner/stored.h"

namespace rest_fcgi::returner {
namespace {

/// A job cache over a cluster that fails and recovers. The cluster has one job from the start.
struct Failing {
  test::ManualClock clock;
  test::CapturedLog log;
  InFakeEtcd in;
  std::unique_ptr<Returner> cache;

  explicit Failing(std::size_t outbox_bytes = std::size_t{1} << 20) {
    in.options.etcd.outbox_bytes = outbox_bytes;
    cache = in.make(clock);
    save(0);
    CHECK(cache->get_load(jid_number(0))->has_value());
  }

  void fail() const { in.etcd->fail(Error{ErrorKind::unavailable, "no member answers"}); }
  void recover() const {
    in.etcd->fail({});
    if (cache) CHECK(test::eventually([&] { return cache->get_load(jid_number(0)).ok(); }));
  }
  void save(int number, Durability durability = Durability::committed) const {
    const Result<void> saved = cache->save_load(load_of(jid_number(number)), durability);
    CHECK_MESSAGE(saved.ok(), saved.error().message);
  }
  [[nodiscard]] std::string refusal() const {
    const Error error = cache->get_load(jid_number(0)).error();
    CHECK(error.kind == ErrorKind::unavailable);
    return error.message;
  }
  [[nodiscard]] std::int64_t number(const char* sql) const {
    std::int64_t found = 0;
    REQUIRE(in.store->read([&](store::Connection& connection) -> Result<void> {
      const auto value = connection.number(sql);
      found = value ? value->value_or(0) : -1;
      return {};
    }));
    return found;
  }
  [[nodiscard]] std::int64_t rows() const { return number("SELECT count(*) FROM outbox"); }
  [[nodiscard]] std::int64_t bytes() const {
    return number("SELECT value FROM meta WHERE name = 'outbox_bytes'");
  }
};

TEST_CASE("writes wait in the outbox until etcd is back") {
  const Failing failing;
  failing.fail();
  for (int i = 1; i <= 10; ++i) failing.save(i);
  const std::string why = "The job cache etcd is unavailable: no member answers.";
  CHECK(failing.refusal() == why);
  CHECK(failing.cache->get_jid(jid_number(0)).error().message == why);
  CHECK(failing.cache->prep_jid(jid_number(12)).error().message == why);
  for (const bool newest_first : {false, true}) {
    const auto walked =
        failing.cache->get_jids({.newest_first = newest_first}, [](const Load&) { return true; });
    CHECK(walked.error().message == why);
  }
  CHECK(failing.cache->flush());  // `flush` syncs only the local store.
  CHECK(failing.rows() == 10);
  CHECK(failing.bytes() > 10 * 100);
  failing.recover();
  CHECK(jids_of(*failing.cache).size() == 11);
  CHECK(failing.rows() == 0);
  CHECK(failing.bytes() == 0);
  CHECK(failing.log.count("cannot write to etcd: no member answers; ") == 1);
  CHECK(test::eventually([&] { return failing.log.count("writing to etcd works again") == 1; }));
}

TEST_CASE("a job that waits at the end of a process is delivered after the next start") {
  Failing failing;
  failing.fail();
  failing.save(1, Durability::durable);
  failing.cache.reset();
  CHECK(failing.rows() == 1);
  failing.recover();
  failing.cache = failing.in.make(failing.clock);
  CHECK(jids_of(*failing.cache) == Jids{jid_number(0), jid_number(1)});
  CHECK(failing.rows() == 0);
}

TEST_CASE("a full outbox refuses durable jobs, and loses other writes with one line in the log") {
  const Failing failing(64 * 1024);
  failing.fail();
  for (int i = 1; i < 1000; ++i) {
    failing.save(i);
    CHECK(failing.cache->returner(jid_number(i), return_of("ms-0", "x")));
  }
  CHECK(failing.bytes() <= 64 * 1024);
  CHECK(failing.bytes() > 60 * 1024);
  CHECK(failing.cache->save_load(load_of(jid_number(1001)), Durability::durable).error().kind ==
        ErrorKind::unavailable);
  CHECK(failing.log.count("other writes are lost") == 1);
  failing.recover();
  const std::size_t kept = jids_of(*failing.cache).size();
  CHECK(kept > 100);
  CHECK(kept < 1000);
  CHECK(failing.bytes() == 0);
  failing.save(1002, Durability::durable);
  CHECK(failing.cache->get_load(jid_number(1002))->has_value());
  CHECK(failing.log.has("etcd_outbox_bytes: the outbox has free space again; "));
}

TEST_CASE("a write that etcd refuses is logged, and the others are delivered") {
  const Failing failing;
  failing.in.etcd->refuse_beyond(1000);
  failing.save(1);
  REQUIRE(failing.cache->returner(jid_number(1), return_of("m1", "fits")));
  REQUIRE(failing.cache->returner(jid_number(1), return_of("m2", std::string(2000, 'x'))));
  REQUIRE(failing.cache->returner(jid_number(1), return_of("m3", "fits")));
  CHECK(failing.cache->get_jid(jid_number(1))->size() == 2);
  CHECK(failing.log.count("etcd: the return of m2 to job " + jid_number(1) +
                          " is lost: request is too large") == 1);
}

TEST_CASE("jobs wait while a cluster refuses the password, or gives unexpected answers") {
  for (const ErrorKind kind : {ErrorKind::authentication, ErrorKind::internal}) {
    const Failing failing;
    failing.in.etcd->fail(Error{kind, "HTTP 418"});
    failing.save(1);
    CHECK(failing.refusal() == "The job cache etcd is unavailable: HTTP 418.");
    failing.recover();
    CHECK(jids_of(*failing.cache) == Jids{jid_number(0), jid_number(1)});
    CHECK_FALSE(failing.log.has("is lost"));
  }
}

TEST_CASE("a second delivery of the same rows changes nothing in etcd") {
  const test::ManualClock clock;
  const InFakeEtcd in;
  FakeEtcdStore writing(in.etcd);
  const auto deliver = make_etcd_delivery(writing, in.options.etcd, [] {});
  const auto ret = [](const char* minion, const char* text) {
    const JobReturn made = return_of(minion, text);
    const ReturnView view = view_of(made);
    return returns_json({&view, 1});
  };
  const JidKey key = *key_of(kJid);
  const auto later = [&](int number) { return clock.wall() + std::chrono::microseconds(number); };
  std::vector<OutboxRow> rows{{later(0), key, load_text(load_of(kJid)), ret("m1", "with the load")}};
  rows.push_back({.stamp = later(1), .key = key, .minions = strings_json({"m1", "m2"})});
  rows.push_back({.stamp = later(2), .key = key, .returns = ret("m1", "second")});
  rows.push_back(
      {.stamp = later(3), .key = key, .returns = ret("m2", "placeholder"), .is_placeholder = true});
  rows.push_back({.stamp = later(4), .key = *key_of(jid_number(1)), .returns = ret("m1", "of no job")});
  REQUIRE(deliver(rows));
  const FakeEtcd::Map once = in.etcd->map();
  CHECK(once.size() == 1 + 9 + 8 + 1);
  REQUIRE(deliver(rows));
  CHECK(in.etcd->map() == once);
  // The later delivery has two newer returns. The return of m2 replaces its placeholder.
  REQUIRE(deliver({{.stamp = later(5), .key = key, .returns = ret("m2", "came")},
                   {.stamp = later(6), .key = key, .returns = ret("m1", "third")}}));
  const FakeEtcd::Map all = in.etcd->map();
  rows.erase(rows.begin());  // If no row has the load, the delivery reads the load from etcd.
  const auto another = make_etcd_delivery(writing, in.options.etcd, [] {});
  REQUIRE(another(rows));
  CHECK(in.etcd->map() == all);
}

TEST_CASE("rows are delivered again after a lost answer, and each job is stored once") {
  const Failing failing;
  failing.in.etcd->lose_next_answer(Error{ErrorKind::timeout, "no answer"});
  failing.save(1);
  REQUIRE(failing.cache->returner(jid_number(1), return_of("m1", "x")));
  failing.recover();
  CHECK(jids_of(*failing.cache) == Jids{jid_number(0), jid_number(1)});
  CHECK(failing.cache->get_jid(jid_number(1))->size() == 1);
  CHECK(failing.rows() == 0);
}

TEST_CASE("one process delivers the rows of all, and another takes over after its end") {
  Failing failing;
  auto other = failing.in.make(failing.clock);
  REQUIRE(other->save_load(load_of(jid_number(1)), Durability::committed));
  REQUIRE(other->returner(jid_number(1), return_of("m1", "first")));
  REQUIRE(failing.cache->returner(jid_number(1), return_of("m1", "second")));
  CHECK(other->get_jid(jid_number(1))->at(0).ret.text() == "\"second\"");
  failing.fail();
  failing.save(2);
  // Both caches share the outbox, and only `failing` delivers it to etcd. A read of `other` waits for this
  // delivery and fails with it.
  CHECK_FALSE(other->get_load(jid_number(2)).ok());
  failing.cache.reset();
  failing.recover();
  CHECK(test::eventually([&] {
    const auto load = other->get_load(jid_number(2));
    return load && *load;
  }));
}

TEST_CASE("the lease of a dead process ends after some seconds") {
  Failing failing;
  failing.cache.reset();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  REQUIRE(failing.in.store->execute("UPDATE outbox_lease SET owner = 'dead', renewed = ?",
                                    std::chrono::duration_cast<std::chrono::microseconds>(now).count()));
  failing.cache = failing.in.make(failing.clock);
  failing.save(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  CHECK(failing.rows() == 1);
  CHECK(failing.cache->get_load(jid_number(1))->has_value());
  CHECK(failing.rows() == 0);
}

}  // namespace
}  // namespace rest_fcgi::returner
