// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "../support/temp_dir.h"

namespace rest_fcgi {
namespace {

using test::TempDir;

unsigned mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777U;
}

std::string refusal(const std::string& path) {
  const auto opened = open_private_folder(path);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().kind == ErrorKind::configuration);
  return opened.error().message;
}

Result<WipedBytes> read(const std::string& path, Links links = Links::follow,
                        std::size_t max_size = 1 << 20) {
  return read_regular_file(AT_FDCWD, path, links, max_size);
}

std::string text(const Result<WipedBytes>& bytes) {
  return bytes ? std::string(bytes->begin(), bytes->end()) : "-";
}

}  // namespace

TEST_CASE("a missing private folder is made for its owner alone, and so is the one above it") {
  const TempDir dir;
  REQUIRE(open_private_folder(dir / "tokens/"));
  CHECK(mode_of(dir / "tokens") == 0700);
  REQUIRE(open_private_folder(dir / "cache/tokens"));
  CHECK(mode_of(dir / "cache") == 0700);
  CHECK(mode_of(dir / "cache/tokens") == 0700);
}

TEST_CASE("each listing of a folder has all that is in it") {
  const TempDir dir;
  dir.write("one", "");
  const auto folder = open_private_folder(dir.path().string());
  REQUIRE(folder);
  for (int times = 0; times < 2; ++times) {
    const Listing listing = list_folder(folder->get());
    REQUIRE(listing);
    std::set<std::string> names;
    while (const dirent* entry = ::readdir(listing.get())) names.insert(entry->d_name);
    CHECK(names == std::set<std::string>{".", "..", "one"});
  }
  CHECK_FALSE(list_folder(-1));
  CHECK(errno == EBADF);
}

TEST_CASE("a private folder that is there is taken as it is") {
  const TempDir dir;
  REQUIRE(::mkdir((dir / "tokens").c_str(), 0750) == 0);
  REQUIRE(open_private_folder(dir / "tokens"));
  CHECK(mode_of(dir / "tokens") == 0750);
}

TEST_CASE("no more than two missing folders are made") {
  const TempDir dir;
  CHECK(refusal(dir / "a/b/c") == "cannot be made: No such file or directory");
  CHECK(::access((dir / "a").c_str(), F_OK) != 0);
  CHECK(refusal("/") == "cannot be made: No such file or directory");
}

TEST_CASE("a file is no private folder") {
  const TempDir dir;
  const std::string file = dir.write("file", "");
  CHECK(refusal(file) == "cannot be opened: Not a directory");
}

TEST_CASE("a folder that others may write to is refused") {
  const TempDir dir;
  REQUIRE(::mkdir((dir / "tokens").c_str(), 0700) == 0);
  for (const mode_t mode : {0777U, 0770U, 0702U}) {
    REQUIRE(::chmod((dir / "tokens").c_str(), mode) == 0);
    CHECK(refusal(dir / "tokens").find("so that others could put files into it; 0700 is right") !=
          std::string::npos);
  }
}

TEST_CASE("a folder that belongs to somebody else is refused" * doctest::skip(::geteuid() != 0)) {
  const TempDir dir;
  REQUIRE(::mkdir((dir / "tokens").c_str(), 0700) == 0);
  REQUIRE(::chown((dir / "tokens").c_str(), 12345, 0) == 0);
  CHECK(refusal(dir / "tokens").ends_with("belongs to user id 12345, not to this process's 0"));
}

TEST_CASE("a file is trusted by its owner and its mode, as far as that is asked for") {
  struct stat status {};
  status.st_uid = ::geteuid();
  status.st_mode = S_IFREG | 0644;
  CHECK(why_untrusted(status) == std::nullopt);
  CHECK(why_untrusted(status, S_IRWXG | S_IRWXO) ==
        "has mode 0644, so that others could use it; 0600 is right");
  status.st_uid = ::geteuid() + 1;
  CHECK(why_untrusted(status) == "belongs to user id " + std::to_string(::geteuid() + 1) +
                                     ", not to this process's " + std::to_string(::geteuid()));
}

TEST_CASE("a part of a path that others may change is found") {
  const TempDir dir;  // in a sticky folder
  std::filesystem::create_directories(dir / "a/b");
  const std::string file = dir.write("a/b/file", "");
  CHECK(changeable_part(file) == std::nullopt);
  REQUIRE(::chmod((dir / "a").c_str(), 0777) == 0);
  CHECK(changeable_part(file) == dir / "a");
  REQUIRE(::chmod((dir / "a").c_str(), 01777) == 0);
  CHECK(changeable_part(file) == std::nullopt);
  CHECK(changeable_part(dir / "a") == dir / "a");  // into which anybody puts files
  CHECK(changeable_part(dir / "none") == dir / "none");
}

TEST_CASE("a write that fails says why") {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  REQUIRE(full.is_open());
  const auto written = write_all(full.get(), "x");
  REQUIRE_FALSE(written);
  CHECK(written.error().message == "cannot be written: No space left on device");
}

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

TEST_CASE(
    "a stamp tells a file from what was in its place, and there is none for one that was just changed") {
  const TempDir dir;
  const auto stamp = [&] {
    struct stat status {};
    REQUIRE(::stat((dir / "file").c_str(), &status) == 0);
    return file_stamp(status);
  };
  std::set<std::string> stamps;
  for (const std::string_view bytes : {"one", "two", "three"}) {
    const auto begun = std::chrono::steady_clock::now();
    dir.write("file", bytes);
    const bool is_empty = stamp().empty();
    const bool is_late = std::chrono::steady_clock::now() - begun > std::chrono::milliseconds(10);
    CHECK((is_empty || is_late));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK_FALSE(stamp().empty());
    CHECK(stamp() == stamp());
    stamps.insert(stamp());
  }
  CHECK(stamps.size() == 3);
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

TEST_CASE("what a full disk does not take is unavailable, and what cannot be right is internal") {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  const auto written = write_all(full.get(), "x");
  REQUIRE_FALSE(written);
  CHECK(written.error().kind == ErrorKind::unavailable);
  CHECK(written.error().message == "cannot be written: No space left on device");
  CHECK(errno_kind(EACCES) == ErrorKind::internal);
}

}  // namespace rest_fcgi
