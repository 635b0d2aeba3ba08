// SPDX-License-Identifier: MIT
#include "rest_fcgi/store/backup.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "../support/temp_dir.h"
#include "rest_fcgi/core/unique_fd.h"
#include "rest_fcgi/store/store.h"

namespace rest_fcgi::store {
namespace {

struct Database {
  test::TempDir dir;
  std::string path = dir / "state/state.db";

  [[nodiscard]] std::unique_ptr<Store> open() const { return *Store::open({.path = path}); }
  [[nodiscard]] Result<void> restore(const std::string& name) const {
    const UniqueFd copy(::open((dir / name).c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(copy.is_open());
    return store::restore(path, copy.get());
  }
  [[nodiscard]] std::int64_t number(const std::string& name) const {
    std::int64_t value = -1;
    REQUIRE(open()->read([&](Connection& connection) -> Result<void> {
      value = connection.number("SELECT value FROM meta WHERE name = ?", name)->value_or(-1);
      return {};
    }));
    return value;
  }
  /// Checks that a refused restore changed nothing.
  void check_refused(const std::string& name, std::string_view fact) const {
    CAPTURE(name);
    const Result<void> done = restore(name);
    REQUIRE_FALSE(done.ok());
    CHECK(done.error().kind == ErrorKind::configuration);
    CHECK(done.error().message.find(fact) != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(path + ".restore"));
  }
};

constexpr const char* kSet =
    "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value";

TEST_CASE("a backup of an open database has its commits, and a restore brings them back") {
  const Database database;
  {
    const auto store = database.open();
    REQUIRE(store->execute(kSet, "a", 1));
    REQUIRE(back_up(database.path, database.dir / "copy"));
    struct stat status {};
    REQUIRE(::stat((database.dir / "copy").c_str(), &status) == 0);
    CHECK((status.st_mode & 07777U) == 0600U);
    CHECK_FALSE(std::filesystem::exists(database.dir / "copy-wal"));
    REQUIRE(store->execute(kSet, "a", 2));
    database.check_refused("copy", "that uses it");
  }
  CHECK(database.number("a") == 2);
  REQUIRE(database.restore("copy"));
  CHECK(database.number("a") == 1);
  std::filesystem::remove_all(database.dir / "state");
  REQUIRE(database.restore("copy"));
  CHECK(database.number("a") == 1);
}

TEST_CASE("a backup replaces no file, and needs a database of this program") {
  const Database database;
  CHECK(back_up(database.path, database.dir / "copy").error().kind == ErrorKind::configuration);
  CHECK_FALSE(std::filesystem::exists(database.dir / "copy"));
  static_cast<void>(database.open());
  const std::string copy = database.dir.write("copy", "mine");
  const Error error = back_up(database.path, copy).error();
  CHECK(error.kind == ErrorKind::configuration);
  CHECK(error.message.starts_with(copy + ": "));
  CHECK(database.dir.read("copy") == "mine");
}

TEST_CASE("a restore refuses a copy that is damaged or that is not a database of this program") {
  const Database database;
  REQUIRE(database.open()->execute(kSet, "a", 1));
  REQUIRE(back_up(database.path, database.dir / "copy"));
  std::string damaged = database.dir.read("copy");
  damaged.replace(damaged.size() / 2, 4096, 4096, 'x');
  database.dir.write("damaged", damaged);
  database.check_refused("damaged", "damaged");
  database.dir.write("short", damaged.substr(0, 3000));
  database.check_refused("short", "");
  database.dir.write("text", "not a database, but long enough to be one\n");
  database.check_refused("text", "not a database");
  database.dir.write("empty", "");
  database.check_refused("empty", "empty database");
  REQUIRE((*Connection::open(database.dir / "empty"))->run("CREATE TABLE other (a)"));
  database.check_refused("empty", "another application");
  const auto newer = *Connection::open(database.dir / "copy");
  REQUIRE(newer->run("PRAGMA user_version = 99"));
  database.check_refused("copy", "user_version 99");
  CHECK(database.number("a") == 1);
}

}  // namespace
}  // namespace rest_fcgi::store
