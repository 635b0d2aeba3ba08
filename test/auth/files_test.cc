// SPDX-License-Identifier: MIT
#include "auth/files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "../support/temp_dir.h"

namespace rest_fcgi::auth {
namespace {

Result<WipedBytes> read(const std::string& path, Links links = Links::follow,
                        std::size_t max_size = 1 << 20) {
  return read_regular_file(AT_FDCWD, path, links, max_size);
}

std::string text(const Result<WipedBytes>& bytes) {
  return bytes ? std::string(bytes->begin(), bytes->end()) : "-";
}

}  // namespace

TEST_CASE("a regular file is read whole, whatever its size") {
  const test::TempDir dir;
  for (const std::size_t size : {0U, 1U, 4096U, 4097U, 100000U}) {
    const std::string content(size, 'x');
    CHECK(text(read(dir.write("file", content))) == content);
  }
}

TEST_CASE("a file may be as large as the limit, but no larger") {
  const test::TempDir dir;
  const std::string path = dir.write("file", "12345");
  CHECK(text(read(path, Links::follow, 5)) == "12345");
  const auto refused = read(path, Links::follow, 4);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "is larger than 4 bytes");
}

TEST_CASE("a missing file is told apart from one that cannot be used") {
  const test::TempDir dir;
  const auto missing = read(dir / "none");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().kind == ErrorKind::not_found);
  CHECK(missing.error().message == "cannot be opened: No such file or directory");
  const auto below_file = read(dir.write("file", "") + "/x");
  REQUIRE_FALSE(below_file);
  CHECK(below_file.error().kind == ErrorKind::internal);
}

TEST_CASE("pipes and directories are refused without a wait") {
  const test::TempDir dir;
  REQUIRE(::mkfifo((dir / "pipe").c_str(), 0600) == 0);
  for (const std::string& path : {dir / "pipe", dir.path().string()}) {
    const auto refused = read(path);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message == "is no regular file");
  }
}

TEST_CASE("symbolic links are followed only where that was asked for") {
  const test::TempDir dir;
  std::filesystem::create_symlink(dir.write("file", "content"), dir / "link");
  CHECK(text(read(dir / "link")) == "content");
  CHECK_FALSE(read(dir / "link", Links::refuse));
}

TEST_CASE("a read that fails says why") {
  const auto memory = read("/proc/self/mem");
  REQUIRE_FALSE(memory);
  CHECK(memory.error().message == "cannot be read: Input/output error");
}

TEST_CASE("a descriptor has one owner") {
  UniqueFd first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int number = first.get();
  UniqueFd second(std::move(first));
  CHECK_FALSE(first.is_open());
  CHECK(second.get() == number);
  first = std::move(second);
  CHECK(first.release() == number);
  CHECK_FALSE(first.is_open());
  UniqueFd last(number);
}

}  // namespace rest_fcgi::auth
