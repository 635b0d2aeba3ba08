// SPDX-License-Identifier: MIT
#include "rest_fcgi/store/store.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/eventually.h"
#include "../support/temp_dir.h"

namespace rest_fcgi::store {
namespace {

constexpr const char* kAdd = "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = value + 1";

struct InFile {
  test::TempDir dir;
  std::string path = dir / "state/state.db";

  [[nodiscard]] std::unique_ptr<Store> open() const {
    auto store = Store::open({.path = path});
    REQUIRE_MESSAGE(store.ok(), store.error().message);
    return *std::move(store);
  }
  [[nodiscard]] std::string refusal() const {
    CHECK_FALSE(Store::check({.path = path}));
    const auto store = Store::open({.path = path});
    REQUIRE_FALSE(store.ok());
    CHECK(store.error().kind == ErrorKind::configuration);
    CHECK(store.error().message.starts_with("store: " + path + ": "));
    return store.error().message;
  }
};

std::int64_t value_of(Store& store, const std::string& name) {
  std::int64_t value = -1;
  REQUIRE(store.read([&](Connection& connection) -> Result<void> {
    const auto found = connection.number("SELECT value FROM meta WHERE name = ?", name);
    if (!found) return found.error();
    value = found->value_or(-1);
    return {};
  }));
  return value;
}

class Other {
 public:
  explicit Other(const std::string& path) {
    REQUIRE(sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr) ==
            SQLITE_OK);
  }
  ~Other() { sqlite3_close(handle_); }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;
  void run(const char* sql) { REQUIRE(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) == SQLITE_OK); }

 private:
  sqlite3* handle_ = nullptr;
};

TEST_CASE("a store creates a file that only its user can read, and keeps rows in it") {
  const InFile file;
  {
    const auto store = file.open();
    CHECK(*store->execute(kAdd, "a", 1) == 1);
    CHECK(*store->execute(kAdd, "a", 1) == 1);
    REQUIRE(store->sync());
  }
  struct stat status {};
  REQUIRE(::stat(file.path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  REQUIRE(::stat((file.dir / "state").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  CHECK(value_of(*file.open(), "a") == 2);
}

TEST_CASE("a transaction that fails is rolled back, also in memory") {
  const InFile file;
  for (const std::string& path : {file.path, std::string()}) {
    const auto store = *Store::open({.path = path});
    CHECK(store->is_in_memory() == path.empty());
    const Result<void> failed = store->transact([](Connection& connection) -> Result<void> {
      REQUIRE(connection.execute(kAdd, "a", 1));
      return Error{ErrorKind::invocation, "no"};
    });
    CHECK(failed.error().message == "no");
    CHECK(value_of(*store, "a") == -1);
    CHECK(store->is_writable());
    CHECK(store->execute(kAdd, "a", 7));
    CHECK(value_of(*store, "a") == 7);
    CHECK(store->sync());
    CHECK(*store->used_bytes() > 0);
  }
}

TEST_CASE("eight stores that open at the same time create one database") {
  const InFile file;
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      const auto store = Store::open({.path = file.path});
      if (!store || !(*store)->execute(kAdd, "a", 1)) ++failed;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failed == 0);
  CHECK(value_of(*file.open(), "a") == 8);
}

TEST_CASE("callers that sync at the same time share commits") {
  const InFile file;
  const auto store = file.open();
  constexpr int kThreads = 16;
  constexpr int kTurns = 20;
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kTurns; ++i) {
        if (!store->execute(kAdd, "a", 1) || !store->sync()) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failed == 0);
  CHECK(value_of(*store, "a") == kThreads * kTurns);
  CHECK(value_of(*store, "synced") < kThreads * kTurns);
}

TEST_CASE("a copy of the files after a sync has all earlier commits") {
  const InFile file;
  const auto store = file.open();
  for (int i = 1; i <= 20; ++i) {
    REQUIRE(store->execute(kAdd, "a", 1));
    REQUIRE(store->sync());
    const std::string copy = file.dir / ("copy" + std::to_string(i));
    std::filesystem::copy(file.dir / "state", copy);
    std::filesystem::permissions(copy, std::filesystem::perms(0700));
    CHECK(value_of(**Store::open({.path = copy + "/state.db"}), "a") == i);
  }
}

TEST_CASE("a database of another application or version is refused and not changed") {
  const InFile file;
  std::filesystem::create_directory(file.dir / "state");
  std::filesystem::permissions(file.dir / "state", std::filesystem::perms(0700));
  SUBCASE("application") {
    Other(file.path).run("CREATE TABLE theirs (a); PRAGMA application_id = 7");
    CHECK(file.refusal().find("another application (application_id 7)") != std::string::npos);
  }
  SUBCASE("no application") {
    Other(file.path).run("CREATE TABLE theirs (a)");
    CHECK(file.refusal().find("another application (application_id 0)") != std::string::npos);
  }
  SUBCASE("version") {
    static_cast<void>(file.open());
    Other(file.path).run("PRAGMA user_version = 99");
    CHECK(file.refusal().find("user_version 99") != std::string::npos);
  }
  SUBCASE("no database") {
    file.dir.write("state/state.db", std::string(8192, 'x'));
    CHECK(file.refusal().find("not a database") != std::string::npos);
  }
  CHECK(file.refusal() == file.refusal());
}

TEST_CASE("a check finds nothing wrong with a missing, a new and a used database, and changes nothing") {
  const InFile file;
  CHECK(Store::check({.path = file.path}));
  CHECK_FALSE(std::filesystem::exists(file.dir / "state"));
  const auto store = file.open();
  CHECK(Store::check({.path = file.path}));
  REQUIRE(store->execute(kAdd, "a", 1));
  CHECK(Store::check({.path = file.path}));
  CHECK(Store::check({}));
}

TEST_CASE("a check passes a file whose pages are in the write-ahead log only, as after a crash") {
  const InFile file;
  const auto store = file.open();
  InFile crashed;
  std::filesystem::create_directory(crashed.dir / "state");
  for (const char* end : {"", "-wal"}) std::filesystem::copy_file(file.path + end, crashed.path + end);
  std::filesystem::permissions(crashed.dir / "state", std::filesystem::perms(0700));
  constexpr std::streamoff kAfterHeader = 100;
  std::fstream(crashed.path, std::ios::in | std::ios::out).seekp(kAfterHeader) << std::string(3000, 'x');
  CHECK(Store::check({.path = crashed.path}));
  CHECK(value_of(*crashed.open(), "a") == -1);
}

TEST_CASE("a check refuses a database below a folder that cannot be created") {
  const test::TempDir dir;
  const std::string path = dir / "a/b/c/state.db";
  const auto checked = Store::check({.path = path});
  REQUIRE_FALSE(checked);
  CHECK(checked.error().kind == ErrorKind::configuration);
  CHECK(checked.error().message.find(path) != std::string::npos);
  CHECK(Store::check({.path = path, .may_be_in_memory = true}));
}

TEST_CASE("a file or folder that other users may change is refused") {
  InFile file;
  SUBCASE("a folder for all") {
    std::filesystem::create_directory(file.dir / "state");
    std::filesystem::permissions(file.dir / "state", std::filesystem::perms(0777));
    CHECK(file.refusal().find("its folder") != std::string::npos);
  }
  SUBCASE("a file for all") {
    static_cast<void>(file.open());
    std::filesystem::permissions(file.path, std::filesystem::perms(0666));
    CHECK(file.refusal().find("it ") != std::string::npos);
  }
  SUBCASE("a symbolic link") {
    static_cast<void>(file.open());
    std::filesystem::rename(file.path, file.dir / "elsewhere.db");
    std::filesystem::create_symlink(file.dir / "elsewhere.db", file.path);
    CHECK(file.refusal().find("cannot open it") != std::string::npos);
  }
  SUBCASE("a file in place of the folder") {
    file.dir.write("state", "");
    CHECK(file.refusal().find("Not a directory") != std::string::npos);
  }
}

TEST_CASE("a store that may be in memory replaces a missing file, but refuses a corrupt file") {
  InFile file;
  const test::CapturedLog log;
  const store::Options options{.path = file.path, .may_be_in_memory = true};
  file.dir.write("state", "");
  {
    const auto store = *Store::open(options);
    CHECK(store->is_in_memory());
    CHECK(store->execute(kAdd, "a", 1));
    CHECK(log.has("only in the memory of this process"));
  }
  std::filesystem::remove(file.dir / "state");
  static_cast<void>(file.open());
  file.dir.write("state/state.db", std::string(8192, 'x'));
  CHECK_FALSE(Store::open(options).ok());
}

TEST_CASE("while another process holds the lock, writes fail with one line in the log, and reads work") {
  const InFile file;
  const test::CapturedLog log;
  const auto store = file.open();
  {
    Other holder(file.path);
    holder.run("BEGIN IMMEDIATE");
    CHECK(store->execute(kAdd, "a", 1).error().kind == ErrorKind::unavailable);
    CHECK_FALSE(store->is_writable());
    CHECK(value_of(*store, "synced") == 0);
    holder.run("ROLLBACK");
  }
  REQUIRE(store->execute(kAdd, "a", 1));
  CHECK_FALSE(store->is_writable());
  CHECK(test::eventually([&] { return store->is_writable(); }));
  CHECK(log.count("cannot write to the database: database is locked") == 1);
  CHECK(log.count("writing to the database works again") == 1);
  REQUIRE_FALSE(store->execute("INSERT INTO nosuch VALUES (1)"));
  REQUIRE(store->execute("DELETE FROM meta WHERE name = 'nosuch'"));
  CHECK_FALSE(store->is_writable());
  CHECK(test::eventually([&] { return store->is_writable(); }));
}

TEST_CASE("a corrupt part makes the store bad for good, with one line in the log, and other parts work") {
  constexpr const char* kToken = "INSERT INTO token VALUES (?, 'u', 'e', 1, 2, '[]')";
  const InFile file;
  std::int64_t page = 0;
  {
    const auto store = file.open();
    REQUIRE(store->read([&](Connection& connection) {
      const auto root = connection.number("SELECT rootpage FROM sqlite_schema WHERE name = 'token'");
      page = root->value_or(0);
      return Result<void>();
    }));
  }
  REQUIRE(page > 1);
  {
    constexpr std::int64_t kPageSize = 1024;
    std::fstream damaged(file.path, std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp((page - 1) * kPageSize);
    damaged << std::string(kPageSize, '\xff');
  }
  const test::CapturedLog log;
  const auto store = file.open();
  REQUIRE(store->execute(kAdd, "a", 1));
  CHECK(store->is_writable());
  for (int i = 0; i < 3; ++i) {
    CHECK(store->execute(kToken, std::to_string(i)).error().kind == ErrorKind::unavailable);
    CHECK(store->execute(kAdd, "a", 1));
    CHECK_FALSE(store->is_writable());
  }
  CHECK(log.count("the database is corrupt") == 1);
  CHECK(log.count("works again") == 0);
}

TEST_CASE("a path on a local disk causes no warning about the network") {
  const InFile file;
  CHECK_FALSE(network_warning(file.path));
  CHECK_FALSE(network_warning(""));
}

TEST_CASE("a folder of another user is refused with its owner and a key") {
  if (::geteuid() != 0) return;  // Only root can give a folder to another user.
  const InFile file;
  std::filesystem::create_directory(file.dir / "state");
  REQUIRE(::chown((file.dir / "state").c_str(), 65534, 65534) == 0);
  const auto store = Store::open({.path = file.path});
  REQUIRE_FALSE(store.ok());
  CHECK(store.error().message.find("expected root") != std::string::npos);
  CHECK(store.error().message.find("state_dir") != std::string::npos);
}

TEST_CASE("a removed file is created again, and the log says so") {
  const InFile file;
  const test::CapturedLog log;
  const auto store = file.open();
  REQUIRE(store->execute(kAdd, "a", 1));
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(file.path + end);
  CHECK(test::eventually([&] { return std::filesystem::exists(file.path); }));
  CHECK(test::eventually([&] { return log.has("removed or replaced"); }));
  REQUIRE(store->execute(kAdd, "b", 1));
  CHECK(value_of(*file.open(), "b") == 1);
}

TEST_CASE("a store whose removed file cannot be created again refuses writes") {
  const InFile file;
  const test::CapturedLog log;
  const auto store = file.open();
  std::filesystem::rename(file.dir / "state", file.dir / "moved");
  file.dir.write("state", "");
  CHECK(test::eventually([&] { return !store->is_writable(); }));
  CHECK_FALSE(store->execute(kAdd, "a", 1).ok());
  std::filesystem::remove(file.dir / "state");
  CHECK(test::eventually([&] { return store->execute(kAdd, "a", 1).ok(); }));
  CHECK(value_of(*file.open(), "a") == 1);
  CHECK(log.count("cannot write to the database") == 1);
}

TEST_CASE("the write-ahead log stops growing under load") {
  constexpr std::uintmax_t kMiB = 1 << 20;
  const InFile file;
  const auto store = file.open();
  const std::string text(20'000, 'x');
  REQUIRE(store->execute("CREATE TABLE big (a TEXT)"));
  std::uintmax_t largest = 0;
  std::uintmax_t written_since = 0;
  for (std::uintmax_t written = 0; written < 1024 * kMiB && written_since < 100 * kMiB;
       written += text.size()) {
    REQUIRE(store->execute("INSERT INTO big VALUES (?)", text));
    const std::uintmax_t size = std::filesystem::file_size(file.path + "-wal");
    written_since = size > largest ? 0 : written_since + text.size();
    largest = std::max(largest, size);
  }
  CHECK(written_since >= 100 * kMiB);
}

TEST_CASE("a task runs once a second until its registration ends") {
  const auto store = *Store::open({});
  std::atomic<int> first = 0;
  std::atomic<int> second = 0;
  auto registration = store->every_second([&] { ++first; });
  const auto other = store->every_second([&] { ++second; });
  CHECK(test::eventually([&] { return first >= 1 && second >= 1; }));
  registration.reset();
  const int before = first;
  const int seen = second;
  CHECK(test::eventually([&] { return second > seen; }));
  CHECK(first == before);
}

TEST_CASE("the commit observer gets the time of each commit, and whether it was durable") {
  const test::TempDir dir;
  const auto store = *Store::open({.path = dir / "state.db"});
  std::vector<bool> durable;
  store->observe_commits([&](std::chrono::nanoseconds time, bool is_durable) {
    CHECK(time.count() > 0);
    durable.push_back(is_durable);
  });
  CHECK(store->execute("UPDATE meta SET value = value"));
  CHECK(store->sync());
  CHECK(durable == std::vector<bool>{false, true});
}

}  // namespace
}  // namespace rest_fcgi::store
