// SPDX-License-Identifier: MIT
#include "auth/guard_table.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/fork_alone.h"
#include "../support/limit.h"
#include "../support/manual_clock.h"
#include "../support/temp_dir.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::auth {
namespace {

namespace fs = std::filesystem;

/// Why a file is not used.
std::string refusal(const std::string& path) {
  const auto memory = GuardMemory::shared(path);
  REQUIRE_FALSE(memory);
  CHECK(memory.error().kind == ErrorKind::configuration);
  return memory.error().message;
}

using std::chrono::seconds;

constexpr GuardTable::Limit kLimit{3, seconds(60), seconds(300)};
constexpr GuardTable::Limit kHigh{4000, seconds(60), seconds(300)};

/// A table in memory of its own, and a clock.
struct Table {
  GuardMemory memory = [] {
    auto made = GuardMemory::alone();
    REQUIRE(made);
    return *std::move(made);
  }();
  GuardTable table{memory.words().slots};
  test::ManualClock clock;

  unsigned add(GuardTable::Key key, const GuardTable::Limit& limit = kLimit) {
    return table.add(key, limit, clock.wall()).failures;
  }
  [[nodiscard]] GuardTable::Count find(GuardTable::Key key) const {
    return table.find(key, kLimit, clock.wall());
  }
};

/// Different keys that share their slots with key 0.
GuardTable::Key neighbour(std::uint64_t n) {
  return n << 37;
}

}  // namespace

TEST_CASE("an IPv4 address stands for itself, however it is written") {
  CHECK(network_of("192.0.2.7") == network_of("::ffff:192.0.2.7"));
  CHECK(network_of("192.0.2.7") != network_of("192.0.2.8"));
}

TEST_CASE("an IPv6 address stands for its network of 64 bits") {
  CHECK(network_of("2001:db8:1:2::7") == network_of("2001:db8:1:2:ffff::8"));
  CHECK(network_of("2001:db8:1:2::7") != network_of("2001:db8:1:3::7"));
}

TEST_CASE("what a NAT64 makes of an IPv4 address is that address, and no network of others") {
  CHECK(network_of("64:ff9b::192.0.2.7") == network_of("192.0.2.7"));
  CHECK(network_of("64:ff9b::192.0.2.8") != network_of("192.0.2.7"));
  CHECK(network_of("64:ff9b:1::192.0.2.7") != network_of("192.0.2.7"));
}

TEST_CASE("an IPv6 address has a network of 48 bits, and nothing else has one") {
  CHECK(site_of("2001:db8:1:2::7") == site_of("2001:db8:1:ffff::8"));
  CHECK(site_of("2001:db8:1:2::7") != site_of("2001:db8:2:2::7"));
  for (const std::string_view remote :
       {"192.0.2.7", "::ffff:192.0.2.7", "64:ff9b::192.0.2.7", "16 bytes of text", ""}) {
    CHECK(site_of(remote).empty());
  }
}

TEST_CASE("what is no address stands for itself") {
  CHECK(network_of("").empty());
  CHECK(network_of("unix:") == "unix:");
  CHECK(network_of("192.0.2.7 ") != network_of("192.0.2.7"));
}

TEST_CASE("memory of a process alone is empty, with a key of its own") {
  const auto one = GuardMemory::alone();
  const auto other = GuardMemory::alone();
  REQUIRE(one);
  REQUIRE(other);
  CHECK(one->words().slots[0] == 0);
  CHECK(one->words().active_until == 0);
  CHECK(one->digest().of("fred") != other->digest().of("fred"));
}

TEST_CASE("a shared file is made for its owner alone, and found again as it was") {
  const test::TempDir dir;
  const std::string path = dir / "guard";
  const auto one = GuardMemory::shared(path);
  REQUIRE(one);
  CHECK((fs::status(path).permissions() & fs::perms::all) ==
        (fs::perms::owner_read | fs::perms::owner_write));
  one->words().slots[5] = 42;
  const auto other = GuardMemory::shared(path);
  REQUIRE(other);
  CHECK(other->words().slots[5] == 42);
  CHECK(other->digest().of("fred") == one->digest().of("fred"));
}

TEST_CASE("a file that a process was killed over before it was whole is made whole") {
  const test::TempDir dir;
  fs::permissions(dir.write("guard", ""), fs::perms::owner_read | fs::perms::owner_write);
  const auto memory = GuardMemory::shared(dir / "guard");
  REQUIRE(memory);
  CHECK(memory->words().magic != 0);
  CHECK(memory->words().hash_key[0] != 0);
}

TEST_CASE("a file that others could use, or that is something else, is not used, and the message says why") {
  const test::TempDir dir;
  const std::string open = dir.write("open", "");
  fs::permissions(open, fs::perms(0644));
  CHECK(refusal(open) ==
        "login_guard: file: " + open + " has mode 0644, so that others could use it; 0600 is right");
  const std::string other = dir.write("other", "something else");
  fs::permissions(other, fs::perms(0600));
  CHECK(refusal(other).ends_with("has 14 bytes, and is no table of failed logins of this version"));
  fs::create_hard_link(dir.write("linked", ""), dir / "link");
  fs::permissions(dir / "link", fs::perms(0600));
  CHECK(refusal(dir / "link").ends_with("has another name, too: it is a hard link"));
  fs::create_symlink(dir / "target", dir / "symlink");
  CHECK(refusal(dir / "symlink").ends_with("cannot be opened: Too many levels of symbolic links"));
  REQUIRE(::mkfifo((dir / "fifo").c_str(), 0600) == 0);
  CHECK(refusal(dir / "fifo").ends_with("is no regular file"));
  CHECK(refusal(dir / "nosuch/guard").ends_with("cannot be opened: No such file or directory"));
}

TEST_CASE("a file in a folder of our own is made with its folder, which nobody else may have") {
  const test::TempDir dir;
  const std::string path = dir / "state/failed_logins";
  REQUIRE(GuardMemory::shared(path, GuardMemory::Folder::own));
  CHECK((fs::status(dir / "state").permissions() & fs::perms::all) == fs::perms::owner_all);
  fs::permissions(dir / "state", fs::perms(0777));
  const auto memory = GuardMemory::shared(path, GuardMemory::Folder::own);
  REQUIRE_FALSE(memory);
  CHECK(memory.error().message ==
        "login_guard: file: " + (dir / "state") +
            " has mode 0777, so that others could put files into it; 0700 is right");
}

TEST_CASE("a table of another version, or one that was cut, gives way to a new one, and the log says so") {
  const test::TempDir dir;
  const std::string path = dir / "guard";
  const auto old = GuardMemory::shared(path);
  REQUIRE(old);
  old->words().slots[5] = 42;
  const std::string whole = dir.read("guard");
  std::string other_version = whole;
  other_version[7] = '2';
  for (const std::string& found : {other_version, whole.substr(0, 4096), whole + "more"}) {
    fs::remove(path);
    fs::permissions(dir.write("guard", found), fs::perms(0600));
    const test::CapturedLog log;
    const auto memory = GuardMemory::shared(path);
    REQUIRE(memory);
    CHECK(log.has(
        format("{} has {} bytes, and is no table of failed logins of this version: a new one takes its "
               "place",
               path, found.size())));
    CHECK(memory->words().slots[5] == 0);
    CHECK(fs::file_size(path) == whole.size());
    CHECK(GuardMemory::shared(path)->digest().of("fred") == memory->digest().of("fred"));
  }
  CHECK(old->words().slots[5] == 42);  // what was mapped stays so
}

TEST_CASE("whatever lies in our own folder in the table's place gives way to it") {
  const test::TempDir dir;
  const std::string path = dir / "state/failed_logins";
  fs::create_directory(dir / "state");
  fs::permissions(dir / "state", fs::perms::owner_all);
  for (const std::string& found : {std::string("something else"), std::string(sizeof(GuardWords), 'x')}) {
    fs::remove(path);
    fs::permissions(dir.write("state/failed_logins", found), fs::perms(0600));
    const test::CapturedLog log;
    CHECK(GuardMemory::shared(path, GuardMemory::Folder::own));
    CHECK(log.has(format("has {} bytes", found.size())));
    fs::permissions(dir.write("chosen", found), fs::perms(0600));
    CHECK(refusal(dir / "chosen").ends_with("and is no table of failed logins of this version"));
    CHECK(dir.read("chosen") == found);
  }
}

TEST_CASE("a file of somebody else is not used" * doctest::skip(::geteuid() != 0)) {
  const test::TempDir dir;
  const std::string path = dir.write("guard", "");
  fs::permissions(path, fs::perms(0600));
  REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
  CHECK(refusal(path).ends_with("belongs to user id 65534, not to this process's 0"));
}

TEST_CASE("a table that may not be replaced is not used" * doctest::skip(::geteuid() != 0)) {
  const test::TempDir dir;
  fs::permissions(dir.path(), fs::perms(0755));
  const std::string path = dir / "guard";
  REQUIRE(GuardMemory::shared(path));
  std::string other_version = dir.read("guard");
  other_version[7] = '2';
  dir.write("guard", other_version);
  REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
  const test::CapturedLog log;
  std::string why;
  // As system calls without glibc's help have it, this thread alone is somebody else.
  std::thread([&] {
    CHECK(::syscall(SYS_setresuid, -1, 65534, -1) == 0);
    why = refusal(path);
  }).join();
  CHECK(why.ends_with("cannot be replaced: Permission denied"));
  CHECK(dir.read("guard") == other_version);
}

TEST_CASE("without room for a whole table there is none") {
  const test::TempDir dir;
  const auto previous = ::signal(SIGXFSZ, SIG_IGN);
  const test::Limit small_files(RLIMIT_FSIZE, 4096);
  const std::string why = refusal(dir / "guard");
  ::signal(SIGXFSZ, previous);
  CHECK(why.ends_with("cannot be made: File too large"));
}

TEST_CASE("failures are counted by key, and the one that reaches the limit refuses it") {
  Table t;
  CHECK(t.find(7).failures == 0);
  CHECK(t.add(7) == 1);
  CHECK(t.add(7) == 2);
  CHECK(t.find(7).refused_for == seconds(0));
  CHECK(t.add(7) == 3);
  CHECK(t.find(7).refused_for == seconds(300));
  CHECK(t.find(8).failures == 0);
}

TEST_CASE("a key that is refused is so for its time, whatever else fails, and is then forgotten") {
  Table t;
  for (int i = 0; i < 3; ++i) t.add(7);
  t.clock.advance(seconds(299));
  CHECK(t.add(7) == 3);
  CHECK(t.find(7).refused_for == seconds(1));
  t.clock.advance(seconds(1));
  CHECK(t.find(7).failures == 0);
  CHECK(t.add(7) == 1);
}

TEST_CASE("failures that did not reach the limit are forgotten after the window") {
  Table t;
  t.add(7);
  t.clock.advance(seconds(59));
  CHECK(t.add(7) == 2);
  t.clock.advance(seconds(1));
  CHECK(t.find(7).failures == 0);
  CHECK(t.add(7) == 1);
}

TEST_CASE("a key can be forgotten") {
  Table t;
  for (int i = 0; i < 3; ++i) t.add(7);
  t.table.forget(7);
  CHECK(t.find(7).failures == 0);
  t.table.forget(7);
  CHECK(t.add(7) == 1);
}

TEST_CASE("a clock that is set back a little changes nothing, one that is set back far forgets") {
  Table t;
  for (int i = 0; i < 3; ++i) t.add(7);
  t.clock.advance(seconds(-30));
  CHECK(t.find(7).refused_for == seconds(300));
  t.clock.advance(seconds(-3600));
  CHECK(t.find(7).failures == 0);
}

TEST_CASE("a flood of keys does not wash away the one that was tried most, nor one that is refused") {
  Table t;
  for (int i = 0; i < 2; ++i) t.add(neighbour(1));
  for (int i = 0; i < 3; ++i) t.add(neighbour(2));
  for (std::uint64_t n = 3; n < 1000; ++n) t.add(neighbour(n));
  CHECK(t.find(neighbour(1)).failures == 2);
  CHECK(t.find(neighbour(2)).refused_for > seconds(0));
  CHECK(t.find(neighbour(999)).failures == 1);
  CHECK(t.find(neighbour(3)).failures == 0);
}

TEST_CASE("the failures of 10,000 users at 10,000 addresses are all counted") {
  Table t;
  const auto key = [&](std::string_view what, int n) {
    return GuardTable::Key{DigestHash()(t.memory.digest().of(what, std::to_string(n)))};
  };
  constexpr int kMany = 10000;
  for (const std::string_view what : {"user", "address"}) {
    for (int n = 0; n < kMany; ++n) {
      for (int failures = 0; failures < 2; ++failures) t.add(key(what, n));
    }
  }
  int right = 0;
  for (const std::string_view what : {"user", "address"}) {
    for (int n = 0; n < kMany; ++n) right += t.find(key(what, n)).failures == 2 ? 1 : 0;
  }
  CHECK(right >= 2 * kMany * 999 / 1000);
}

TEST_CASE("an entry whose time is over makes room first") {
  Table t;
  for (std::uint64_t n = 1; n < GuardTable::kWays; ++n) t.add(neighbour(n));
  for (int i = 0; i < 2; ++i) t.add(neighbour(50));
  t.clock.advance(seconds(60));
  for (std::uint64_t n = 100; n < 100 + GuardTable::kWays; ++n) t.add(neighbour(n));
  for (std::uint64_t n = 100; n < 100 + GuardTable::kWays; ++n) CHECK(t.find(neighbour(n)).failures == 1);
}

TEST_CASE("a count has an end") {
  Table t;
  for (int i = 0; i < 5000; ++i) t.table.add(7, {10000, seconds(60), seconds(60)}, t.clock.wall());
  CHECK(t.find(7).failures == GuardTable::kMostFailures);
}

TEST_CASE("threads that count at once lose nothing") {
  Table t;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 500; ++n) t.add(7, kHigh);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(t.find(7).failures == 2000);
}

TEST_CASE("processes share one table, and one that is killed while it writes leaves it whole") {
  const test::TempDir dir;
  const std::string path = dir / "guard";
  const auto open = [&] {
    auto memory = GuardMemory::shared(path);
    REQUIRE(memory);
    return *std::move(memory);
  };
  const GuardMemory memory = open();
  GuardTable table(memory.words().slots);
  const test::ManualClock clock;
  const auto keep_adding = [&](GuardTable::Key key, int times) {
    const pid_t child = test::fork_alone();
    if (child != 0) return child;
    for (int n = 0; times < 0 || n < times; ++n) table.add(key, kHigh, clock.wall());
    ::_exit(0);
  };
  const pid_t endless = keep_adding(neighbour(1), -1);
  const pid_t bounded = keep_adding(neighbour(2), 500);
  for (int n = 0; n < 500; ++n) table.add(neighbour(2), kHigh, clock.wall());
  while (table.find(neighbour(1), kHigh, clock.wall()).failures == 0) std::this_thread::yield();
  REQUIRE(::kill(endless, SIGKILL) == 0);
  REQUIRE(::waitpid(endless, nullptr, 0) == endless);
  REQUIRE(::waitpid(bounded, nullptr, 0) == bounded);
  CHECK(table.find(neighbour(2), kHigh, clock.wall()).failures == 1000);
  CHECK(table.find(neighbour(1), kHigh, clock.wall()).failures > 0);
  const GuardMemory again = open();
  CHECK(again.digest().of("fred") == memory.digest().of("fred"));
  CHECK(GuardTable(again.words().slots).find(neighbour(2), kHigh, clock.wall()).failures == 1000);
}

}  // namespace rest_fcgi::auth
