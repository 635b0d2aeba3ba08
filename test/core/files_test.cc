// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "../support/temp_dir.h"
#include "rest_fcgi/core/access.h"

namespace rest_fcgi {
namespace {

using test::TempDir;

unsigned mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777U;
}

std::string refusal(const std::string& path) {
  const Error error = open_private_folder(path).error();
  CHECK(error.kind == ErrorKind::configuration);
  return error.message;
}

Result<std::string> read(const std::string& path, std::size_t max_size = 1 << 20) {
  return read_to_end(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)).get(), max_size);
}

std::string text(const Result<std::string>& bytes) {
  return bytes ? *bytes : "-";
}

}  // namespace

TEST_CASE("open_private_folder creates the folder and its parent with mode 0700, or opens it") {
  const TempDir dir;
  REQUIRE(open_private_folder(dir / "tokens/"));
  CHECK(mode_of(dir / "tokens") == 0700);
  REQUIRE(open_private_folder(dir / "cache/tokens"));
  CHECK(mode_of(dir / "cache") == 0700);
  CHECK(mode_of(dir / "cache/tokens") == 0700);
  REQUIRE(::chmod((dir / "tokens").c_str(), 0750) == 0);
  REQUIRE(open_private_folder(dir / "tokens"));
  CHECK(mode_of(dir / "tokens") == 0750);
}

TEST_CASE("at most two missing folders are created, and a folder that others may write is refused") {
  const TempDir dir;
  CHECK(refusal(dir / "a/b/c") == "cannot be made: No such file or directory");
  CHECK(::access((dir / "a").c_str(), F_OK) != 0);
  CHECK(refusal("/") == "cannot be made: No such file or directory");
  REQUIRE(::mkdir((dir / "tokens").c_str(), 0700) == 0);
  for (const mode_t mode : {0777U, 0770U, 0702U}) {
    REQUIRE(::chmod((dir / "tokens").c_str(), mode) == 0);
    CHECK(refusal(dir / "tokens").find("other users could put files into it; expected mode 0700") !=
          std::string::npos);
  }
}

TEST_CASE("a folder of another user is refused" * doctest::skip(::geteuid() != 0)) {
  const TempDir dir;
  REQUIRE(::mkdir((dir / "tokens").c_str(), 0700) == 0);
  REQUIRE(::chown((dir / "tokens").c_str(), 12345, 0) == 0);
  CHECK(refusal(dir / "tokens").find("belongs to 12345,") != std::string::npos);
}

TEST_CASE("why_untrusted checks owner and mode") {
  struct stat status {};
  status.st_uid = ::geteuid();
  status.st_mode = S_IFREG | 0644;
  CHECK(why_untrusted(status) == std::nullopt);
  const auto refusal = why_untrusted(status, S_IRWXG | S_IRWXO);
  REQUIRE(refusal);
  CHECK(refusal->starts_with("has mode 0644,"));
  CHECK(refusal->ends_with("0600"));
  status.st_uid = ::geteuid() + 1;
  CHECK(why_untrusted(status) == "belongs to " + shown_user(status.st_uid) + ", expected root or " +
                                     shown_user(::geteuid()) + ", the user of this process");
}

TEST_CASE("changeable_part finds the part of a path that others may change") {
  const TempDir dir;  // The folder above `dir` is sticky, as /tmp is.
  std::filesystem::create_directories(dir / "a/b");
  const std::string file = dir.write("a/b/file", "");
  CHECK(changeable_part(file) == std::nullopt);
  REQUIRE(::chmod((dir / "a").c_str(), 0777) == 0);
  CHECK(changeable_part(file) == dir / "a");
  REQUIRE(::chmod((dir / "a").c_str(), 01777) == 0);
  CHECK(changeable_part(file) == std::nullopt);
  // In a sticky folder, any user can create a file, but not replace a file of another user.
  CHECK(changeable_part(dir / "a") == dir / "a");
  CHECK(changeable_part(dir / "none") == dir / "none");
}

TEST_CASE("a file is read completely up to the size limit, and a larger file is refused") {
  const test::TempDir dir;
  for (const std::size_t size : {0U, 1U, 4096U, 4097U, 100000U}) {
    const std::string content(size, 'x');
    CHECK(text(read(dir.write("file", content), std::max<std::size_t>(size, 1))) == content);
  }
  CHECK(read(dir / "file", 99999).error().message == "is larger than 99999 bytes");
}

TEST_CASE("a file stamp changes with the file and is empty after a recent change") {
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

TEST_CASE("a failed read returns the system's reason") {
  CHECK(read("/proc/self/mem").error().message == "cannot be read: Input/output error");
}

TEST_CASE("why_unreadable returns the system's reason and missing permissions") {
  const test::TempDir dir;
  const std::string file = dir.write("m", "");
  CHECK(why_unreadable(file, ENOENT) == errno_text(ENOENT));
  CHECK(why_unreadable(file, EACCES)
            .starts_with("Permission denied: no permission to read " + file + ", which has mode "));
  CHECK(why_unreadable(file, EACCES).ends_with(" needs the permission r"));
  CHECK(why_unreadable(dir.path(), EACCES).ends_with(" needs the permission rx"));
  CHECK(why_unreadable(dir / "no/such", EACCES)
            .starts_with("Permission denied: no permission to search the folder " + dir.path().string()));
}

TEST_CASE("a full disk is unavailable, other errors are internal") {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  const auto written = write_all(full.get(), "x");
  REQUIRE_FALSE(written);
  CHECK(written.error().kind == ErrorKind::unavailable);
  CHECK(written.error().message == "cannot be written: No space left on device");
  CHECK(errno_kind(EACCES) == ErrorKind::internal);
}

}  // namespace rest_fcgi
