// SPDX-License-Identifier: MIT
#include "master/embedded/jobs/proc_dir.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../../support/fork_alone.h"
#include "../../../support/limit.h"
#include "../../../support/temp_dir.h"
#include "load.h"
#include "rest_fcgi/core/format.h"

using namespace rest_fcgi;
using namespace rest_fcgi::embedded;
using test::kJid;
using test::load_of;

namespace {

std::unique_ptr<ProcDir> opened(const std::string& path) {
  auto directory = ProcDir::open(path);
  if (!directory) FAIL(directory.error().message);
  return *std::move(directory);
}

std::vector<std::string> files(const std::filesystem::path& dir) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

/// A process that shows a job until it is killed.
class OtherProcess {
 public:
  explicit OtherProcess(const std::string& path) {
    std::array<int, 2> ready{};
    REQUIRE(::pipe(ready.data()) == 0);
    pid_ = test::fork_alone();
    if (pid_ == 0) {
      const auto proc = ProcDir::open(path);
      if (proc && (*proc)->add(load_of(kJid), "sqlite3")) (void)!::write(ready[1], "x", 1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    CHECK(::read(ready[0], &byte, 1) == 1);
    ::close(ready[0]);
  }
  ~OtherProcess() {
    if (pid_ > 0) kill();
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

}  // namespace

TEST_CASE("a job of this process has a file of its own as long as it runs, for its user alone") {
  const test::TempDir dir;
  const auto proc = opened(dir / "proc");
  struct stat status = {};
  REQUIRE(::stat((dir / "proc").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0700);
  REQUIRE(proc->add(load_of(kJid), ""));
  for (const std::string& name : files(dir / "proc")) {
    REQUIRE(::stat((dir / ("proc/" + name)).c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0600);
  }
  CHECK(files(dir / "proc").size() == 2);  // and the one that says that this process runs
  CHECK(proc->others().empty());
  proc->remove(kJid);
  CHECK(files(dir / "proc").size() == 1);
}

TEST_CASE("a job is read as it was shown") {
  const test::TempDir dir;
  const auto proc = opened(dir.path());
  const auto other = opened(dir.path());
  REQUIRE(other->add(load_of(kJid), "memory,sqlite3"));
  const auto others = proc->others();
  REQUIRE(others.size() == 1);
  CHECK_FALSE(others[0].is_gone);
  const ActiveJob& job = others[0].job;
  CHECK(job.pid == ::getpid());
  CHECK(job.ret == "memory,sqlite3");
  CHECK(job.load.jid == kJid);
  CHECK(job.load.fun.text() == "\"test.sleep\"");
  CHECK(job.load.arg.text() == "[600]");
  CHECK(job.load.tgt.text() == "\"*\"");
  CHECK(job.load.tgt_type == "glob");
  CHECK(job.load.user == "fred");
  CHECK(job.load.metadata->text() == R"({"a": 1})");
  CHECK(job.load.minions == std::vector<std::string>{"ms-0", "ms-1"});
}

TEST_CASE("a job that nobody could read again is not shown") {
  const test::TempDir dir;
  const auto proc = opened(dir.path());
  returner::Load load = load_of(kJid);
  load.arg = Json::string(std::string(64 << 20, 'x'));
  const auto added = proc->add(load, "");
  REQUIRE_FALSE(added);
  CHECK(added.error().message.starts_with("its load has 67109"));
  CHECK(files(dir.path()).size() == 1);
}

TEST_CASE("a directory that takes no file is a mistake") {
  const test::TempDir dir;
  const int next = ::dup(0);
  ::close(next);
  const test::Limit one_file(RLIMIT_NOFILE, static_cast<rlim_t>(next) + 1);
  const auto refused = ProcDir::open(dir.path());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::configuration);
  CHECK(refused.error().message ==
        format("embedded: proc_dir: {} cannot be written to: Too many open files", dir.path().string()));
}

TEST_CASE("jobs of other processes are seen, and whether these still run") {
  const test::TempDir dir;
  const auto proc = opened(dir.path());
  OtherProcess other(dir.path());
  auto others = proc->others();
  REQUIRE(others.size() == 1);
  CHECK(others[0].job.pid == other.pid());
  CHECK(others[0].job.ret == "sqlite3");
  CHECK_FALSE(others[0].is_gone);
  other.kill();
  others = proc->others();
  REQUIRE(others.size() == 1);
  CHECK(others[0].is_gone);
}

TEST_CASE("processes of the same pid, as containers have them, are told from each other") {
  const test::TempDir dir;
  const auto proc = opened(dir.path());
  auto first = opened(dir.path());
  const auto second = opened(dir.path());
  REQUIRE(first->add(load_of(kJid), ""));
  REQUIRE(second->add(load_of("20261120230610043747"), ""));
  REQUIRE(second->others().size() == 1);
  REQUIRE(proc->mark(second->others()[0], 0));
  CHECK(second->take_marks().empty());
  CHECK(first->take_marks().size() == 1);
  first.reset();
  const auto others = proc->others();
  REQUIRE(others.size() == 2);
  CHECK(others[0].is_gone);
  CHECK_FALSE(others[1].is_gone);
}

TEST_CASE("what a process left is dropped together with its marks") {
  const test::TempDir dir;
  const auto proc = opened(dir.path());
  auto other = opened(dir.path());
  REQUIRE(other->add(load_of(kJid), ""));
  other.reset();
  const auto others = proc->others();
  REQUIRE(others.size() == 1);
  REQUIRE(proc->mark(others[0], 1));
  CHECK(files(dir.path()).size() == 3);
  CHECK(proc->has(others[0]));
  proc->drop(others[0]);
  CHECK_FALSE(proc->has(others[0]));
  CHECK(files(dir.path()).size() == 1);
}

TEST_CASE("of a file that is not whole the job's id is known alone") {
  const test::TempDir dir;
  const auto proc = opened(dir.path());
  for (const std::string& text : {std::string("{\"fun\":"), std::string(), std::string(200000, '[')}) {
    std::ofstream(dir / format("{}.1-1", kJid)) << text;
    const auto others = proc->others();
    REQUIRE(others.size() == 1);
    CHECK(others[0].job.load.jid == kJid);
    CHECK(others[0].job.load.minions.empty());
    CHECK(others[0].is_gone);
  }
}

TEST_CASE("marks reach the process that they are for, once") {
  const test::TempDir dir;
  const auto proc = opened(dir.path());
  const auto other = opened(dir.path());
  REQUIRE(proc->add(load_of(kJid), ""));
  REQUIRE(other->mark(other->others().at(0), 1));
  CHECK(other->take_marks().empty());
  const auto marks = proc->take_marks();
  REQUIRE(marks.size() == 1);
  CHECK(marks[0].jid == kJid);
  CHECK(marks[0].call == 1);
  CHECK(proc->take_marks().empty());
}

TEST_CASE("files that are none of ours are left alone, and leftovers are not") {
  const test::TempDir dir;
  const auto proc = opened(dir.path());
  for (const char* name :
       {"20261120230610043746", "x.1-1", "20261120230610043746.x", "20261120230610043746.1-1.y", "x.lock"}) {
    std::ofstream(dir / name) << "x";
  }
  CHECK(proc->others().empty());
  CHECK(files(dir.path()).size() == 6);
  for (const char* name : {".20261120230610043746.1-1", "20261120230610043746.1-1.0", "1-1.lock"}) {
    std::ofstream(dir / name) << "x";
  }
  CHECK(proc->others().empty());
  CHECK(files(dir.path()).size() == 6);
  const auto other = opened(dir.path());
  CHECK(proc->others().empty());
  CHECK(files(dir.path()).size() == 7);  // the lock of a process that runs stays
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
  CHECK_FALSE(proc->mark({"file", {}, false}, 0));
  CHECK(proc->others().empty());
}
