// SPDX-License-Identifier: MIT
#include "auth/pam_eauth.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/limit.h"
#include "pam_fixture.h"
#include "rest_fcgi/core/files.h"

namespace rest_fcgi::auth {
namespace {

using Came = PamFixture::Came;
using std::chrono::milliseconds;

/// Has it neither gone nor died?
bool is_running(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string stat;
  std::getline(file, stat);
  return !stat.empty() && stat.find(") Z ") == stat.npos;
}

/// A process that listens where a socket unit would, and starts a helper for each connection.
class SocketUnit {
 public:
  SocketUnit(const std::string& path, const std::string& helper) {
    const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    REQUIRE(path.size() < sizeof address.sun_path);
    std::memcpy(address.sun_path, path.data(), path.size());
    REQUIRE(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(listener.get(), 8) == 0);
    std::string name = helper;
    std::array<char*, 2> arguments{name.data(), nullptr};
    process_ = ::fork();
    if (process_ != 0) return;
    std::signal(SIGCHLD, SIG_IGN);
    for (;;) {
      const int connection = ::accept(listener.get(), nullptr, nullptr);
      if (::fork() != 0) {
        ::close(connection);
        continue;
      }
      ::dup2(connection, STDIN_FILENO);
      ::dup2(connection, STDOUT_FILENO);
      ::execv(name.c_str(), arguments.data());
      ::_exit(127);
    }
  }
  ~SocketUnit() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }

 private:
  pid_t process_;
};

void check_that_it_answers(PamFixture& pam) {
  CHECK(pam.login("fred", "sesame") == Came::yes);
  CHECK(pam.login("fred", "Sesame") == Came::no);
}

}  // namespace

TEST_CASE("PAM says whose password is good") {
  PamFixture pam;
  check_that_it_answers(pam);
  CHECK(pam.login("fred", "") == Came::no);
  CHECK(pam.login("ann", "sesame") == Came::yes);
}

TEST_CASE("an account that may not be used now is refused in spite of its good password") {
  const test::CapturedLog log;
  PamFixture pam;
  CHECK(pam.login("expired", "sesame") == Came::no);
  CHECK(log.has("external_auth: pam: service private: account: "));
}

TEST_CASE(
    "CVE-2022-22967: whichever step of PAM fails, nobody gets in, and the helper is whole for the next one") {
  PamFixture pam;
  const auto stack = [&](const std::string& auth, const std::string& account) {
    pam.dir.write("stack/private", "auth required pam_debug.so auth=" + auth +
                                       "\nauth [success=1 default=ignore] pam_exec.so quiet expose_authtok " +
                                       pam.dir / "auth" +
                                       "\nauth requisite pam_deny.so\nauth required pam_permit.so\n" +
                                       "account required pam_debug.so acct=" + account + "\n");
  };
  stack("success", "success");
  check_that_it_answers(pam);
  for (const std::string step : {"auth_err", "user_unknown", "maxtries", "perm_denied", "acct_expired",
                                 "new_authtok_reqd", "abort", "ignore", "system_err", "authinfo_unavail"}) {
    CAPTURE(step);
    if (step != "ignore") {
      stack(step, "success");
      CHECK(pam.login("fred", "sesame") != Came::yes);
    }
    stack("success", step);
    CHECK(pam.login("fred", "sesame") != Came::yes);
    stack("success", "success");
    check_that_it_answers(pam);
  }
}

TEST_CASE("what a stack wants a failure to take, nobody waits for in the helper") {
  PamFixture pam;
  pam.dir.write("stack/private",
                "auth optional pam_faildelay.so delay=60000000\nauth requisite pam_deny.so\n");
  const auto begun = std::chrono::steady_clock::now();
  CHECK(pam.login("fred", "sesame") == Came::no);
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(20));
}

TEST_CASE("a good login brings the groups that the system has a user in") {
  PamFixture pam;
  REQUIRE(pam.login("root", "sesame") == Came::yes);
  CHECK(std::find(pam.groups.begin(), pam.groups.end(), "root") != pam.groups.end());
  REQUIRE(pam.login("no-such-user", "sesame") == Came::yes);
  CHECK(pam.groups.empty());
}

TEST_CASE("modules hear the service and where the login comes from, and no password from the environment") {
  PamFixture pam;
  pam.script("account", "env > " + pam.dir / "seen");
  CHECK(pam.login("fred", "sesame", "192.0.2.7") == Came::yes);
  const std::string seen = pam.dir.read("seen");
  CAPTURE(seen);
  CHECK(seen.find("PAM_SERVICE=private\n") != seen.npos);
  CHECK(seen.find("PAM_RHOST=192.0.2.7\n") != seen.npos);
  CHECK(seen.find("PAM_USER=fred\n") != seen.npos);
  CHECK(seen.find("sesame") == seen.npos);
  CHECK(pam.login("fred", "sesame", "") == Came::yes);
  CHECK(pam.login("fred", "sesame", "a\nb") == Came::yes);
  CHECK(pam.dir.read("seen").find("PAM_RHOST=") == seen.npos);
}

TEST_CASE("a name that means something to modules reaches none of them") {
  PamFixture pam;
  pam.script("auth", "echo called >> " + pam.dir / "called");
  for (const char* name : {"-x", "a/b", "a\nb", ".."}) CHECK(pam.login(name, "sesame") == Came::no);
  CHECK(pam.dir.read("called").empty());
}

TEST_CASE("modules that print do not disturb the conversation") {
  PamFixture pam;
  pam.dir.write("stack/private", "auth required pam_exec.so stdout expose_authtok " +
                                     pam.script("loud", "echo loud") +
                                     "\nauth required pam_permit.so\naccount required pam_permit.so\n");
  CHECK(pam.login("fred", "sesame") == Came::yes);
  CHECK(pam.login("fred", "sesame") == Came::yes);
}

TEST_CASE("a failure of PAM itself is no refusal, and the log says what it was") {
  const test::CapturedLog log;
  PamFixture pam;
  pam.dir.write("stack/private", "auth required pam_nosuch.so\naccount required pam_nosuch.so\n");
  CHECK(pam.login("fred", "sesame") == Came::internal);
  CHECK(log.has("external_auth: pam: service private: authentication: "));
  CHECK_FALSE(log.has("sesame"));
}

TEST_CASE("what fails once PAM was asked counts as a guess, and what never asks it does not") {
  const auto error_of = [](PamFixture& pam) {
    pam.start();
    const auto verdict = pam.eauth->verify({"fred", SecretView("sesame"), "192.0.2.7"});
    REQUIRE_FALSE(verdict);
    CHECK(verdict.error().kind == ErrorKind::unavailable);
    return verdict.error();
  };
  PamFixture away;
  away.dir.write("stack/private", "auth [default=die] pam_debug.so auth=authinfo_unavail\n");
  CHECK(error_of(away).counts_as_guess);
  PamFixture slow;
  slow.script("auth", "sleep 60");
  slow.options.timeout = milliseconds(300);
  CHECK(error_of(slow).counts_as_guess);
  slow.script("auth", "exit 0");
  slow.script("account", "sleep 60");
  CHECK(error_of(slow).counts_as_guess);
  PamFixture missing;
  missing.options.helper = missing.dir / "nosuch";
  CHECK_FALSE(error_of(missing).counts_as_guess);
}

TEST_CASE("a good login is remembered for 5 seconds at most") {
  PamFixture pam;
  pam.start();
  const auto verdict = pam.eauth->verify({"fred", SecretView("sesame"), "192.0.2.7"});
  REQUIRE(verdict);
  CHECK(verdict->keep == std::chrono::seconds(5));
}

TEST_CASE("a helper that cannot be started is said at the start, and every login fails") {
  const test::CapturedLog log;
  PamFixture pam;
  pam.options.helper = pam.dir / "nosuch";
  CHECK(pam.login("fred", "sesame") == Came::unavailable);
  CHECK(log.has("external_auth: pam: nobody can log in through it: the helper " + pam.options.helper +
                " cannot be started: No such file or directory"));
  PamFixture plain;
  plain.options.helper = plain.dir.write("plain", "");
  CHECK(plain.login("fred", "sesame") == Came::unavailable);
  CHECK(log.has("/plain cannot be started: Permission denied"));
}

TEST_CASE("a service without a file is said at the start") {
  const test::CapturedLog log;
  PamFixture pam;
  pam.options.service = "nosuch";
  pam.start();
  CHECK(log.has("external_auth: pam: nobody can log in through it: the PAM service nosuch has no file in " +
                pam.dir / "stack"));
}

TEST_CASE("pam_unix in a stack is said at the start where the helper may not read passwords") {
  const test::CapturedLog log;
  PamFixture pam;
  pam.dir.write("stack/private", "@include common\n");
  pam.dir.write("stack/common", "# pam_unix.so\nauth substack more\n");
  pam.dir.write("stack/more", "auth required pam_unix.so\n");
  pam.start();
  CHECK(log.has("uses pam_unix, and the helper runs as user id") ==
        (::geteuid() != 0 && ::access("/etc/shadow", R_OK) != 0));
}

TEST_CASE("nothing is said at the start where nothing speaks against logins") {
  const test::CapturedLog log;
  PamFixture pam;
  pam.start();
  CHECK(log.text().empty());
}

TEST_CASE("a service that is no file name is a mistake of the configuration") {
  PamFixture pam;
  pam.options.service = "../login";
  const auto made = make_pam_eauth(pam.options);
  REQUIRE_FALSE(made);
  CHECK(made.error().kind == ErrorKind::configuration);
  CHECK(made.error().message ==
        "auth.pam.service: found \"../login\", expected the name of a file in /etc/pam.d");
}

TEST_CASE("a helper that ended is started again") {
  PamFixture pam;
  pam.script("helper", "echo $$ > " + pam.dir / "pid" + "; exec " + PamFixture::program() + " --confdir " +
                           pam.dir / "stack");
  CHECK(pam.login("fred", "sesame") == Came::yes);
  const std::string first = pam.dir.read("pid");
  CHECK(pam.login("fred", "sesame") == Came::yes);
  CHECK(pam.dir.read("pid") == first);
  REQUIRE(::kill(std::stoi(first), SIGKILL) == 0);
  while (is_running(std::stoi(first))) std::this_thread::yield();
  CHECK(pam.login("fred", "sesame") == Came::yes);
  CHECK(pam.dir.read("pid") != first);
}

TEST_CASE("a process that may have no descriptor more does not wait for a helper that it has") {
  const test::CapturedLog log;
  PamFixture pam;
  CHECK(pam.login("fred", "sesame") == Came::yes);
  {
    const test::Limit no_files(RLIMIT_NOFILE, 0);  // poll(2) may be asked about no more than that
    CHECK(pam.login("fred", "sesame") == Came::internal);
  }
  CHECK(log.has("external_auth: pam: the helper cannot be reached: Invalid argument"));
}

TEST_CASE("a stack that ends the helper is our failure, never a yes") {
  const test::CapturedLog log;
  PamFixture pam;
  pam.script("auth", "kill -9 $PPID");
  CHECK(pam.login("fred", "sesame") == Came::internal);
  CHECK(log.has("external_auth: pam: the helper has ended"));
}

TEST_CASE("a helper that ends over a password is no reason to try that password again") {
  const test::CapturedLog log;
  PamFixture pam;
  CHECK(pam.login("fred", "sesame") == Came::yes);
  pam.script("auth", "echo called >> " + pam.dir / "called" + "; kill -9 $PPID");
  CHECK(pam.login("fred", "sesame") == Came::internal);
  CHECK(pam.dir.read("called") == "called\n");
  CHECK(log.has("external_auth: pam: the helper has ended"));
}

TEST_CASE("a helper that ends before it has read all of a request is replaced by one that has not") {
  PamFixture pam;
  const pam::Request request{pam::Ask::verify, "private", "fred", SecretView("sesame")};
  // Refuses the first request, and of the second one takes a byte.
  pam.script("helper",
             "if mkdir " + pam.dir / "again" + " 2> /dev/null; then dd bs=1 count=" +
                 std::to_string(to_frame(request).size()) + " > /dev/null 2>&1" +
                 "; printf '\\0\\0\\0\\4\\1\\2\\0\\0'; dd bs=1 count=1 > /dev/null 2>&1; exit; fi; exec " +
                 PamFixture::program() + " --confdir " + pam.dir / "stack");
  PamPool pool(pam.options);
  const auto first = pool.ask(request);
  REQUIRE(first);
  CHECK(first->outcome == pam::Outcome::refused);
  const auto second = pool.ask(request);
  REQUIRE(second);
  CHECK(second->outcome == pam::Outcome::good);
}

TEST_CASE("a helper that cannot be killed ends with its input, and nobody waits for it") {
  PamFixture pam;
  // In a process group that is not its own: the signal that ends a helper goes to its group.
  pam.script("helper", "echo $$ > " + pam.dir / "pid" +
                           "; exec perl -e 'setpgrp(0, getpgrp(getppid)) or die; exec @ARGV' " +
                           PamFixture::program() + " --confdir " + pam.dir / "stack");
  auto pool = std::make_unique<PamPool>(pam.options);
  REQUIRE(pool->ask({pam::Ask::verify, "private", "fred", SecretView("sesame")}));
  const int helper = std::stoi(pam.dir.read("pid"));
  REQUIRE(::getpgid(helper) == ::getpgrp());
  auto gone = std::async(std::launch::async, [&] { pool.reset(); });
  const bool in_time = gone.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  CHECK(in_time);
  if (!in_time) ::kill(helper, SIGKILL);
}

TEST_CASE("a stack that never answers is given up, ended, and keeps nobody else") {
  const test::CapturedLog log;
  PamFixture pam;
  pam.script("auth", "read -r word; test \"$word\" = sesame && exit 0; echo $PPID > " + pam.dir / "pid" +
                         "; exec sleep 100");
  pam.options.timeout = milliseconds(8000);
  pam.start();
  Came slow = Came::yes;
  std::thread hanging([&] {
    const auto verdict = pam.eauth->verify({"fred", SecretView("slow"), ""});
    slow = verdict ? Came::yes : Came::unavailable;
  });
  CHECK(pam.eauth->verify({"ann", SecretView("sesame"), ""})->good);
  hanging.join();
  CHECK(slow == Came::unavailable);
  CHECK(log.has("external_auth: pam: the helper did not answer in time"));
  const int helper = std::stoi(pam.dir.read("pid"));
  for (int i = 0; i < 500 && is_running(helper); ++i) std::this_thread::sleep_for(milliseconds(10));
  CHECK_FALSE(is_running(helper));
  CHECK(pam.login("ann", "sesame") == Came::yes);
}

TEST_CASE("an answer that is none is our failure") {
  const test::CapturedLog log;
  PamFixture pam;
  pam.script("helper", "printf '\\377\\377\\377\\377'; cat > /dev/null");
  CHECK(pam.login("fred", "sesame") == Came::internal);
  CHECK(log.has("the helper's answer is longer than any can be"));
  pam.script("helper", "printf '\\0\\0\\0\\1x'; cat > /dev/null");
  CHECK(pam.login("fred", "sesame") == Came::internal);
  CHECK(log.has("the helper's answer is none of this version"));
}

TEST_CASE("logins beyond the helpers wait, and beyond those that may wait they are refused") {
  PamFixture pam;
  pam.script("auth", "exec sleep 100");
  pam.options.max_helpers = 1;
  pam.options.max_waiting = 1;
  pam.options.timeout = milliseconds(5000);
  pam.start();
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::vector<Error> errors;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      const auto verdict = pam.eauth->verify({"fred", SecretView("sesame"), "192.0.2.7"});
      const std::lock_guard lock(mutex);
      errors.push_back(verdict ? Error() : verdict.error());
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(errors.at(0).kind == ErrorKind::unavailable);
  CHECK(errors[0].message.starts_with("Too many logins wait"));
  CHECK_FALSE(errors[0].counts_as_guess);
  CHECK(std::count_if(errors.begin(), errors.end(), [](const Error& one) { return one.counts_as_guess; }) >=
        1);
}

TEST_CASE("a login waits for its turn no longer than its request has time, and that is no guess") {
  PamFixture pam;
  pam.script("auth", "touch " + pam.dir / "asked" + "; exec sleep 100");
  pam.options.max_helpers = 1;
  pam.options.timeout = milliseconds(8000);
  pam.start();
  std::thread hanging([&] { CHECK_FALSE(pam.eauth->verify({"fred", SecretView("slow"), "192.0.2.7"})); });
  while (!std::filesystem::exists(pam.dir / "asked")) std::this_thread::sleep_for(milliseconds(5));
  const SteadyTime deadline = std::chrono::steady_clock::now() + milliseconds(50);
  const auto verdict = pam.eauth->verify({"ann", SecretView("sesame"), "192.0.2.8", deadline});
  REQUIRE_FALSE(verdict);
  CHECK(verdict.error().kind == ErrorKind::timeout);
  CHECK_FALSE(verdict.error().counts_as_guess);
  hanging.join();
}

TEST_CASE("one address's passwords keep no other address from PAM") {
  PamFixture pam;
  pam.script("auth", "read -r word; test \"$word\" = sesame && exit 0; touch " + pam.dir / "asked" +
                         "; until test -e " + pam.dir / "go" + "; do sleep 0.05; done; exit 1");
  pam.options.max_helpers = 2;
  pam.options.max_waiting = 8;
  pam.options.timeout = milliseconds(10000);
  pam.start();
  std::atomic<int> done = 0;
  std::vector<std::thread> guesses;
  for (int i = 0; i < 20; ++i) {
    guesses.emplace_back([&] {
      if (pam.eauth->verify({"fred", SecretView("slow"), "192.0.2.7"})) ++done;
    });
  }
  while (!std::filesystem::exists(pam.dir / "asked")) std::this_thread::sleep_for(milliseconds(5));
  for (const char* other : {"192.0.2.8", "192.0.2.9", "2001:db8::1"}) {
    CHECK(pam.login("ann", "sesame", other) == Came::yes);
  }
  CHECK(done == 0);
  pam.dir.write("go", "");
  for (std::thread& thread : guesses) thread.join();
  CHECK(done > 0);
}

TEST_CASE("refusals take whole steps, as many as any one before, and above some seconds larger ones") {
  RefusalTime time;
  CHECK(time.of(milliseconds(1)) == milliseconds(250));
  CHECK(time.of(milliseconds(260)) == milliseconds(500));
  CHECK(time.of(milliseconds(1)) == milliseconds(500));
  CHECK(time.of(milliseconds(1300)) == milliseconds(1500));
  CHECK(time.of(milliseconds(1)) == milliseconds(1500));
  CHECK(time.of(milliseconds(3990)) == milliseconds(4000));
  CHECK(time.of(milliseconds(4001)) == milliseconds(8000));
  CHECK(time.of(milliseconds(8100)) == milliseconds(12000));
  CHECK(time.of(milliseconds(1)) == milliseconds(4000));
}

TEST_CASE("a refusal that takes over a second takes as long as one that takes less") {
  PamFixture pam;
  pam.script("auth", "read -r word; test \"$word\" = slow && sleep 1.05; exit 1");
  const auto took = [&pam](std::string_view password) {
    const SteadyTime since = std::chrono::steady_clock::now();
    CHECK(pam.login("fred", password) == Came::no);
    return std::chrono::steady_clock::now() - since;
  };
  pam.start();
  CHECK(took("slow") >= milliseconds(1250));
  CHECK(took("quick") >= milliseconds(1250));
}

TEST_CASE("while too many passwords were wrong a login waits, which is no time that PAM took") {
  PamFixture pam;
  const auto answering = [&](const std::string& outcomes) {
    pam.script("helper", "exec perl -e '$| = 1; my @say = (" + outcomes +
                             R"(); while (read(STDIN, my $size, 4)) {
                                 read(STDIN, my $body, unpack("N", $size));
                                 my $is_check = unpack("xC", $body) == 2;
                                 print pack("NCCn", 4, 1, $is_check ? 1 : shift @say, 0);
                               }')");
    pam.start();
  };
  const auto took = [&](std::string_view password, Came came) {
    const SteadyTime since = std::chrono::steady_clock::now();
    CHECK(pam.login("fred", password) == came);
    return std::chrono::steady_clock::now() - since;
  };
  bool is_quick = false;
  for (int i = 0; i < 5 && !is_quick; ++i) {  // a busy host may hold one up
    answering("(5) x 12, 2, 2");
    CHECK(took("wrong", Came::no) >= milliseconds(1200));
    is_quick = took("wrong", Came::no) < milliseconds(1200);
  }
  CHECK(is_quick);
  answering("(5) x 30");
  CHECK(took("wrong", Came::unavailable) >= milliseconds(1500));
}

TEST_CASE("salt-api#61: many logins at once each get their own answer") {
  PamFixture pam;
  pam.start();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i) {
    threads.emplace_back([&, good = i % 2 == 0] {
      const auto verdict = pam.eauth->verify({"fred", SecretView(good ? "sesame" : "other"), ""});
      if (!verdict || verdict->good != good) ++wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("the helper may be behind a socket, where an init system starts it for each connection") {
  PamFixture pam;
  const std::string path = pam.dir / "pam.sock";
  const SocketUnit unit(path, pam.options.helper);
  pam.options.helper = "unix:" + path;
  check_that_it_answers(pam);
  CHECK(pam.login("expired", "sesame") == Came::no);
}

TEST_CASE("the helper answers nobody but root and the peer that it was told") {
  const test::CapturedLog log;
  PamFixture pam;
  pam.script("helper",
             "exec " + PamFixture::program() + " --confdir " + pam.dir / "stack" + " --peer nobody");
  CHECK(pam.login("fred", "sesame") == (::geteuid() == 0 ? Came::yes : Came::internal));
}

TEST_CASE("a socket that is not there, or that is somebody else's, gets no password") {
  const test::CapturedLog log;
  PamFixture pam;
  pam.options.helper = "unix:" + pam.dir / "nosuch";
  CHECK(pam.login("fred", "sesame") == Came::unavailable);
  CHECK(log.has("the socket " + pam.dir / "nosuch" + " cannot be connected: No such file or directory"));
  PamFixture longer;
  longer.options.helper = "unix:/" + std::string(200, 'x');
  CHECK(longer.login("fred", "sesame") == Came::unavailable);
  CHECK(log.has("x is too long"));
  if (::geteuid() != 0) {
    MESSAGE("skipped in part: only root can listen as somebody else");
    return;
  }
  PamFixture foreign;
  const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{AF_UNIX, {}};
  (foreign.dir / "sock").copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  // As system calls without glibc's help have it, this thread alone is somebody else.
  std::thread([&listener] {
    CHECK(::syscall(SYS_setresuid, -1, 65534, -1) == 0);
    CHECK(::listen(listener.get(), 1) == 0);
  }).join();
  foreign.options.helper = "unix:" + foreign.dir / "sock";
  CHECK(foreign.login("fred", "sesame") == Came::unavailable);
  CHECK(log.has("sock belongs neither to root nor to this process's user"));
}

}  // namespace rest_fcgi::auth
