// SPDX-License-Identifier: MIT
#include "auth/guard_memory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <doctest/doctest.h>

#include "../support/temp_dir.h"

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

}  // namespace

TEST_CASE("memory of a process alone is empty, with a key of its own") {
  const auto one = GuardMemory::alone();
  const auto other = GuardMemory::alone();
  REQUIRE(one);
  REQUIRE(other);
  CHECK(one->words().slots[0] == 0);
  CHECK(one->words().active_until == 0);
  CHECK(one->hash_key() != other->hash_key());
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
  CHECK(other->hash_key() == one->hash_key());
}

TEST_CASE("a file that a process was killed over before it was whole is made whole") {
  const test::TempDir dir;
  fs::permissions(dir.write("guard", ""), fs::perms::owner_read | fs::perms::owner_write);
  const auto memory = GuardMemory::shared(dir / "guard");
  REQUIRE(memory);
  CHECK(memory->words().magic != 0);
  CHECK(memory->hash_key()[0] != 0);
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

TEST_CASE("a file of somebody else is not used" * doctest::skip(::geteuid() != 0)) {
  const test::TempDir dir;
  const std::string path = dir.write("guard", "");
  fs::permissions(path, fs::perms(0600));
  REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
  CHECK(refusal(path).ends_with("belongs to user id 65534, not to this process's 0"));
}

}  // namespace rest_fcgi::auth
