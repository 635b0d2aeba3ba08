// SPDX-License-Identifier: MIT
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "../support/captured_log.h"
#include "../support/limit.h"
#include "programs.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/unique_fd.h"
#include "rest_fcgi/core/users.h"

namespace rest_fcgi::process {
namespace {

TEST_CASE("a program is ended at its time limit") {
  Program slow = shell("sleep 1000 & wait");
  slow.time_limit = milliseconds(100);
  slow.grace = std::chrono::seconds(100);
  const auto start = steady_clock::now();
  const Ended ended = run(slow);
  CHECK(ended.how == How::timed_out);
  CHECK(ended.code == -SIGTERM);
  CHECK(steady_clock::now() - start >= milliseconds(100));
  CHECK(steady_clock::now() - start < std::chrono::seconds(50));
  CHECK_FALSE(has_children());
}

TEST_CASE("a program that is ended gets SIGTERM, then SIGKILL, and leaves no child processes") {
  struct Row {
    const char* text;
    std::chrono::milliseconds grace;
    int code;
  };
  const Row rows[] = {
      {"sleep 1000 & echo $!; wait", std::chrono::seconds(100), -SIGTERM},
      {"trap '' TERM; (sleep 1000; sleep 1000) & echo $!; while :; do sleep 0.05; done", milliseconds(100),
       -SIGKILL},
      // This child process leaves the group and the session of the program.
      {"setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' & sleep 1000", std::chrono::seconds(2),
       -SIGTERM},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const Ended ended = run_until_line(row.text, row.grace);
    CHECK(ended.how == How::stopped);
    CHECK(ended.code == row.code);
    CHECK(ends_soon(first_line(ended.output)));
  }
  // The program writes output after SIGTERM.
  const Ended ended = run_until_line("trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.02; done",
                                     std::chrono::seconds(100));
  CHECK(ended.how == How::stopped);
  CHECK(ended.code == 7);
  CHECK(ended.output == "ready\nbye\n");
  std::stop_source stop;
  stop.request_stop();
  CHECK(run(shell("sleep 1000"), stop.get_token()).how == How::stopped);
  CHECK_FALSE(has_children());
}

TEST_CASE("the output of children is waited for when the program itself is gone") {
  CHECK(run(shell("(sleep 0.2; echo late) & exit 4")).output == "late\n");
  Program held = shell("sleep 1000 & exit 4");
  held.time_limit = milliseconds(100);
  const Ended ended = run(held);
  CHECK(ended.how == How::timed_out);
  CHECK_FALSE(has_children());
}

/// A command that starts a traditional daemon. The daemon is an orphan in its own session, without
/// descriptors of the program.
const std::string kDaemon =
    "setsid sh -c 'sleep 1000 & echo $! > grandchild; echo $$ > daemon; wait' </dev/null >/dev/null 2>&1 &";

TEST_CASE("a daemon and its children end when the program ends by itself") {
  const test::TempDir dir;
  Program leaves = shell(kDaemon + " until [ -s daemon ]; do sleep 0.01; done; echo left; exit 3");
  leaves.cwd = dir.path();
  const Ended ended = run(leaves);
  CHECK(ended.how == How::exited);
  CHECK(ended.code == 3);
  CHECK(ended.output == "left\n");
  CHECK_FALSE(is_alive(dir.read("daemon")));
  CHECK_FALSE(is_alive(dir.read("grandchild")));
  CHECK_FALSE(has_children());
}

TEST_CASE("this process gets no orphans, also as process 1 of a container") {
  REQUIRE_FALSE(has_children());
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  CHECK(run(shell("(true &); (sleep 1000 >/dev/null 2>&1 &); echo done")).output == "done\n");
  CHECK(children().empty());
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST_CASE("a process of another user that cannot be ended is reported after the grace") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can make a program that others may not kill");
    return;
  }
  const test::TempDir dir;
  std::filesystem::permissions(dir.path(), std::filesystem::perms(0755));
  const std::string helper = dir / "rest_fcgi_run";
  std::filesystem::copy_file(shipped("rest_fcgi_run"), helper);
  const std::string sudo = dir / "sudo";
  std::filesystem::copy_file("/usr/bin/setpriv", sudo);
  std::filesystem::permissions(sudo, std::filesystem::perms(04755));
  const auto nobody = account_of("nobody");
  REQUIRE(nobody.has_value());
  Result<Ended> ended = Ended{};
  Result<Ended> left = Ended{};
  const test::CapturedLog log;
  std::thread([&] {
    // The raw system call changes the user id of this thread only, so rest_fcgi_run runs as `nobody`.
    REQUIRE(::syscall(SYS_setresuid, nobody->uid, nobody->uid, nobody->uid) == 0);
    Program stays = program({sudo, "--reuid=0", "sleep", "1000"});
    stays.time_limit = milliseconds(3000);
    stays.grace = milliseconds(100);
    ended = ProgramRunner(helper).run(stays, {});
    Program leaves = shell(sudo +
                           " --reuid=0 sleep 1000 </dev/null >/dev/null 2>&1 & until [ \"$(cat "
                           "/proc/$!/comm)\" = sleep ]; do sleep 0.01; done; exit 3");
    leaves.grace = milliseconds(100);
    left = ProgramRunner(helper).run(leaves, {});
  }).join();
  REQUIRE_FALSE(ended);
  CHECK(ended.error().kind == ErrorKind::internal);
  REQUIRE(left);
  CHECK(left->code == 3);
  for (const auto& [name, said] :
       {std::pair(sudo, ended.error().message), std::pair(std::string("/bin/sh"), log.text())}) {
    const std::string begin = format(
        "The program '{}' left processes that cannot be ended, because they run as another user: process ",
        name);
    const std::size_t at = said.find(begin);
    REQUIRE(at != std::string::npos);
    CHECK(said.find(" (sleep)") != std::string::npos);
    ::kill(std::stoi(said.substr(at + begin.size())), SIGKILL);
  }
}

TEST_CASE("a rest_fcgi_run that does not answer is given up") {
  const test::TempDir dir;
  const std::string deaf = dir.write("deaf", "#!/bin/sh\nexec sleep 1000 2>/dev/null\n");
  std::filesystem::permissions(deaf, std::filesystem::perms::owner_all);
  Program any = program({"true"});
  any.grace = milliseconds(0);
  std::stop_source stop;
  const std::jthread stopper([&] {
    std::this_thread::sleep_for(milliseconds(50));
    stop.request_stop();
  });
  const Error error = ProgramRunner(deaf, milliseconds(50)).run(any, stop.get_token()).error();
  CHECK(error.kind == ErrorKind::unavailable);
  CHECK(error.message.starts_with("The program 'true' is lost: rest_fcgi_run no longer answers"));
  CHECK_FALSE(has_children());
}

TEST_CASE("a missing rest_fcgi_run, or one that ends, is an error") {
  Program any = program({"true"});
  const auto refusal = [&any](const std::string& helper) {
    const Error error = ProgramRunner(helper).run(any, {}).error();
    CHECK(error.kind == ErrorKind::unavailable);
    return error.message;
  };
  CHECK(
      refusal("/nosuch/run") ==
      "The program 'true' cannot be started: cannot start the helper /nosuch/run: No such file or directory");
  CHECK(refusal("unix:/nosuch/run") ==
        "The program 'true' cannot be started: cannot connect to the socket /nosuch/run: No such file or "
        "directory");
  CHECK(
      refusal("/bin/true").starts_with("The program 'true' is lost: rest_fcgi_run ended before the program"));
  any = shell("kill -9 $PPID; exec sleep 1000");
  CHECK(refusal(shipped("rest_fcgi_run")).find(" is lost: rest_fcgi_run ended before the program") !=
        std::string::npos);
}

TEST_CASE("with few descriptors a program is not started, and the error names the cause") {
  Program any = program({"true"});
  std::set<std::string> refusals;
  const test::Limit few_files(RLIMIT_NOFILE, 256);
  std::vector<UniqueFd> others;
  while (others.emplace_back(::dup(STDIN_FILENO)).is_open()) continue;
  for (int left = 0; left < 12; ++left) {
    others.pop_back();
    const Result<Ended> ended = runner().run(any, {});
    if (ended) break;
    CHECK(ended.error().message.ends_with("Too many open files"));
    refusals.insert(ended.error().message);
  }
  CHECK(refusals.contains(
      "The program 'true' cannot be started: cannot create a socket for the helper: Too many open files"));
}

TEST_CASE("a program is ended when on_line throws") {
  const test::TempDir dir;
  Program asks = shell("echo $$ > pid; setsid sleep 1000 & echo line; wait");
  asks.cwd = dir.path();
  asks.on_line = [](std::string_view) -> std::string { throw std::bad_alloc(); };
  CHECK_THROWS(static_cast<void>(runner().run(asks, {})));
  CHECK(ends_soon(dir.read("pid")));
  CHECK_FALSE(has_children());
}

}  // namespace
}  // namespace rest_fcgi::process
