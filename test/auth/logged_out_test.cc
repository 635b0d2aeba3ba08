// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/logged_out.h"

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/limit.h"
#include "../support/manual_clock.h"
#include "../support/temp_dir.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::auth {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using test::TempDir;

constexpr std::uintmax_t kSize = std::uintmax_t{32} << 20;

std::shared_ptr<LoggedOut> opened(const std::string& file, const Clock& clock) {
  auto made = LoggedOut::make({file, false}, clock);
  if (!made) FAIL(made.error().message);
  return *made;
}

std::string token(int number) {
  return format("{:064x}", number);
}

bool has(const LoggedOut& table, const std::string& token) {
  const auto found = table.has(SecretView(token));
  REQUIRE(found);
  return *found;
}

}  // namespace

TEST_CASE("a logged-out token is known until it would have expired, and no other one is") {
  test::ManualClock clock;
  const auto table = opened("", clock);
  CHECK_FALSE(has(*table, token(1)));
  REQUIRE(table->add(SecretView(token(1)), clock.wall() + seconds(60)));
  CHECK(has(*table, token(1)));
  CHECK_FALSE(has(*table, token(2)));
  clock.advance(seconds(59));
  CHECK(has(*table, token(1)));
  clock.advance(seconds(2));
  CHECK_FALSE(has(*table, token(1)));
}

TEST_CASE("a token that is logged out twice is known until the later end") {
  test::ManualClock clock;
  const auto table = opened("", clock);
  REQUIRE(table->add(SecretView(token(1)), clock.wall() + seconds(60)));
  REQUIRE(table->add(SecretView(token(1)), clock.wall() + seconds(30)));
  clock.advance(seconds(45));
  CHECK(has(*table, token(1)));
  REQUIRE(table->add(SecretView(token(1)), WallTime::max()));
  clock.advance(hours(24 * 365));
  CHECK(has(*table, token(1)));
}

TEST_CASE("what one process logs out others know at once, and after a restart; the file holds no token") {
  const TempDir dir;
  test::ManualClock clock;
  const std::string file = dir / "state/logged_out";
  const auto one = opened(file, clock);
  const auto other = opened(file, clock);
  REQUIRE(one->add(SecretView(token(7)), clock.wall() + seconds(60)));
  CHECK(has(*other, token(7)));
  CHECK(has(*opened(file, clock), token(7)));
  CHECK(std::filesystem::file_size(file) == kSize);
  struct stat status {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  CHECK(status.st_blocks * 512 < 64 * 1024);
  CHECK(dir.read("state/logged_out").find(token(7)) == std::string::npos);
}

TEST_CASE("100,000 logouts take no more than the table, and places of expired ones are used again") {
  test::ManualClock clock;
  const auto table = opened("", clock);
  const auto log_out = [&](int from, int to) {
    for (int i = from; i < to; ++i) REQUIRE(table->add(SecretView(token(i)), clock.wall() + seconds(60)));
  };
  log_out(0, 100000);
  for (int i = 0; i < 100000; i += 997) CHECK(has(*table, token(i)));
  clock.advance(seconds(61));
  CHECK_FALSE(has(*table, token(0)));
  log_out(100000, 110000);
  CHECK(has(*table, token(100000)));
  CHECK_FALSE(has(*table, token(0)));
}

TEST_CASE("where no place is left a logout fails, and nothing that is remembered goes") {
  const TempDir dir;
  test::ManualClock clock;
  const std::string file = dir / "state/logged_out";
  REQUIRE(opened(file, clock)->add(SecretView(token(1)), clock.wall() + hours(1)));
  {
    std::string full = dir.read("state/logged_out");
    for (std::size_t slot = 0; slot < full.size(); slot += 16) {
      const bool is_free = full.compare(slot, 16, std::string(16, '\0')) == 0;
      if (is_free) full.replace(slot, 16, std::string(16, '\xFF'));
    }
    dir.write("state/logged_out", full);
  }
  const auto table = opened(file, clock);
  const auto refused = table->add(SecretView(token(2)), clock.wall() + hours(1));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::unavailable);
  CHECK(refused.error().message.starts_with("Too many tokens were logged out"));
  CHECK_FALSE(has(*table, token(2)));
  CHECK(has(*table, token(1)));
  CHECK(table->add(SecretView(token(1)), clock.wall() + hours(2)));
}

TEST_CASE("a table that cannot be read lets nobody through, and cannot be added to") {
  const TempDir dir;
  const test::ManualClock clock;
  const auto table = opened(dir / "state/logged_out", clock);
  std::filesystem::resize_file(dir / "state/logged_out", 0);
  const test::CapturedLog log;
  const auto found = table->has(SecretView(token(1)));
  REQUIRE_FALSE(found);
  CHECK(found.error().kind == ErrorKind::internal);
  CHECK(log.has("logged-out tokens cannot be read: the file is cut"));
  CHECK(table->has_ended("pam", "fred", clock.wall()).error().kind == ErrorKind::internal);
  CHECK(table->add(SecretView(token(1)), clock.wall() + hours(1)).error().kind == ErrorKind::unavailable);
}

TEST_CASE("without room for a table there is none, and without room in one a logout fails") {
  const TempDir dir;
  const test::ManualClock clock;
  const auto table = opened(dir / "state/logged_out", clock);
  const test::CapturedLog log;
  const auto previous = ::signal(SIGXFSZ, SIG_IGN);
  const test::Limit small_files(RLIMIT_FSIZE, 1 << 20);
  const auto added = table->add(SecretView(token(1)), clock.wall() + hours(1));
  const auto other = LoggedOut::make({dir / "state/other", false}, clock);
  const auto alone = LoggedOut::make({}, clock);
  ::signal(SIGXFSZ, previous);
  CHECK(added.error().message == "The logout cannot be remembered; the log has the cause.");
  CHECK(log.has("logged-out tokens cannot be written: File too large"));
  CHECK(other.error().message ==
        "logged_out_file: " + dir / "state/other" + " cannot be made: File too large");
  CHECK(alone.error().message == "no memory for logged-out tokens: File too large");
}

TEST_CASE("threads that log out at the same time lose nothing") {
  const TempDir dir;
  const test::ManualClock clock;
  const auto table = opened(dir / "state/logged_out", clock);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 50; ++i) {
        static_cast<void>(table->add(SecretView(token(thread * 1000 + i)), clock.wall() + hours(1)));
      }
    });
  }
  threads.clear();
  for (int thread = 0; thread < 4; ++thread) {
    for (int i = 0; i < 50; ++i) CHECK(has(*table, token(thread * 1000 + i)));
  }
}

TEST_CASE(
    "a file that cannot be used is a mistake where it was chosen, and else the log says what that means") {
  const TempDir dir;
  const test::ManualClock clock;
  std::filesystem::create_directory(dir / "state");
  std::filesystem::permissions(dir / "state", std::filesystem::perms(0700));
  dir.write("state/short", "abc");
  dir.write("state/shared", "");
  ::chmod((dir / "state/shared").c_str(), 0660);
  std::filesystem::create_symlink("short", dir / "state/link");
  REQUIRE(::mkfifo((dir / "state/pipe").c_str(), 0600) == 0);
  std::filesystem::create_directory(dir / "open");
  std::filesystem::permissions(dir / "open", std::filesystem::perms(0777));
  for (const std::pair<std::string, std::string>& row : std::vector<std::pair<std::string, std::string>>{
           {"state/short", "has 3 bytes; a table of logged-out tokens has 33554432"},
           {"state/shared", "/state/shared "},
           {"state/link", "cannot be opened: Too many levels of symbolic links"},
           {"state/.", "cannot be opened: "},
           {"state/pipe", "is no regular file"},
           {"open/logged_out", "/open "}}) {
    const std::string& name = row.first;
    const std::string& why = row.second;
    CAPTURE(name);
    const auto refused = LoggedOut::make({dir / name, false}, clock);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::configuration);
    CAPTURE(refused.error().message);
    CHECK(refused.error().message.starts_with("logged_out_file: " + dir.path().string()));
    CHECK(refused.error().message.find(why) != std::string::npos);
    const test::CapturedLog log;
    const auto alone = LoggedOut::make({dir / name, true}, clock);
    REQUIRE(alone);
    CHECK(log.has("tokens that are logged out are remembered by this process alone, until it ends"));
    REQUIRE((*alone)->add(SecretView(token(1)), clock.wall() + hours(1)));
    CHECK(has(**alone, token(1)));
  }
}

namespace {

bool has_ended(LoggedOut& table, std::string_view eauth, std::string_view name, WallTime start) {
  const auto found = table.has_ended(eauth, name, start);
  REQUIRE(found);
  return *found;
}

}  // namespace

TEST_CASE("all tokens of a user that were made until now end, in all processes, and after a restart") {
  const TempDir dir;
  test::ManualClock clock;
  const std::string file = dir / "state/logged_out";
  const auto one = opened(file, clock);
  const auto other = opened(file, clock);
  const WallTime before = clock.wall();
  REQUIRE(one->end_all("pam", "fred", clock.wall()));
  REQUIRE(one->end_all("", "ann", clock.wall()));
  clock.advance(seconds(2));
  for (const auto& table : {one, other, opened(file, clock)}) {
    CHECK(has_ended(*table, "pam", "fred", before));
    CHECK_FALSE(has_ended(*table, "pam", "fred", clock.wall()));
    CHECK_FALSE(has_ended(*table, "file", "fred", before));
    CHECK(has_ended(*table, "file", "ann", before));
    CHECK(has_ended(*table, "pam", "ann", before));
    CHECK_FALSE(has_ended(*table, "pam", "an", before));
  }
  clock.advance(hours(399 * 24));
  CHECK(has_ended(*one, "pam", "fred", before));
  REQUIRE(one->end_all("pam", "fred", clock.wall()));
  CHECK(has_ended(*other, "pam", "fred", clock.wall() - seconds(1)));
}

TEST_CASE("what was logged out is known again when a clock that was ahead is set back") {
  test::ManualClock clock;
  const auto table = opened("", clock);
  REQUIRE(table->add(SecretView(token(0)), clock.wall() + seconds(60)));
  clock.advance(hours(1));
  for (int i = 1; i < 100'000; ++i) {  // three for each place that a token may be in
    REQUIRE(table->add(SecretView(token(i)), clock.wall() + hours(1)));
  }
  clock.set_back(hours(1));
  CHECK(has(*table, token(0)));
}

TEST_CASE("the tokens of one user may be ended ever so often, and stay so") {
  test::ManualClock clock;
  const auto table = opened("", clock);
  const WallTime first = clock.wall();
  for (int i = 0; i < 200; ++i) {
    REQUIRE(table->end_all("pam", "fred", clock.wall()));
    CHECK(has_ended(*table, "pam", "fred", first));
    CHECK(has_ended(*table, "pam", "fred", clock.wall()));
    clock.advance(seconds(1));
    CHECK_FALSE(has_ended(*table, "pam", "fred", clock.wall()));
  }
}

TEST_CASE("tokens that were made before the clock was set back end with all others") {
  test::ManualClock clock;
  const auto table = opened("", clock);
  const WallTime before = clock.wall();
  clock.set_back(hours(1));
  REQUIRE(table->end_all("pam", "fred", before));
  REQUIRE(table->end_all("pam", "fred", clock.wall()));  // says less
  CHECK(has_ended(*table, "pam", "fred", before));
  clock.advance(hours(1));
  CHECK(has_ended(*table, "pam", "fred", before));
  CHECK_FALSE(has_ended(*table, "pam", "fred", clock.wall() + seconds(1)));
  const WallTime days_ahead = clock.wall() + hours(30);
  CHECK(has_ended(*table, "pam", "fred", days_ahead));
  CHECK_FALSE(has_ended(*table, "pam", "ann", days_ahead));
}

TEST_CASE("what a clock ended that was years ahead stays ended, and what is made then is good") {
  constexpr hours kYears(24 * 3650);
  for (const bool was_ended_before : {false, true}) {
    CAPTURE(was_ended_before);
    test::ManualClock clock;
    const auto table = opened("", clock);
    const WallTime before = clock.wall();
    if (was_ended_before) REQUIRE(table->end_all("", "fred", clock.wall()));
    clock.set_back(-kYears);
    const WallTime then = clock.wall();
    REQUIRE(table->end_all("", "fred", clock.wall()));
    clock.set_back(kYears);
    clock.advance(seconds(1));
    CHECK(has_ended(*table, "pam", "fred", clock.wall()));
    CHECK(has_ended(*table, "pam", "fred", before));
    CHECK(has_ended(*table, "pam", "fred", then));
    clock.advance(seconds(2));
    CHECK_FALSE(has_ended(*table, "pam", "fred", clock.wall()));
    CHECK(has_ended(*table, "pam", "fred", before));
  }
}

}  // namespace rest_fcgi::auth
