// SPDX-License-Identifier: MIT
#include "rest_fcgi/master/jid.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/fork_alone.h"
#include "rest_fcgi/core/format.h"

using namespace rest_fcgi;
using namespace rest_fcgi::master;

namespace {

/// A clock that stands where it is put.
class HandClock : public Clock {
 public:
  [[nodiscard]] WallTime wall() const override { return now; }
  [[nodiscard]] SteadyTime steady() const override { return {}; }
  WallTime now{};
};

/// A shared number of this test's own, gone with it.
struct SharedName {
  std::string name = format("/rest_fcgi-jid-test-{}", ::getpid());
  ~SharedName() { ::shm_unlink(name.c_str()); }
};

bool all_different(std::vector<std::string> jids) {
  std::sort(jids.begin(), jids.end());
  return std::adjacent_find(jids.begin(), jids.end()) == jids.end();
}

std::vector<std::string> many(JidSource& source, int count) {
  std::vector<std::string> jids;
  for (int i = 0; i < count; ++i) jids.push_back(source.next());
  return jids;
}

}  // namespace

TEST_CASE("a jid is its time in UTC, in 20 digits") {
  const WallTime time = std::chrono::sys_days(std::chrono::year(2026) / 1 / 2) + std::chrono::microseconds(3);
  CHECK(jid_at(time) == "20260102000000000003");
  CHECK(jid_time("20260102000000000003") == time);
}

TEST_CASE("a text that is no jid has no time") {
  for (const char* text :
       {"", "2026010200000000000", "202601020000000000033", "2026010200000000000x", "20261302000000000003",
        "20260230000000000003", "20260102240000000003", "20260102006000000003", "20260102000060000003"}) {
    CAPTURE(text);
    CHECK_FALSE(jid_time(text).has_value());
    CHECK(jid_start_time(text).empty());
  }
}

TEST_CASE("a jid's start time and a stamp read as Salt writes them") {
  CHECK(jid_start_time("20261120230610043746") == "2026, Nov 20 23:06:10.043746");
  CHECK(iso_stamp(*jid_time("20261120230617380290")) == "2026-11-20T23:06:17.380290");
}

TEST_CASE("jids from many threads are all different") {
  const SharedName shared;
  JidSource source(system_clock(), shared.name);
  std::vector<std::vector<std::string>> parts(8);
  std::vector<std::thread> threads;
  for (auto& part : parts) threads.emplace_back([&] { part = many(source, 100'000); });
  for (auto& thread : threads) thread.join();
  std::vector<std::string> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  CHECK(all_different(all));
  CHECK(std::all_of(all.begin(), all.end(), [](const std::string& jid) { return jid.size() == 20; }));
}

TEST_CASE("jids from many processes are all different") {
  const SharedName shared;
  constexpr int kProcesses = 4;
  constexpr int kEach = 20'000;
  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  std::cout.flush();  // or each child may write again what is buffered
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = test::fork_alone();
    REQUIRE(child >= 0);
    if (child == 0) {
      JidSource source(system_clock(), shared.name);
      bool fine = true;
      for (const std::string& jid : many(source, kEach)) fine &= ::write(pipe_ends[1], jid.data(), 20) == 20;
      ::_exit(fine ? 0 : 1);
    }
    children.push_back(child);
  }
  ::close(pipe_ends[1]);
  std::string text;
  char buffer[65536];
  for (ssize_t n = 0; (n = ::read(pipe_ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(pipe_ends[0]);
  for (const pid_t child : children) {
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  std::vector<std::string> all;
  for (std::size_t at = 0; at < text.size(); at += 20) all.push_back(text.substr(at, 20));
  CHECK(all.size() == kProcesses * kEach);
  CHECK(all_different(all));
}

TEST_CASE("a process that comes later goes on where the one before ended, whatever its clock says") {
  const SharedName shared;
  HandClock clock;
  clock.now = *jid_time("20260102030405000010");
  CHECK(JidSource(clock, shared.name).next() == "20260102030405000010");
  clock.now -= std::chrono::minutes(1);
  CHECK(JidSource(clock, shared.name).next() == "20260102030405000011");
}

TEST_CASE("a jid is never behind the clock, and not ahead where nothing was given out") {
  const SharedName shared;
  HandClock clock;
  JidSource source(clock, shared.name);
  clock.now = *jid_time("20260102030405000010");
  CHECK(source.next() == "20260102030405000010");
  CHECK(source.next() == "20260102030405000011");
  clock.now += std::chrono::seconds(1);
  CHECK(source.next() == "20260102030406000010");
}

TEST_CASE("hosts that have shares of their own never make the same jid") {
  HandClock clock;
  clock.now = *jid_time("20260102030405000010");
  const SharedName shared;
  const test::CapturedLog log;  // another host's number is not this one's
  JidSource first(clock, shared.name, {64, 0});
  JidSource second(clock, "/no/such/name", {64, 63});
  CHECK(jid_time(first.next())->time_since_epoch().count() % 64 == 0);
  CHECK(jid_time(second.next())->time_since_epoch().count() % 64 == 63);
  std::vector<std::string> jids;
  for (int i = 0; i < 1000; ++i) {
    jids.push_back(first.next());
    jids.push_back(second.next());
    CHECK(jids[jids.size() - 2] > (i == 0 ? "" : jids[jids.size() - 4]));
  }
  CHECK(all_different(jids));
}

TEST_CASE("jids follow a clock that is set back by more than an hour") {
  const SharedName shared;
  HandClock clock;
  JidSource source(clock, shared.name);
  clock.now = *jid_time("20260102030405000010");
  (void)source.next();
  clock.now -= std::chrono::hours(2);
  CHECK(source.next() == "20260102010405000010");
}

TEST_CASE("without shared memory, jids are still all different in one process, and the log has a warning") {
  const test::CapturedLog log;
  JidSource source(system_clock(), "/no/such/name");
  CHECK(all_different(many(source, 10'000)));
  CHECK(log.has("jids are unique in this process only: cannot use the shared memory /no/such/name"));
}
