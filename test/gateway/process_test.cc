// SPDX-License-Identifier: MIT
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../support/fork_alone.h"
#include "gateway/listening_socket.h"
#include "gateway/sys.h"
#include "http/http_peer.h"
#include "running_gateway.h"

using namespace rest_fcgi;
using namespace rest_fcgi::gateway;
using namespace rest_fcgi::gateway::test;
using namespace rest_fcgi::test;

namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kRounds = 10;  // With sanitizers, a process forks and ends slowly.
#else
constexpr std::size_t kRounds = 100;
#endif

class Child {
 public:
  explicit Child(const std::function<int()>& body) {
    // The child would write the buffered output of the parent again.
    std::cout << std::flush;
    std::fflush(nullptr);
    pid_ = rest_fcgi::test::fork_alone();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) ::_exit(body());
  }
  ~Child() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      wait();
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void signal(int number) const { ::kill(pid_, number); }

  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
};

int serve(const Options& options, const http::Application& application) {
  harden_process();
  auto gateway = Gateway::open(options);
  if (!gateway) return 78;
  return (*gateway)->serve({application, std::vector<http::Application>(options.http.size(), application)},
                           {.read = no_reload})
             ? 0
             : 70;
}

Options on_socket(const TempDir& dir) {
  Options options;
  options.listen = "unix:" + (dir / "s");
  options.shutdown_timeout = milliseconds(10000);
  return options;
}

FcgiClient connect_when_served(const std::string& path) {
  std::vector<FcgiClient> client;
  REQUIRE(eventually([&] {
    client.clear();
    client.push_back(FcgiClient::unix_socket(path));
    return client.back().connected();
  }));
  return std::move(client.back());
}

/// Returns one bit for each protection that is missing after `harden_process`.
int missing_protections() {
  harden_process();
  rlimit core = {};
  ::getrlimit(RLIMIT_CORE, &core);
  sigset_t blocked;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  bool all_blocked = true;
  for (const int signal : {SIGHUP, SIGTERM, SIGINT, SIGUSR1, SIGUSR2}) {
    all_blocked = all_blocked && ::sigismember(&blocked, signal) == 1;
  }
  struct sigaction pipe_action = {};
  ::sigaction(SIGPIPE, nullptr, &pipe_action);
  const std::array protections = {::prctl(PR_GET_DUMPABLE) == 0, core.rlim_cur == 0 && core.rlim_max == 0,
                                  ::umask(0) == 077, all_blocked, pipe_action.sa_handler == SIG_IGN};
  int missing = 0;
  for (std::size_t i = 0; i < protections.size(); ++i) missing |= protections[i] ? 0 : 1 << i;
  return missing;
}

}  // namespace

TEST_CASE("harden_process forbids core dumps and ptrace, sets umask 077 and blocks the signals of serve") {
  CHECK(Child(missing_protections).wait() == 0);
}

TEST_CASE("raise_file_limit raises the limit up to the hard limit, and never lowers it") {
  CHECK(Child([] {
          rlimit limit = {100, 200};
          ::setrlimit(RLIMIT_NOFILE, &limit);
          raise_file_limit(50);
          ::getrlimit(RLIMIT_NOFILE, &limit);
          if (limit.rlim_cur != 100) return 1;
          raise_file_limit(150);
          ::getrlimit(RLIMIT_NOFILE, &limit);
          if (limit.rlim_cur != 150) return 2;
          raise_file_limit(5000);
          ::getrlimit(RLIMIT_NOFILE, &limit);
          return limit.rlim_cur == 200 && limit.rlim_max == 200 ? 0 : 3;
        }).wait() == 0);
}

TEST_CASE("MapServer#7504: SIGTERM, SIGINT and SIGUSR1 end an idle process at any moment") {
  constexpr std::array kSignals = {SIGTERM, SIGINT, SIGUSR1};
  const TempDir dir;
  for (std::size_t i = 0; i < kRounds; ++i) {
    Child child([&] { return serve(on_socket(dir), echo); });
    FcgiClient client = connect_when_served(dir / "s");
    if (i % 2 == 0) CHECK(client.request(post("x")).body == "x");
    client.close();
    child.signal(kSignals[i % kSignals.size()]);
    CHECK(child.wait() == 0);
    CHECK(!std::filesystem::exists(dir / "s"));
  }
}

TEST_CASE("a signal that arrives before serve ends serve at once") {
  const TempDir dir;
  Child child([&] {
    harden_process();
    ::raise(SIGTERM);
    return serve(on_socket(dir), echo);
  });
  CHECK(child.wait() == 0);
}

TEST_CASE("HTTP is served without a FastCGI socket") {
  const Options options = with_http();
  Child child([&] { return serve(options, echo); });
  REQUIRE(eventually([&] { return HttpPeer(port_of(options)).connected(); }));
  CHECK(HttpPeer(port_of(options)).request(http_post("alone")).body == "alone");
  child.signal(SIGTERM);
  CHECK(child.wait() == 0);
}

TEST_CASE("a listening socket on descriptor 0 is served, and stays open for other processes") {
  const TempDir dir;
  Options options = on_socket(dir);
  SocketActivation none;
  const auto opened = *open_fastcgi_socket(options, none);
  const int shared = opened.fd.get();
  for (const char* listen : {"", "fd:0"}) {
    Child child([&] {
      ::dup2(shared, 0);
      options.listen = listen;
      return serve(options, echo);
    });
    CHECK(FcgiClient::unix_socket(dir / "s").request(post("x")).body == "x");
    child.signal(SIGTERM);
    CHECK(child.wait() == 0);
    const FcgiClient later = FcgiClient::unix_socket(dir / "s");
    CHECK(later.connected());
    CHECK(UniqueFd(::accept4(shared, nullptr, nullptr, SOCK_CLOEXEC)));
  }
}
