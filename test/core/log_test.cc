// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../support/temp_dir.h"

namespace log = rest_fcgi::log;

namespace {

/// A temporary folder with a log file. The destructor sets logging back to standard error.
class LogFolder : public rest_fcgi::test::TempDir {
 public:
  ~LogFolder() { static_cast<void>(log::open({})); }
};

}  // namespace

TEST_CASE("the log has one line for each entry at or above its level") {
  const LogFolder folder;
  REQUIRE(log::open({.level = log::Level::warning, .file = folder / "log"}));
  log::info("too quiet");
  log::warning("first");
  log::error("second");
  const std::string text = folder.read("log");
  CHECK(text.find("too quiet") == std::string::npos);
  CHECK(text.find("Z warning first\n") != std::string::npos);
  CHECK(text.find("Z error second\n") != std::string::npos);
}

TEST_CASE("line feeds in a message are escaped") {
  const LogFolder folder;
  REQUIRE(log::open({.level = log::Level::debug, .file = folder / "log"}));
  log::debug("user a\nb\x1b[31m");
  CHECK(folder.read("log").find("user a\\u000ab\\u001b[31m\n") != std::string::npos);
}

TEST_CASE("Unicode line ends and direction marks in a message are escaped") {
  const LogFolder folder;
  REQUIRE(log::open({.level = log::Level::debug, .file = folder / "log"}));
  log::audit("\xC2\x85|\xC2\x9B|\xE2\x80\xA8|\xE2\x80\xAE|\xEF\xBB\xBF|\xC3\xA9\xF0\x9F\x98\x80|\xFF");
  CHECK(folder.read("log") == "\\u0085|\\u009b|\\u2028|\\u202e|\\ufeff|\xC3\xA9\xF0\x9F\x98\x80|\\xff\n");
}

TEST_CASE("audit lines are written at every level to their own file") {
  const LogFolder folder;
  REQUIRE(log::open({.level = log::Level::off, .file = folder / "log", .audit_file = folder / "audit"}));
  log::error("nobody hears");
  log::audit("user=a");
  CHECK(folder.read("audit") == "user=a\n");
  CHECK(folder.read("log").empty());
}

TEST_CASE("access lines go only to their own file") {
  const LogFolder folder;
  REQUIRE(log::open({.level = log::Level::off, .file = folder / "log", .access_file = folder / "access"}));
  log::access("a line");
  CHECK(folder.read("access") == "a line\n");
  CHECK(folder.read("log").empty());
  REQUIRE(log::open({.level = log::Level::debug, .file = folder / "log"}));
  log::access("another");
  CHECK(folder.read("access") == "a line\n");
  CHECK(folder.read("log").empty());
}

TEST_CASE("error_file gets warnings and errors") {
  const LogFolder folder;
  REQUIRE(log::open({.level = log::Level::info, .file = folder / "log", .error_file = folder / "errors"}));
  log::info("one");
  log::warning("two");
  log::error("three");
  const std::string errors = folder.read("errors");
  CHECK(errors.find("one") == std::string::npos);
  CHECK(errors.find("Z warning two\n") != std::string::npos);
  CHECK(errors.find("Z error three\n") != std::string::npos);
  CHECK(folder.read("log").find("three") != std::string::npos);
}

TEST_CASE("the old log stays in use if the new one cannot be opened") {
  const LogFolder folder;
  REQUIRE(log::open({.level = log::Level::error, .file = folder / "log"}));
  const auto result = log::open(
      {.level = log::Level::off, .file = folder / "no/such/folder/log/\xFF" + std::string(5000, 'x')});
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == rest_fcgi::ErrorKind::configuration);
  log::error("still here");
  CHECK(folder.read("log").find("still here") != std::string::npos);
}

TEST_CASE("opening again after a rotation uses the new file") {
  const LogFolder folder;
  const log::Options options{.level = log::Level::error, .file = folder / "log"};
  REQUIRE(log::open(options));
  log::error("before");
  std::filesystem::rename(folder / "log", folder / "log.1");
  REQUIRE(log::open(options));
  log::error("after");
  CHECK(folder.read("log").find("after") != std::string::npos);
  CHECK(folder.read("log.1").find("after") == std::string::npos);
}

TEST_CASE("level_named accepts Salt's names") {
  CHECK(log::level_named("garbage") == log::Level::debug);
  CHECK(log::level_named("info") == log::Level::info);
  CHECK(log::level_named("warning") == log::Level::warning);
  CHECK(log::level_named("warn") == log::Level::warning);
  CHECK(log::level_named("critical") == log::Level::error);
  CHECK(log::level_named("quiet") == log::Level::off);
  CHECK_FALSE(log::level_named("loud").has_value());
}

TEST_CASE("lines of many threads do not mix") {
  const LogFolder folder;
  REQUIRE(log::open({.level = log::Level::warning, .file = folder / "log"}));
  constexpr int kLines = 200;
  {
    std::vector<std::jthread> threads;
    for (const char letter : {'a', 'b', 'c', 'd'}) {
      threads.emplace_back([letter] {
        for (int i = 0; i < kLines; ++i) log::audit(std::string(300, letter));
      });
    }
  }
  std::istringstream lines(folder.read("log"));
  int whole = 0;
  for (std::string line; std::getline(lines, line); ++whole) {
    CHECK(line == std::string(300, line.at(0)));
  }
  CHECK(whole == 4 * kLines);
}

TEST_CASE("a new log file replaces the old one on the same descriptor") {
  const LogFolder folder;
  const auto open_files = [] {
    const auto all = std::filesystem::directory_iterator("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const log::Options options{.file = folder / "log", .access_file = folder / "access"};
  REQUIRE(log::open(options));
  const auto before = open_files();
  REQUIRE(log::open(options));
  CHECK(open_files() == before);
  REQUIRE(log::open({}));
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    CHECK(std::filesystem::read_symlink(entry, gone).string().find(folder / "") == std::string::npos);
  }
}

TEST_CASE("a failed write is reported once on standard error") {
  const LogFolder folder;
  const int before = ::dup(STDERR_FILENO);
  const int said = ::open((folder / "said").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(said, STDERR_FILENO);
  ::close(said);
  REQUIRE(log::open({.level = log::Level::warning, .file = "/dev/full"}));
  for (int i = 0; i < 3; ++i) log::warning("lost");
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  CHECK(folder.read("said").ends_with(" /dev/full: No space left on device\n"));
  REQUIRE(log::open({.level = log::Level::warning, .file = folder / "log"}));
  log::warning("kept");
  CHECK(folder.read("log").find("kept") != std::string::npos);
}
