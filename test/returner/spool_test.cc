// SPDX-License-Identifier: MIT
#include "returner/spool/spool.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../support/temp_dir.h"

namespace rest_fcgi::returner {
namespace {

using Records = std::vector<std::string>;

std::unique_ptr<Spool> spool_in(const test::TempDir& dir, std::size_t size) {
  auto spool = Spool::create(dir / "jobs.db", size);
  REQUIRE_MESSAGE(spool.ok(), spool.error().message);
  return *std::move(spool);
}

/// Gives how many bytes cannot be read.
std::uint64_t read(const Spool& spool, Records& records) {
  const auto collect = [&](std::string_view record) {
    records.emplace_back(record);
    return true;
  };
  return spool.take(spool.tail(), collect).unreadable;
}

Records records_of(const Spool& spool) {
  Records records;
  CHECK(read(spool, records) == 0);
  return records;
}

std::size_t files_in(const test::TempDir& dir) {
  const std::filesystem::directory_iterator files(dir.path());
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

/// A file of that content under a spool's name.
std::unique_ptr<Spool> adopted(const test::TempDir& dir, const std::string& content) {
  dir.write("jobs.db-spool-abcdef", content);
  auto files = SpoolFile::left_behind(dir / "jobs.db");
  REQUIRE(files.size() == 1);
  return Spool::adopt(std::move(files[0]));
}

/// KiB of the spool's file that this process has in its memory (proc(5)).
std::size_t resident(const Spool& spool) {
  std::ifstream maps("/proc/self/smaps");
  bool is_spool = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with(spool.file().path())) is_spool = true;
    if (is_spool && line.starts_with("Rss:")) return std::stoul(line.substr(4));
  }
  FAIL("the spool is not mapped");
  return 0;
}

TEST_CASE("the memory of what was dropped is given back, and what comes behind it stays") {
  const test::TempDir dir;
  const auto spool = spool_in(dir, 8 << 20);
  const std::string record(1000, 'r');
  for (int written = 0; written < 20'000; ++written) {  // more than two laps
    REQUIRE(spool->append(record + std::to_string(written)));
    if (written % 100 != 99) continue;
    const Records records = records_of(*spool);
    REQUIRE(records.size() == 100);
    CHECK(records.back() == record + std::to_string(written));
    spool->drop(spool->tail());
    if (written % 1000 == 999) CHECK(resident(*spool) < 2048);
  }
}

TEST_CASE("records are taken as far as somebody takes them") {
  const test::TempDir dir;
  const auto spool = spool_in(dir, 4096);
  for (const char* record : {"one", "two", "three"}) REQUIRE(spool->append(record));
  CHECK(spool->file().sync());
  Records taken;
  const auto two = [&](std::string_view record) {
    if (taken.size() == 2) return false;
    taken.emplace_back(record);
    return true;
  };
  const Spool::Taken first = spool->take(spool->tail(), two);
  CHECK(taken == Records{"one", "two"});
  CHECK(first.unreadable == 0);
  spool->drop(first.end);
  CHECK(records_of(*spool) == Records{"three"});
}

TEST_CASE("a spool whose folder is gone cannot be on the disk for sure") {
  const test::TempDir dir;
  std::filesystem::create_directory(dir.path() / "a");
  const auto spool = *Spool::create(dir / "a/jobs.db", 4096);
  std::filesystem::remove_all(dir.path() / "a");
  const Result<void> synced = spool->file().sync();
  REQUIRE_FALSE(synced.ok());
  CHECK(synced.error().kind == ErrorKind::unavailable);
  CHECK(synced.error().message.find("is not on the disk: No such file") != std::string::npos);
}

TEST_CASE("a spool gives its records back in order, until they are dropped") {
  const test::TempDir dir;
  const auto spool = spool_in(dir, 4096);
  CHECK(spool->empty());
  CHECK(spool->append("one"));
  CHECK(spool->append(""));
  CHECK(spool->append(std::string(100, 'x')));
  CHECK(records_of(*spool) == Records{"one", "", std::string(100, 'x')});
  const std::uint64_t position = spool->tail();
  CHECK(spool->append("two"));
  spool->drop(position);
  CHECK(records_of(*spool) == Records{"two"});
  CHECK_FALSE(spool->empty());
  spool->drop(spool->tail());
  CHECK(spool->empty());
}

TEST_CASE("a spool goes round and round, with records of any size") {
  const test::TempDir dir;
  const auto spool = spool_in(dir, 4096);
  Records waiting;
  for (std::size_t i = 0; i < 2000; ++i) {
    const std::string record(i * 37 % 900, static_cast<char>('a' + i % 26));
    REQUIRE(spool->takes(record.size()));
    if (!spool->append(record)) {
      REQUIRE(records_of(*spool) == waiting);
      spool->drop(spool->tail());
      waiting.clear();
      REQUIRE(spool->append(record));
    }
    waiting.push_back(record);
  }
  CHECK(records_of(*spool) == waiting);
}

TEST_CASE("a full spool takes nothing, and nothing in it changes") {
  const test::TempDir dir;
  const auto spool = spool_in(dir, 4096);
  Records records;
  while (spool->append(std::string(200, static_cast<char>('a' + records.size())))) {
    records.emplace_back(200, static_cast<char>('a' + records.size()));
  }
  CHECK(records.size() > 15);
  CHECK(spool->more_than_half_full());
  CHECK_FALSE(spool->append(std::string(200, 'z')));
  CHECK(records_of(*spool) == records);
  CHECK_FALSE(spool->takes(2000));
}

TEST_CASE("a spool is its owner's alone, and the disk has set its space aside") {
  const test::TempDir dir;
  const auto spool = spool_in(dir, 65536);
  struct stat status {};
  REQUIRE(::stat(spool->file().path().c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
  CHECK(status.st_blocks * 512 >= 65536);
}

TEST_CASE("only the spools of processes that ended are left behind, and what they hold is whole") {
  const test::TempDir dir;
  auto dead = spool_in(dir, 4096);
  const auto living = spool_in(dir, 4096);
  REQUIRE(dead->append("a record"));
  CHECK(SpoolFile::left_behind(dir / "jobs.db").empty());
  CHECK(SpoolFile::left_behind(dir / "other.db").empty());
  dead.reset();
  {
    auto files = SpoolFile::left_behind(dir / "jobs.db");
    REQUIRE(files.size() == 1);
    CHECK(SpoolFile::left_behind(dir / "jobs.db").empty());  // somebody has it
    const auto adopted = Spool::adopt(std::move(files[0]));
    REQUIRE(adopted != nullptr);
    CHECK(records_of(*adopted) == Records{"a record"});
    adopted->file().remove();
    CHECK(adopted->file().is_gone());
  }
  CHECK(files_in(dir) == 1);
}

TEST_CASE("what is no spool is not adopted") {
  const test::TempDir dir;
  CHECK(adopted(dir, "short") == nullptr);
  CHECK(adopted(dir, std::string(10000, 'x')) == nullptr);
  std::string impossible("rest_fcgi sp 2\n", 16);
  impossible += std::string(8, '\x10') + std::string(8, '\0');  // the head after the tail
  impossible.resize(10000);
  CHECK(adopted(dir, impossible) == nullptr);
}

TEST_CASE("a spool of older releases is gone on with, and is none of theirs any more") {
  const test::TempDir dir;
  auto first = spool_in(dir, 4096);
  REQUIRE(first->append("theirs"));
  const std::string path = first->file().path();
  std::string content = dir.read(std::filesystem::path(path).filename().string());
  first->file().remove();
  REQUIRE(content.starts_with("rest_fcgi sp 2\n"));
  content[13] = '1';
  const auto spool = adopted(dir, content);
  REQUIRE(spool != nullptr);
  REQUIRE(spool->append("ours"));
  CHECK(records_of(*spool) == Records{"theirs", "ours"});
  CHECK(dir.read("jobs.db-spool-abcdef").starts_with("rest_fcgi sp 2\n"));
}

TEST_CASE("an empty file of a process that ended at its very beginning is taken away") {
  const test::TempDir dir;
  dir.write("jobs.db-spool-abcdef", "");
  CHECK(SpoolFile::left_behind(dir / "jobs.db").empty());
  CHECK(files_in(dir) == 0);
}

TEST_CASE("a file of a process that ended before it wrote anything into it is an empty spool") {
  const test::TempDir dir;
  const auto spool = adopted(dir, std::string(10000, '\0'));
  REQUIRE(spool != nullptr);
  CHECK(spool->empty());
}

TEST_CASE("a file that others may write to, or that is no file, is left alone") {
  const test::TempDir dir;
  const std::string path = dir.write("jobs.db-spool-abcdef", std::string(10000, 'x'));
  REQUIRE(::chmod(path.c_str(), 0622) == 0);
  std::filesystem::create_directory(dir / "jobs.db-spool-folder");
  std::filesystem::create_symlink(path, dir / "jobs.db-spool-link");
  CHECK(SpoolFile::left_behind(dir / "jobs.db").empty());
  CHECK(files_in(dir) == 3);
}

TEST_CASE("bytes that a power cut left unwritten are counted, and what is before them is found") {
  const test::TempDir dir;
  const auto spool = spool_in(dir, 4096);
  REQUIRE(spool->append("one"));
  const std::uint64_t whole = spool->tail();
  REQUIRE(spool->append("two"));
  for (const std::size_t at : {std::size_t{0}, std::size_t{4}, std::size_t{8}, std::size_t{16}}) {
    char* const byte = spool->file().data() + 4096 + whole + at;  // of the size, sum, position or content
    *byte = static_cast<char>(*byte ^ 1);
    Records records;
    CHECK(read(*spool, records) == spool->tail() - whole);
    CHECK(records == Records{"one"});
    *byte = static_cast<char>(*byte ^ 1);
  }
  CHECK(records_of(*spool) == Records{"one", "two"});
}

TEST_CASE("what lies behind bytes that a power cut left unwritten is found") {
  const test::TempDir dir;
  const auto spool = spool_in(dir, 4096);
  REQUIRE(spool->append("one"));
  const std::uint64_t whole = spool->tail();
  REQUIRE(spool->append(std::string(100, 'x')));
  REQUIRE(spool->append("three"));
  spool->file().data()[4096 + whole + 50] = 'y';
  Records records;
  CHECK(read(*spool, records) == 128);
  CHECK(records == Records{"one", "three"});
}

TEST_CASE("records are found also where a power cut left an older head, whose records were overwritten") {
  const test::TempDir dir;
  const auto spool = spool_in(dir, 4096);
  for (int i = 0; i < 18; ++i) REQUIRE(spool->append(std::string(200, static_cast<char>('a' + i))));
  const std::string header = std::string(spool->file().data(), 4096);
  spool->drop(spool->tail() - 5 * 224);
  for (int i = 0; i < 4; ++i) REQUIRE(spool->append(std::string(250, 'z')));
  std::copy(header.begin(), header.end(), spool->file().data());  // all else came to the disk
  Records found;
  CHECK(read(*spool, found) > 0);
  REQUIRE(found.size() >= 13);
  CHECK(found.back() == std::string(200, 'r'));
  CHECK(std::none_of(found.begin(), found.end(), [](const auto& one) { return one[0] == 'z'; }));
}

TEST_CASE("a record that is withdrawn is not seen, and those around it are") {
  const test::TempDir dir;
  const auto spool = spool_in(dir, 4096);
  REQUIRE(spool->append("one"));
  REQUIRE(spool->append("two"));
  const std::uint64_t end = spool->tail();
  REQUIRE(spool->append("three"));
  spool->withdraw(end);
  CHECK(records_of(*spool) == Records{"one", "three"});
}

TEST_CASE("a spool that cannot be made says why") {
  const test::TempDir dir;
  const auto missing = Spool::create(dir / "nosuch/jobs.db", 4096);
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().kind == ErrorKind::unavailable);
  CHECK(missing.error().message.find("cannot be made: No such file or directory") != std::string::npos);
  const auto huge = Spool::create(dir / "jobs.db", std::size_t{1} << 60);
  REQUIRE_FALSE(huge.ok());
  CHECK(files_in(dir) == 0);
}

}  // namespace
}  // namespace rest_fcgi::returner
