// SPDX-License-Identifier: MIT
#include "rest_fcgi/process/program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <linux/capability.h>

#include "../support/temp_dir.h"
#include "programs.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/users.h"

namespace rest_fcgi::process {
namespace {

TEST_CASE("run passes arguments unchanged, and returns outputs and exit status or signal") {
  const Ended ended = run(shell("echo out; echo err >&2; exit 3"));
  CHECK(ended.how == How::exited);
  CHECK(ended.code == 3);
  CHECK(ended.pid > 1);
  CHECK(ended.output == "out\n");
  CHECK(ended.errors == "err\n");
  CHECK_FALSE(ended.output_cut);
  CHECK_FALSE(ended.errors_cut);
  CHECK_FALSE(has_children());
  CHECK(run(program({"printf", "%s|", "a b", "", "$HOME", "*", "'"})).output == "a b||$HOME|*|'|");
  Program both = shell("echo 1; echo 2 >&2; echo 3; kill -9 $$");
  both.merge_errors = true;  // The output has the lines in the order in which the program wrote them.
  const Ended killed = run(both);
  CHECK(killed.output == "1\n2\n3\n");
  CHECK(killed.errors.empty());
  CHECK(killed.how == How::killed);
  CHECK(killed.code == -9);
}

TEST_CASE("a program has the environment that it is given, and can inherit that of rest_fcgi_run") {
  Program env = program({"/usr/bin/env"});
  CHECK(run(env).output == "PATH=/usr/bin:/bin\n");
  env.environment = {"A=1", "B=x y"};
  CHECK(run(env).output == "A=1\nB=x y\n");
  env.environment = {"A=1"};
  env.inherit = true;
  CHECK(run(env).output == "A=1\nPATH=/usr/sbin:/usr/bin:/sbin:/bin\n");
  env.environment = {"PATH=/bin"};
  CHECK(run(env).output == "PATH=/bin\n");
}

TEST_CASE("a name without a slash is searched in the environment's PATH, else in the system's") {
  const test::TempDir dir;
  dir.write("tool", "#!/bin/sh\necho found\n");
  std::filesystem::permissions(dir / "tool", std::filesystem::perms::owner_all);
  Program tool = program({"tool"});
  CHECK(failure(tool).message == "[Errno 2] No such file or directory: 'tool'");
  tool.environment = {"PATH=/nosuch:/etc/passwd:" + dir.path().string()};
  CHECK(run(tool).output == "found\n");
  tool.environment = {"PATH="};
  tool.cwd = dir.path();
  CHECK(run(tool).output == "found\n");
  Program system = program({"true"});
  system.environment = {};
  CHECK(run(system).code == 0);
}

TEST_CASE("a program that cannot be run is an error with Python's message") {
  const test::TempDir dir;
  CHECK(failure(program({"/nosuch/program"})).kind == ErrorKind::not_found);
  CHECK(failure(program({"/nosuch/program"})).message ==
        "[Errno 2] No such file or directory: '/nosuch/program'");
  const std::string text = dir.write("text", "no program");
  CHECK(failure(program({text})).kind == ErrorKind::internal);
  CHECK(failure(program({text})).message == format("[Errno 13] Permission denied: '{}'", text));
  std::filesystem::permissions(text, std::filesystem::perms::owner_all);
  CHECK(failure(program({text})).message == format("[Errno 8] Exec format error: '{}'", text));
  CHECK(failure(program({"/bin/true", std::string(40 << 20, 'x')})).message ==
        "[Errno 7] Argument list too long: '/bin/true'");
  CHECK_FALSE(has_children());
}

TEST_CASE("a program starts in its folder, else in HOME or /") {
  const test::TempDir dir;
  Program pwd = program({"pwd"});
  CHECK(run(pwd).output == "/\n");
  pwd.cwd = dir.path();
  CHECK(run(pwd).output == dir.path().string() + "\n");
  pwd.cwd = dir / "nosuch";
  CHECK(failure(pwd).message == format("[Errno 2] No such file or directory: '{}'", dir / "nosuch"));
  pwd.cwd = dir.write("file", "");
  CHECK(failure(pwd).message == format("[Errno 20] Not a directory: '{}'", dir / "file"));
  pwd.cwd.clear();
  CHECK(run(pwd).output == "/\n");
  pwd.environment = {"HOME=" + dir.path().string()};
  CHECK(run(pwd).output == dir.path().string() + "\n");
  pwd.environment = {"HOME=/nosuch"};
  CHECK(run(pwd).output == "/\n");
}

TEST_CASE("texts with NUL bytes are refused") {
  const std::string nul("a\0b", 3);
  Program environment = program({"echo"});
  environment.environment.push_back("A=" + nul);
  Program folder = program({"echo"});
  folder.cwd = "/" + nul;
  for (const Program& bad : {program({"echo", nul}), environment, folder}) {
    CHECK(failure(bad).kind == ErrorKind::invocation);
    CHECK(failure(bad).message == "embedded null byte");
  }
}

TEST_CASE("a program with much input may write much output, or not read its input") {
  Program cat = program({"cat"});
  for (std::size_t i = 0; cat.input.size() < 4'000'000; ++i) cat.input += std::to_string(i) + "\n";
  const Ended ended = run(cat);
  CHECK(ended.output == cat.input);
  CHECK(ended.code == 0);
  Program deaf = shell("exec 0<&-; echo done");
  deaf.input = std::string(1'000'000, 'x');
  CHECK(run(deaf).output == "done\n");
}

TEST_CASE("on_line can answer a program line by line") {
  Program asks =
      shell("read greeting; echo $greeting; read answer; echo \"<$answer>\"; read more; printf rest");
  asks.input = "hello\n";
  std::vector<std::string> lines;
  asks.on_line = [&lines](std::string_view line) {
    lines.emplace_back(line);
    return format("answer {}\n", lines.size());
  };
  const Ended ended = run(asks);
  CHECK(lines == std::vector<std::string>{"hello", "<answer 1>"});
  CHECK(ended.output == "rest");
  CHECK(ended.code == 0);
}

TEST_CASE("output beyond the limit is discarded and reported, and a line beyond it ends the answers") {
  Program asks = shell("echo one; printf '%05000d\\ntwo\\n' 0");
  asks.output_limit = 1000;
  std::vector<std::string> lines;
  asks.on_line = [&lines](std::string_view line) {
    lines.emplace_back(line);
    return std::string();
  };
  const Ended ended = run(asks);
  CHECK(lines == std::vector<std::string>{"one"});
  CHECK(ended.output == std::string(1000, '0'));
  CHECK(ended.output_cut);
  Program much = shell("head -c 100000 /dev/zero | tr '\\0' x; echo short >&2");
  much.output_limit = 1000;
  const Ended cut = run(much);
  CHECK(cut.output == std::string(1000, 'x'));
  CHECK(cut.output_cut);
  CHECK(cut.errors == "short\n");
  CHECK_FALSE(cut.errors_cut);
  CHECK(cut.code == 0);
  much.output_limit = 100'000;
  const Ended whole = run(much);
  CHECK(whole.output.size() == 100'000);
  CHECK_FALSE(whole.output_cut);
}

TEST_CASE("a program leads a new session, with default signals and the given umask") {
  sigset_t blocked;
  sigset_t before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::sigaddset(&blocked, SIGCHLD);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const Ended ended = run(program({"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"}));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::istringstream signals(ended.output);
  std::string name;
  std::uint64_t in_mask = 1;
  std::uint64_t ignored = 1;
  signals >> name >> std::hex >> in_mask >> name >> ignored;
  CHECK(in_mask == 0);
  // glibc reserves some signals above 31.
  CHECK((ignored & 0x7fffffffU) == 0);
  const Ended ids = run(shell("cut -d' ' -f1,5,6,7 /proc/$$/stat; umask"));
  CHECK(ids.output == format("{0} {0} {0} 0\n0022\n", ids.pid));
  Program masked = shell("umask");
  masked.umask = 0137;
  CHECK(run(masked).output == "0137\n");
}

TEST_CASE("a program has only the three standard descriptors") {
  const int leaked = ::open("/dev/null", O_RDONLY);  // A child process would inherit this open file.
  REQUIRE(leaked > 2);
  Program ls = program({"ls", "/proc/self/fd"});
  ls.input = "x";
  CHECK(run(ls).output == "0\n1\n2\n3\n");  // `ls` reads the folder with descriptor 3.
  ::close(leaked);
}

TEST_CASE("a program can open its own standard descriptors, also as another user") {
  Program echo = shell("echo out > /dev/stdout; echo err > /dev/stderr; cat /dev/stdin");
  echo.input = "in";
  CHECK(run(echo).output == "out\nin");
  CHECK(run(echo).errors == "err\n");
  if (::geteuid() != 0) return;
  const auto nobody = account_of("nobody");
  REQUIRE(nobody.has_value());
  echo.identity = identity_of(*nobody);
  CHECK(run(echo).output == "out\nin");
  CHECK(run(echo).errors == "err\n");
}

TEST_CASE("CVE-2013-6617: a program of another user has only that user's groups") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root may run programs as others");
    return;
  }
  const auto nobody = account_of("nobody");
  REQUIRE(nobody.has_value());
  Program id = shell("id -u; id -g; id -G; grep CapEff /proc/self/status");
  id.identity = identity_of(*nobody);
  CHECK(run(id).output ==
        format("{}\n{}\n{}\nCapEff:\t0000000000000000\n", nobody->uid, nobody->gid, nobody->gid));
  const test::TempDir dir;
  id.cwd = dir.path();  // The user `nobody` cannot enter this directory of mode 0700.
  CHECK(failure(id).message == format("[Errno 13] Permission denied: '{}'", dir.path().string()));
}

/// Removes root's special rights from this thread and from the processes that it starts.
void drop_capabilities() {
  for (const unsigned long capability : {6UL, 7UL})  // CAP_SETGID, CAP_SETUID
    ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  REQUIRE(::syscall(SYS_capset, &header, none) == 0);
}

TEST_CASE("without privilege a program runs only as the current user") {
  const std::string own = std::to_string(::geteuid());
  std::string refusal;
  Ended same;
  std::thread([&] {
    drop_capabilities();
    Program id = program({"id", "-u"});
    id.identity = Identity{65533, 65533, {65533}};
    const Result<Ended> ended = runner().run(id, {});
    if (!ended) refusal = ended.error().message;
    id.identity = Identity{::geteuid(), ::getegid(), {}};
    Result<Ended> kept = runner().run(id, {});
    if (kept) same = *std::move(kept);
  }).join();
  CHECK(refusal ==
        "The program 'id' cannot run as the user of id 65533: [Errno 1] Operation not permitted; only a "
        "process of root may change its user.");
  CHECK(same.output == own + "\n");
}

TEST_CASE("an identity has all groups of the user") {
  const auto root = account_of("root");
  REQUIRE(root.has_value());
  const Identity identity = identity_of(*root);
  CHECK(identity.uid == 0);
  CHECK(identity.groups.size() >= 1);
  CHECK_FALSE(account_of("nosuch-user").has_value());
}

TEST_CASE("many threads can run programs at once") {
  std::vector<int> right(6, 0);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < right.size(); ++i) {
      threads.emplace_back([&right, i] {
        for (int n = 0; n < 5; ++n) {
          Program cat = program({"cat"});
          cat.input = std::string(100'000, static_cast<char>('a' + i));
          const Result<Ended> ended = runner().run(cat, {});
          right[i] += ended && ended->output == cat.input ? 1 : 0;
        }
      });
    }
  }
  CHECK(right == std::vector<int>(6, 5));
  CHECK_FALSE(has_children());
}

}  // namespace
}  // namespace rest_fcgi::process
