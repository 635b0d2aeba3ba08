// SPDX-License-Identifier: MIT
#include "master/embedded/jobs/proc_dir.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>

#include "../../../support/temp_dir.h"
#include "rest_fcgi/core/format.h"

using namespace rest_fcgi;
using namespace rest_fcgi::embedded;

namespace {

constexpr const char* kJid = "20261120230610043746";

returner::Load load_of(const std::string& jid) {
  returner::Load load;
  load.jid = jid;
  load.fun = Json::string("test.sleep");
  load.arg = Json::trusted("[600]");
  load.tgt = Json::string("*");
  load.tgt_type = "glob";
  load.user = "fred";
  load.metadata = Json::trusted(R"({"a": 1})");
  load.minions = {"ms-0", "ms-1"};
  return load;
}

std::unique_ptr<ProcDir> opened(const std::string& path) {
  auto directory = ProcDir::open(path);
  if (!directory) FAIL(directory.error().message);
  return *std::move(directory);
}

/// A process that does nothing until it is ended.
class Child {
 public:
  Child() : pid_(::fork()) {
    while (pid_ == 0) ::pause();
  }
  ~Child() {
    if (pid_ > 0) end();
  }
  void end() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

/// As if that process showed the job.
void show(const test::TempDir& dir, pid_t pid, const std::string& started) {
  const ProcEntry entry{{pid, started}, load_of(kJid), "sqlite3"};
  std::ofstream(dir / format("{}.{}", kJid, pid)) << to_json(entry).text();
}

std::size_t files_in(const test::TempDir& dir) {
  using Files = std::filesystem::directory_iterator;
  return static_cast<std::size_t>(std::distance(Files(dir.path()), Files()));
}

}  // namespace

TEST_CASE("a job of this process has a file of its own as long as it runs, for its user alone") {
  const test::TempDir dir;
  const auto proc = opened(dir / "proc");
  struct stat status = {};
  REQUIRE(::stat((dir / "proc").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0700);
  REQUIRE(proc->add(load_of(kJid), ""));
  const std::string path = dir / format("proc/{}.{}", kJid, ::getpid());
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
  CHECK(proc->others().empty());
  proc->remove(kJid);
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("an entry is read as it was written") {
  const ProcEntry written{{77, "boot/1"}, load_of(kJid), "memory,sqlite3"};
  const auto read = proc_entry_from(to_json(written).text());
  REQUIRE(read.has_value());
  CHECK(to_json(*read) == to_json(written));
  CHECK(read->load.minions == written.load.minions);
  CHECK(read->process == written.process);
  CHECK_FALSE(proc_entry_from(std::string(200000, '[')).has_value());
  for (const char* text : {"", "{}", "[]", "{\"pid\": 1}", "{\"pid\": \"1\", \"jid\": \"2\"}"}) {
    CAPTURE(text);
    CHECK_FALSE(proc_entry_from(text).has_value());
  }
}

TEST_CASE("jobs of other processes are seen, and whether these still run") {
  const test::TempDir dir;
  const auto proc = opened(dir.path());
  Child child;
  show(dir, child.pid(), "");
  auto others = proc->others();
  REQUIRE(others.size() == 1);
  CHECK(others[0].process.pid == child.pid());
  CHECK(others[0].load.jid == kJid);
  CHECK(others[0].ret == "sqlite3");
  CHECK(others[0].process.runs());
  child.end();
  CHECK_FALSE(others[0].process.runs());
}

TEST_CASE("a process that got the pid of another one is not that one") {
  CHECK(ProcessId::self().runs());
  CHECK_FALSE(ProcessId::self().started.empty());
  CHECK_FALSE(ProcessId{::getpid(), "another boot/1"}.runs());
  CHECK_FALSE(ProcessId{0, ""}.runs());
  const test::TempDir dir;
  const auto proc = opened(dir.path());
  show(dir, ::getpid(), "another boot/1");
  const auto others = proc->others();
  REQUIRE(others.size() == 1);
  CHECK_FALSE(others[0].process.runs());
}

TEST_CASE("what a process left is dropped together with its marks") {
  const test::TempDir dir;
  const auto proc = opened(dir.path());
  Child child;
  show(dir, child.pid(), "");
  const auto others = proc->others();
  REQUIRE(others.size() == 1);
  REQUIRE(proc->mark(others[0], 1));
  CHECK(files_in(dir) == 2);
  CHECK(proc->has(others[0]));
  proc->drop(others[0]);
  CHECK_FALSE(proc->has(others[0]));
  CHECK(files_in(dir) == 0);
}

TEST_CASE("an entry that is not whole belongs to a process that is gone") {
  const test::TempDir dir;
  const auto proc = opened(dir.path());
  std::ofstream(dir / format("{}.{}", kJid, ::getppid())) << "{\"pid\":";
  const auto others = proc->others();
  REQUIRE(others.size() == 1);
  CHECK(others[0].load.jid == kJid);
  CHECK_FALSE(others[0].process.runs());
}

TEST_CASE("marks reach the process that they are for, once") {
  const test::TempDir dir;
  const auto proc = opened(dir.path());
  ProcEntry own{ProcessId::self(), load_of(kJid), ""};
  REQUIRE(proc->mark(own, 1));
  const auto marks = proc->take_marks();
  REQUIRE(marks.size() == 1);
  CHECK(marks[0].jid == kJid);
  CHECK(marks[0].call == 1);
  CHECK(proc->take_marks().empty());
}

TEST_CASE("files that are none of ours are left alone, and leftovers are not") {
  const test::TempDir dir;
  std::ofstream(dir / format(".{}.{}", kJid, ::getpid())) << "x";
  std::ofstream(dir / format("{}.{}.stop.0", kJid, ::getpid())) << "";
  const auto proc = opened(dir.path());
  CHECK(files_in(dir) == 0);
  for (const char* name :
       {"20261120230610043746", "x.1", "20261120230610043746.x", "20261120230610043746.1.y"}) {
    std::ofstream(dir / name) << "x";
  }
  CHECK(proc->others().empty());
  CHECK(files_in(dir) == 4);
  Child child;
  std::ofstream(dir / format(".{}.{}", kJid, child.pid())) << "x";
  CHECK(proc->others().empty());
  CHECK(files_in(dir) == 5);
  child.end();
}

TEST_CASE("a directory that others may write to, or that is none, is refused") {
  const test::TempDir dir;
  std::filesystem::create_directory(dir / "open");
  REQUIRE(::chmod((dir / "open").c_str(), 0777) == 0);
  const auto open = ProcDir::open(dir / "open");
  REQUIRE_FALSE(open);
  CHECK(open.error().kind == ErrorKind::configuration);
  CHECK(open.error().message.find("mode 0777") != std::string::npos);
  std::ofstream(dir / "file") << "x";
  const auto file = ProcDir::open(dir / "file");
  REQUIRE_FALSE(file);
  CHECK(file.error().message.find("cannot be opened") != std::string::npos);
  const auto below = ProcDir::open(dir / "a/b/c");
  REQUIRE_FALSE(below);
  CHECK(below.error().message.find("cannot be made") != std::string::npos);
}

TEST_CASE("a job that cannot be shown says why") {
  const test::TempDir dir;
  const auto proc = opened(dir / "proc");
  std::filesystem::remove_all(dir / "proc");
  const Result<void> added = proc->add(load_of(kJid), "");
  REQUIRE_FALSE(added);
  CHECK(added.error().message.find("No such file") != std::string::npos);
  CHECK_FALSE(proc->mark({ProcessId::self(), load_of(kJid), ""}, 0));
  CHECK(proc->others().empty());
}
