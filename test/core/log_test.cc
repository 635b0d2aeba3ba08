// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
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

/// The destructor sets logging back to standard error.
class LogFolder : public rest_fcgi::test::TempDir {
 public:
  ~LogFolder() { static_cast<void>(log::open({})); }
};

}  // namespace

TEST_CASE("the log has the entries at or above its level, and error_file has warnings and errors") {
  const LogFolder folder;
  REQUIRE(log::open({.level = log::Level::info, .file = folder / "log", .error_file = folder / "errors"}));
  log::debug("one");
  log::info("two");
  log::warning("three");
  log::error("four");
  const std::string text = folder.read("log");
  CHECK(text.find("one") == std::string::npos);
  CHECK(text.find("Z info two\n") != std::string::npos);
  const std::string errors = folder.read("errors");
  CHECK(errors.find("two") == std::string::npos);
  for (const std::string& lines : {text, errors}) {
    CHECK(lines.find("Z warning three\n") != std::string::npos);
    CHECK(lines.find("Z error four\n") != std::string::npos);
  }
}

TEST_CASE("line ends, control characters and direction marks in a message are escaped") {
  const LogFolder folder;
  REQUIRE(log::open({.level = log::Level::debug, .file = folder / "log"}));
  log::audit(
      "a\nb\x1b[31m|\xC2\x85|\xC2\x9B|\xE2\x80\xA8|\xE2\x80\xAE|\xEF\xBB\xBF|\xC3\xA9\xF0\x9F\x98\x80|\xFF");
  const std::string escaped =
      "a\\u000ab\\u001b[31m|\\u0085|\\u009b|\\u2028|\\u202e|\\ufeff|\xC3\xA9\xF0\x9F\x98\x80|\\xff\n";
  CHECK(folder.read("log") == escaped);
  log::debug("user a\nb");
  CHECK(folder.read("log").ends_with(" debug user a\\u000ab\n"));
}

TEST_CASE("audit lines and access lines are written at every level to their own files") {
  const LogFolder folder;
  REQUIRE(log::open({.level = log::Level::off, .file = folder / "log", .audit_file = folder / "audit"}));
  log::error("nobody hears");
  log::audit("user=a");
  CHECK(folder.read("audit") == "user=a\n");
  CHECK(folder.read("log").empty());
  REQUIRE(log::open({.level = log::Level::off, .file = folder / "log", .access_file = folder / "access"}));
  log::access("a line");
  CHECK(folder.read("access") == "a line\n");
  CHECK(folder.read("log").empty());
  REQUIRE(log::open({.level = log::Level::debug, .file = folder / "log"}));
  log::access("another");
  CHECK(folder.read("access") == "a line\n");
  CHECK(folder.read("log").empty());
}

TEST_CASE("a notice is written at every level except off") {
  const LogFolder folder;
  REQUIRE(log::open({.level = log::Level::error, .file = folder / "log"}));
  log::notice("here");
  CHECK(folder.read("log").ends_with("Z notice here\n"));
  REQUIRE(log::open({.level = log::Level::off, .file = folder / "none"}));
  log::notice("here");
  CHECK(folder.read("none").empty());
}

TEST_CASE("lines for the journal begin with their priority, and lines in files do not") {
  const LogFolder folder;
  const int before = ::dup(STDERR_FILENO);
  const int journal = ::open((folder / "journal").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  struct stat status {};
  REQUIRE(::fstat(journal, &status) == 0);
  const auto open_with = [](const std::string& stream, const std::string& file) {
    REQUIRE(::setenv("JOURNAL_STREAM", stream.c_str(), 1) == 0);
    REQUIRE(log::open({.level = log::Level::debug, .file = file}));
  };
  const std::string stream = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
  REQUIRE(::dup2(journal, STDERR_FILENO) >= 0);
  open_with(stream, "");
  log::debug("one");
  log::info("two");
  log::notice("three");
  log::warning("four");
  log::error("five");
  log::audit("six");
  CHECK(log::for_standard_error(log::Level::error, "seven\n\neight\n") == "<3>seven\n<3>\n<3>eight\n");
  open_with(stream, folder / "log");
  log::error("in a file");
  open_with(stream + "0", "");
  log::error("nine");
  CHECK(log::for_standard_error(log::Level::error, "ten\n") == "ten\n");
  REQUIRE(::unsetenv("JOURNAL_STREAM") == 0);
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  ::close(journal);
  CHECK(folder.read("log").starts_with("20"));
  std::istringstream lines(folder.read("journal"));
  std::vector<std::string> ends;
  for (std::string line; std::getline(lines, line);)
    ends.push_back(line.substr(0, 3) + line.substr(line.rfind(' ') + 1));
  CHECK(ends == std::vector<std::string>{"<7>one", "<6>two", "<5>three", "<4>four", "<3>five", "<6><6>six",
                                         "202nine"});
}

TEST_CASE("the old log stays in use if the new one cannot be opened") {
  const LogFolder folder;
  REQUIRE(log::open({.level = log::Level::error, .file = folder / "log"}));
  CHECK(log::open(
            {.level = log::Level::off, .file = folder / "no/such/folder/log/\xFF" + std::string(5000, 'x')})
            .error()
            .kind == rest_fcgi::ErrorKind::configuration);
  log::error("still here");
  CHECK(folder.read("log").find("still here") != std::string::npos);
}

TEST_CASE("a check finds a log that cannot be opened, and makes no file") {
  const rest_fcgi::test::TempDir dir;
  dir.write("old", "");
  CHECK(log::check({.file = dir / "new", .audit_file = dir / "old"}));
  CHECK_FALSE(std::filesystem::exists(dir / "new"));
  const auto folder = log::check({.file = dir / "no/log"});
  REQUIRE_FALSE(folder);
  CHECK(folder.error().kind == rest_fcgi::ErrorKind::configuration);
  CHECK(folder.error().message.starts_with("rest_fcgi: log_file: "));
  CHECK(folder.error().message.find(dir / "no") != std::string::npos);
  CHECK_FALSE(log::check({.audit_file = dir.path()}));
  CHECK_FALSE(log::check({.access_file = dir / "no/log"}));
  CHECK_FALSE(log::check({.error_file = dir / "old/log"}));
}

TEST_CASE("opening again after a rotation uses the new file, on the same descriptor") {
  const LogFolder folder;
  const log::Options options{.level = log::Level::error, .file = folder / "log"};
  REQUIRE(log::open(options));
  log::error("before");
  std::filesystem::rename(folder / "log", folder / "log.1");
  REQUIRE(log::open(options));
  log::error("after");
  CHECK(folder.read("log").find("after") != std::string::npos);
  CHECK(folder.read("log.1").find("after") == std::string::npos);
  const auto open_files = [] {
    const auto all = std::filesystem::directory_iterator("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const log::Options both{.file = folder / "log", .access_file = folder / "access"};
  REQUIRE(log::open(both));
  const auto before = open_files();
  REQUIRE(log::open(both));
  CHECK(open_files() == before);
  REQUIRE(log::open({}));
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    CHECK(std::filesystem::read_symlink(entry, gone).string().find(folder / "") == std::string::npos);
  }
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
