// SPDX-License-Identifier: MIT
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/child.h"
#include "../support/eventually.h"
#include "../support/temp_dir.h"
#include "auth/eauth.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/core/files.h"

namespace rest_fcgi::auth {
namespace {

using std::chrono::milliseconds;

/// The eauth `pam` with its own PAM service, whose modules are scripts. pam_exec gives a script the password
/// on standard input, and the user name in the variable PAM_USER. Not synchronized.
class PamFixture {
 public:
  /// The scripts accept the password `sesame` of any user and refuse the account `expired`.
  PamFixture() {
    script("auth", "read -r word; test \"$word\" = sesame");
    script("account", "test \"$PAM_USER\" != expired");
    const std::string yes_or_no = " requisite pam_deny.so\n";
    dir.write("stack/private", "auth [success=1 default=ignore] pam_exec.so quiet expose_authtok " +
                                   dir / "auth" + "\nauth" + yes_or_no + "auth required pam_permit.so\n" +
                                   "account [success=1 default=ignore] pam_exec.so quiet " + dir / "account" +
                                   "\naccount" + yes_or_no + "account required pam_permit.so\n");
    options.service = "private";
    options.helper = script("helper", "exec " + program() + " --confdir " + dir / "stack");
  }

  static std::string program() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "rest_fcgi_pam";
  }

  std::string script(std::string_view name, std::string_view commands) const {
    const std::string path = dir.write(name, "#!/bin/sh\n" + std::string(commands) + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  void start() {
    auto made = make_pam_eauth(options);
    REQUIRE(made);
    eauth = *std::move(made);
  }

  enum class LoginResult { yes, no, internal, unavailable };
  LoginResult login(std::string_view username, std::string_view password,
                    std::string_view remote = "192.0.2.7") {
    if (!eauth) start();
    const auto verdict = eauth->verify({username, SecretView(password), remote});
    if (verdict) {
      groups = verdict->groups;
      keep = verdict->keep;
      return verdict->good ? LoginResult::yes : LoginResult::no;
    }
    CHECK(verdict.error().message == "The eauth back end failed; the log has the cause.");
    return verdict.error().kind == ErrorKind::unavailable ? LoginResult::unavailable : LoginResult::internal;
  }

  struct Dir : test::TempDir {
    Dir() { std::filesystem::create_directory(path() / "stack"); }
  };

  const Dir dir;
  PamOptions options;
  std::optional<Eauth> eauth;
  std::vector<std::string> groups;
  std::chrono::seconds keep{0};
};

using LoginResult = PamFixture::LoginResult;

bool is_running(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string stat;
  std::getline(file, stat);
  return !stat.empty() && stat.find(") Z ") == stat.npos;
}

constexpr const char* kSocketActivate = "/usr/bin/systemd-socket-activate";

TEST_CASE("PAM decides which password is good, and may refuse an account in spite of it") {
  const test::CapturedLog log;
  PamFixture pam;
  CHECK(pam.login("fred", "sesame") == LoginResult::yes);
  CHECK(pam.login("fred", "Sesame") == LoginResult::no);
  CHECK(pam.login("fred", "") == LoginResult::no);
  CHECK(pam.login("ann", "sesame") == LoginResult::yes);
  CHECK(pam.login("expired", "sesame") == LoginResult::no);
  CHECK(log.has("external_auth: pam: service private: account: "));
}

TEST_CASE("a delay that a module asks for is not waited for in the helper") {
  PamFixture pam;
  pam.dir.write("stack/private",
                "auth optional pam_faildelay.so delay=60000000\nauth requisite pam_deny.so\n");
  const auto begun = std::chrono::steady_clock::now();
  CHECK(pam.login("fred", "sesame") == LoginResult::no);
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(20));
}

TEST_CASE("a good login has the groups of the system, and is remembered for at most 5 seconds") {
  PamFixture pam;
  REQUIRE(pam.login("root", "sesame") == LoginResult::yes);
  CHECK(std::find(pam.groups.begin(), pam.groups.end(), "root") != pam.groups.end());
  CHECK(pam.keep == std::chrono::seconds(5));
  REQUIRE(pam.login("no-such-user", "sesame") == LoginResult::yes);
  CHECK(pam.groups.empty());
}

TEST_CASE("modules get service and address, and the environment has no password") {
  PamFixture pam;
  pam.script("account", "env > " + pam.dir / "seen");
  CHECK(pam.login("fred", "sesame", "192.0.2.7") == LoginResult::yes);
  const std::string seen = pam.dir.read("seen");
  CAPTURE(seen);
  CHECK(seen.find("PAM_SERVICE=private\n") != seen.npos);
  CHECK(seen.find("PAM_RHOST=192.0.2.7\n") != seen.npos);
  CHECK(seen.find("PAM_USER=fred\n") != seen.npos);
  CHECK(seen.find("sesame") == seen.npos);
  CHECK(pam.login("fred", "sesame", "") == LoginResult::yes);
  CHECK(pam.login("fred", "sesame", "a\nb") == LoginResult::yes);
  CHECK(pam.dir.read("seen").find("PAM_RHOST=") == seen.npos);
}

TEST_CASE("neither a name with a special meaning to modules nor a very long password reaches PAM") {
  PamFixture pam;
  pam.script("auth", "echo called >> " + pam.dir / "called");
  for (const char* name : {"-x", "a/b", "a\nb", ".."}) CHECK(pam.login(name, "sesame") == LoginResult::no);
  CHECK(pam.login("fred", std::string(8192, 'x')) == LoginResult::no);
  CHECK(pam.dir.read("called").empty());
}

TEST_CASE("the output of modules does not disturb the protocol") {
  PamFixture pam;
  pam.dir.write("stack/private", "auth required pam_exec.so stdout expose_authtok " +
                                     pam.script("loud", "echo loud") +
                                     "\nauth required pam_permit.so\naccount required pam_permit.so\n");
  CHECK(pam.login("fred", "sesame") == LoginResult::yes);
  CHECK(pam.login("fred", "sesame") == LoginResult::yes);
}

TEST_CASE("a failure of PAM, and a malformed answer of the helper, are errors with their cause in the log") {
  const test::CapturedLog log;
  PamFixture pam;
  pam.dir.write("stack/private", "auth required pam_nosuch.so\naccount required pam_nosuch.so\n");
  CHECK(pam.login("fred", "sesame") == LoginResult::internal);
  CHECK(log.has("external_auth: pam: service private: authentication: "));
  CHECK_FALSE(log.has("sesame"));
  PamFixture malformed;
  for (const char* answer : {"printf '\\377'", "printf 'groot'", "head -c 65537 /dev/zero"}) {
    malformed.script("helper", "cat > /dev/null; " + std::string(answer));
    CHECK(malformed.login("fred", "sesame") == LoginResult::internal);
  }
  CHECK(log.has("the helper's answer is malformed"));
  CHECK(log.has("the conversation with the helper failed: File too large"));
  malformed.script("helper", "cat > /dev/null");
  CHECK(malformed.login("fred", "sesame") == LoginResult::internal);
  CHECK(log.has("the helper process ended without an answer"));
}

TEST_CASE("a failure after PAM was asked counts as a guess, one before does not") {
  const auto error_of = [](PamFixture& pam) {
    pam.start();
    const Error error = pam.eauth->verify({"fred", SecretView("sesame"), "192.0.2.7"}).error();
    CHECK(error.kind == ErrorKind::unavailable);
    return error;
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
  PamFixture deaf;
  deaf.script("helper", "exit 0");
  CHECK_FALSE(error_of(deaf).counts_as_guess);
}

TEST_CASE("a helper that cannot be started is logged at the start, and fails all logins") {
  const test::CapturedLog log;
  PamFixture pam;
  pam.options.helper = pam.dir / "nosuch";
  CHECK(pam.login("fred", "sesame") == LoginResult::unavailable);
  CHECK(log.has("external_auth: pam: cannot start the helper " + pam.options.helper +
                ": No such file or directory"));
  PamFixture plain;
  plain.options.helper = plain.dir.write("plain", "");
  CHECK(plain.login("fred", "sesame") == LoginResult::unavailable);
  CHECK(log.has("/plain: Permission denied"));
}

TEST_CASE("a service that is not a file name is a configuration error") {
  PamFixture pam;
  pam.options.service = "../login";
  const Error error = make_pam_eauth(pam.options).error();
  CHECK(error.kind == ErrorKind::configuration);
  CHECK(error.message.starts_with("auth.pam.service: found \"../login\""));
}

TEST_CASE("each login has its own helper, which ends with the login") {
  PamFixture pam;
  pam.script("helper", "echo $$ > " + pam.dir / "pid" + "; exec " + PamFixture::program() + " --confdir " +
                           pam.dir / "stack");
  CHECK(pam.login("fred", "sesame") == LoginResult::yes);
  const std::string first = pam.dir.read("pid");
  CHECK_FALSE(is_running(std::stoi(first)));
  CHECK(pam.login("fred", "Sesame") == LoginResult::no);
  CHECK(pam.dir.read("pid") != first);
  CHECK_FALSE(is_running(std::stoi(pam.dir.read("pid"))));
}

TEST_CASE("a helper that ends during a check is not asked again with that password") {
  const test::CapturedLog log;
  PamFixture pam;
  CHECK(pam.login("fred", "sesame") == LoginResult::yes);
  pam.script("auth", "echo called >> " + pam.dir / "called" + "; kill -9 $PPID");
  CHECK(pam.login("fred", "sesame") == LoginResult::internal);
  CHECK(pam.dir.read("called") == "called\n");
  CHECK(log.has("external_auth: pam: the helper process ended"));
}

TEST_CASE("a module that hangs is killed after the timeout, and delays no other login") {
  const test::CapturedLog log;
  PamFixture pam;
  pam.script("auth", "read -r word; test \"$word\" = sesame && exit 0; echo $PPID > " + pam.dir / "pid" +
                         "; exec sleep 100");
  pam.options.timeout = milliseconds(3000);
  pam.start();
  LoginResult slow = LoginResult::yes;
  std::thread hanging([&] {
    const auto verdict = pam.eauth->verify({"fred", SecretView("slow"), ""});
    slow = verdict ? LoginResult::yes : LoginResult::unavailable;
  });
  CHECK(pam.eauth->verify({"ann", SecretView("sesame"), ""})->good);
  hanging.join();
  CHECK(slow == LoginResult::unavailable);
  CHECK(log.has("external_auth: pam: the helper did not answer in time"));
  const int helper = std::stoi(pam.dir.read("pid"));
  CHECK(test::eventually([&] { return !is_running(helper); }));
  CHECK(pam.login("ann", "sesame") == LoginResult::yes);
}

TEST_CASE("logins beyond the helpers wait, and logins beyond max_waiting are refused") {
  PamFixture pam;
  pam.script("auth", "exec sleep 100");
  pam.options.max_helpers = 1;
  pam.options.max_waiting = 1;
  pam.options.timeout = milliseconds(2000);
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
  CHECK(errors[0].message.starts_with("Too many logins are waiting"));
  CHECK_FALSE(errors[0].counts_as_guess);
  CHECK(std::count_if(errors.begin(), errors.end(), [](const Error& one) { return one.counts_as_guess; }) >=
        1);
}

TEST_CASE("a login waits for its turn until its deadline, which is not a guess") {
  PamFixture pam;
  pam.script("auth", "touch " + pam.dir / "asked" + "; exec sleep 100");
  pam.options.max_helpers = 1;
  pam.options.timeout = milliseconds(3000);
  pam.start();
  std::thread hanging([&] { CHECK_FALSE(pam.eauth->verify({"fred", SecretView("slow"), "192.0.2.7"})); });
  while (!std::filesystem::exists(pam.dir / "asked")) std::this_thread::sleep_for(milliseconds(5));
  const SteadyTime deadline = std::chrono::steady_clock::now() + milliseconds(50);
  const Error error = pam.eauth->verify({"ann", SecretView("sesame"), "192.0.2.8", deadline}).error();
  CHECK(error.kind == ErrorKind::timeout);
  CHECK_FALSE(error.counts_as_guess);
  hanging.join();
}

TEST_CASE("passwords of one address do not keep other addresses from PAM") {
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
    CHECK(pam.login("ann", "sesame", other) == LoginResult::yes);
  }
  CHECK(done == 0);
  pam.dir.write("go", "");
  for (std::thread& thread : guesses) thread.join();
  CHECK(done > 0);
}

TEST_CASE("a slow refusal makes later refusals slow") {
  PamFixture pam;
  pam.script("auth", "read -r word; test \"$word\" = slow && sleep 1.05; exit 1");
  const auto took = [&pam](std::string_view password) {
    const SteadyTime since = std::chrono::steady_clock::now();
    CHECK(pam.login("fred", password) == LoginResult::no);
    return std::chrono::steady_clock::now() - since;
  };
  pam.start();
  CHECK(took("slow") >= milliseconds(1250));
  CHECK(took("quick") >= milliseconds(1250));
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

TEST_CASE("an init system may start the helper behind a socket" *
          doctest::skip(!std::filesystem::exists(kSocketActivate))) {
  PamFixture pam;
  const std::string path = pam.dir / "pam.sock";
  const test::Child unit({kSocketActivate, "--accept", "--inetd", "--listen=" + path, pam.options.helper},
                         pam.dir / "log");
  pam.options.helper = "unix:" + path;
  REQUIRE(test::eventually([&] { return pam.login("fred", "sesame") == LoginResult::yes; }));
  CHECK(pam.login("fred", "Sesame") == LoginResult::no);
  CHECK(pam.login("expired", "sesame") == LoginResult::no);
}

TEST_CASE("a missing socket, or one of another user, gets no password") {
  const test::CapturedLog log;
  PamFixture pam;
  pam.options.helper = "unix:" + pam.dir / "nosuch";
  CHECK(pam.login("fred", "sesame") == LoginResult::unavailable);
  CHECK(log.has("the socket " + pam.dir / "nosuch" + ": No such file or directory"));
  PamFixture longer;
  longer.options.helper = "unix:/" + std::string(200, 'x');
  CHECK(longer.login("fred", "sesame") == LoginResult::unavailable);
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
  // The raw system call changes the user id of this thread only. glibc's setresuid(2) changes all threads.
  std::thread([&listener] {
    CHECK(::syscall(SYS_setresuid, -1, 65534, -1) == 0);
    CHECK(::listen(listener.get(), 1) == 0);
  }).join();
  foreign.options.helper = "unix:" + foreign.dir / "sock";
  CHECK(foreign.login("fred", "sesame") == LoginResult::unavailable);
  CHECK(log.has("sock belongs neither to root nor to this process's user"));
}

}  // namespace
}  // namespace rest_fcgi::auth
