// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/eventually.h"
#include "../support/manual_clock.h"
#include "etcd_caches.h"
#include "heard.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/etcd/client.h"

namespace rest_fcgi::returner {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using Lines = Heard::Lines;

struct Host {
  explicit Host(Options given) : options(std::move(given)) {
    cache = open_etcd(options, clock);
    auto made = cache->watch(heard);
    REQUIRE_MESSAGE(made.ok(), made.error().message);
    watch = *std::move(made);
    REQUIRE(watch != nullptr);
  }
  void start() const {
    const Result<void> started = watch->start(watch_deadline());
    REQUIRE_MESSAGE(started.ok(), started.error().message);
  }
  void run(int number, const std::string& minion = "ms-0") const {
    REQUIRE(cache->save_load(load_of(jid_number(number)), Durability::committed));
    REQUIRE(cache->returner(jid_number(number), return_of(minion, "x")));
  }

  test::ManualClock clock;
  Options options;
  Heard heard;
  std::unique_ptr<Returner> cache;
  std::unique_ptr<Watch> watch;
};

Options shared_options(const std::vector<std::string>& urls) {
  return real_options(urls, false);
}

std::string job_line(int number) {
  return "job " + jid_number(number) + " \"test.ping\" fred";
}
std::string ret_line(int number) {
  return "ret " + jid_number(number) + " \"test.ping\" fred ms-0 \"x\"";
}

std::string line(Heard& heard, std::size_t count) {
  const Lines lines = heard.lines(count);
  return lines.size() == count ? lines.back() : format("{} lines", lines.size());
}

void check_all(Heard& heard, int count) {
  const Lines lines = heard.lines(static_cast<std::size_t>(2 * count), seconds(60));
  CHECK(lines.size() == static_cast<std::size_t>(2 * count));
  const std::set<std::string> different(lines.begin(), lines.end());
  CHECK(different.size() == lines.size());
  for (int number = 0; number < count; ++number) {
    const auto job = std::find(lines.begin(), lines.end(), job_line(number));
    REQUIRE(job != lines.end());
    REQUIRE(std::find(job, lines.end(), ret_line(number)) != lines.end());
  }
}

}  // namespace

TEST_CASE("all hosts get jobs and returns of one host, in order and once") {
  if (test::no_etcd()) return;
  const Options options = shared_options(shared_etcd().urls());
  const Host one(options);
  Host two(options);
  Host three(options);
  one.run(1000);  // This job runs before the listeners of `two` and `three` start.
  REQUIRE(one.cache->get_jid(kJid));
  two.start();
  three.start();
  for (int number = 0; number < 100; ++number) one.run(number);
  check_all(two.heard, 100);
  check_all(three.heard, 100);
  // `save_minions` of a known job is no event. A return of a job from before `start` is an event, with the
  // load of the job.
  REQUIRE(one.cache->save_minions(jid_number(3), {"m1", "m2"}));
  REQUIRE(one.cache->returner(jid_number(1000), return_of("m7", "y")));
  CHECK(line(two.heard, 201) == "ret " + jid_number(1000) + " \"test.ping\" fred m7 \"y\"");
  CHECK(two.heard.lines(202, milliseconds(300)).size() == 201);
}

TEST_CASE("a started watch misses nothing, and ends when the listener wants no more") {
  if (test::no_etcd()) return;
  const Options options = shared_options(shared_etcd().urls());
  const Host writer(options);
  for (int turn = 0; turn < 2; ++turn) {
    Host host(options);
    host.start();
    host.start();
    writer.run(turn);
    REQUIRE(host.heard.lines(2) == Lines{job_line(turn), ret_line(turn)});
    const auto before = steady_clock::now();
    host.watch.reset();
    CHECK(steady_clock::now() - before < seconds(15));
  }
  Host host(options);
  host.start();
  host.heard.is_wanted = false;
  std::this_thread::sleep_for(milliseconds(4000));
  writer.run(10);
  REQUIRE(writer.cache->get_jid(kJid));
  CHECK(host.heard.lines(1, milliseconds(500)).empty());
  host.heard.is_wanted = true;
  host.start();
  writer.run(11);
  CHECK(host.heard.lines(2) == Lines{job_line(11), ret_line(11)});
}

TEST_CASE("an event goes to all other listeners once") {
  if (test::no_etcd()) return;
  const Options options = shared_options(shared_etcd().urls());
  Host one(options);
  Host two(options);
  const auto keys = [&options] {
    const std::string prefix = options.etcd.root + "/events/";
    const auto client = *etcd::Client::make(options.etcd.reading);
    return client->range({.key = prefix, .range_end = etcd::prefix_end(prefix)}, watch_deadline())
        ->kvs.size();
  };
  // Without a listener on another host, the watch writes no events to etcd.
  one.start();
  one.watch->publish("nobody/hears", Json::trusted(R"({"a": 1})"), "");
  std::this_thread::sleep_for(milliseconds(1000));
  CHECK(keys() == 0);
  two.start();
  std::this_thread::sleep_for(milliseconds(1200));
  Lines expected;
  for (int number = 0; number < 300; ++number) {
    const std::string data = R"({"n": )" + std::to_string(number) + "}";
    one.watch->publish("salt/auth", Json::trusted(data), "fr\"ed");
    expected.push_back("event salt/auth " + data + " fr\"ed");
  }
  CHECK(two.heard.lines(300) == expected);
  CHECK(keys() == 1);
  CHECK(two.heard.lines(301, milliseconds(300)).size() == 300);
  CHECK(one.heard.lines(1, milliseconds(0)).empty());
}

TEST_CASE("an event that is too large is reported as lost, and later events come") {
  if (test::no_etcd()) return;
  const Options options = shared_options(shared_etcd().urls());
  const Host one(options);
  Host two(options);
  two.start();
  one.watch->publish("large", Json::trusted(R"({"a": ")" + std::string(2'000'000, 'x') + "\"}"), "");
  CHECK(line(two.heard, 1).starts_with("lost another host lost an event"));
  one.watch->publish("small", Json::empty_object(), "");
  CHECK(line(two.heard, 2) == "event small {} ");
}

TEST_CASE("events beyond the queue are reported as lost when etcd is back") {
  if (test::no_etcd()) return;
  test::EtcdCluster cluster;
  const Options options = shared_options(cluster.urls());
  const Host one(options);
  Host two(options);
  two.start();
  cluster.kill(0);
  // While etcd is away, one event is in the batch and one in the queue. The queue cannot hold a second one.
  for (int i = 0; i < 3; ++i)
    one.watch->publish("many", Json::trusted(R"({"a": ")" + std::string(1'000'000, 'x') + "\"}"), "");
  cluster.restart(0);
  CHECK(test::eventually([&] { return two.heard.count("lost another host lost an event") >= 1; }));
}

TEST_CASE("a return that etcd refuses is reported as lost on all hosts") {
  if (test::no_etcd()) return;
  const test::CapturedLog log;
  Options options = shared_options(shared_etcd().urls());
  Host one(options);
  Host two(options);
  one.start();
  two.start();
  one.run(0);
  REQUIRE(one.cache->returner(jid_number(0), return_of("large", std::string(3'000'000, 'x'))));
  for (Host* host : {&one, &two}) {
    CHECK(test::eventually([&] { return host->heard.count("lost") >= 1; }));
    CHECK(test::eventually([&] { return host->heard.count("ret") == 1; }));
  }
}

TEST_CASE("nothing is lost when the only member restarts") {
  if (test::no_etcd()) return;
  test::EtcdCluster cluster;
  const test::CapturedLog log;
  const Options options = shared_options(cluster.urls());
  Host one(options);
  Host two(options);
  two.start();
  one.run(0);
  REQUIRE(two.heard.lines(2).size() == 2);
  cluster.kill(0);
  one.run(1);
  one.watch->publish("while/away", Json::empty_object(), "");
  CHECK(test::eventually([&] { return log.has("the watch failed: "); }));
  cluster.restart(0);
  one.run(2);
  Lines lines = two.heard.lines(7);
  std::sort(lines.begin(), lines.end());
  Lines expected{job_line(0), ret_line(0), job_line(1),           ret_line(1),
                 job_line(2), ret_line(2), "event while/away {} "};
  std::sort(expected.begin(), expected.end());
  CHECK(lines == expected);
  CHECK(log.has("the watch works again"));
}

}  // namespace rest_fcgi::returner
