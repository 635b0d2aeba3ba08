// SPDX-License-Identifier: MIT
#include "auth/token_dir.h"

#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "../support/temp_dir.h"

namespace rest_fcgi::auth {
namespace {

using test::TempDir;

unsigned mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777U;
}

std::string refusal(const std::string& path) {
  const auto opened = open_token_dir(path);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().kind == ErrorKind::configuration);
  return opened.error().message;
}

}  // namespace

TEST_CASE("a missing directory of tokens is made for its owner alone, and so is the one above it") {
  const TempDir dir;
  REQUIRE(open_token_dir(dir / "tokens/"));
  CHECK(mode_of(dir / "tokens") == 0700);
  REQUIRE(open_token_dir(dir / "cache/tokens"));
  CHECK(mode_of(dir / "cache") == 0700);
  CHECK(mode_of(dir / "cache/tokens") == 0700);
}

TEST_CASE("a directory of tokens that is there is taken as it is") {
  const TempDir dir;
  REQUIRE(::mkdir((dir / "tokens").c_str(), 0750) == 0);
  REQUIRE(open_token_dir(dir / "tokens"));
  CHECK(mode_of(dir / "tokens") == 0750);
}

TEST_CASE("no more than two missing directories are made") {
  const TempDir dir;
  CHECK(refusal(dir / "a/b/c") ==
        "token_dir: " + (dir / "a/b/c") + " cannot be made: No such file or directory");
  CHECK(::access((dir / "a").c_str(), F_OK) != 0);
  CHECK(refusal("/") == "token_dir: / cannot be made: No such file or directory");
}

TEST_CASE("a file is no directory of tokens") {
  const TempDir dir;
  const std::string file = dir.write("file", "");
  CHECK(refusal(file) == "token_dir: " + file + " cannot be opened: Not a directory");
}

TEST_CASE("a directory that others may write to is refused") {
  const TempDir dir;
  REQUIRE(::mkdir((dir / "tokens").c_str(), 0700) == 0);
  for (const mode_t mode : {0777U, 0770U, 0702U}) {
    REQUIRE(::chmod((dir / "tokens").c_str(), mode) == 0);
    CHECK(refusal(dir / "tokens").find("so that others could put tokens into it; 0700 is right") !=
          std::string::npos);
  }
}

TEST_CASE("a directory that belongs to somebody else is refused" * doctest::skip(::geteuid() != 0)) {
  const TempDir dir;
  REQUIRE(::mkdir((dir / "tokens").c_str(), 0700) == 0);
  REQUIRE(::chown((dir / "tokens").c_str(), 12345, 0) == 0);
  CHECK(refusal(dir / "tokens").ends_with(" belongs to user id 12345, not to this process's 0"));
}

}  // namespace rest_fcgi::auth
