// SPDX-License-Identifier: MIT
#include "rest_fcgi/engine/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/unique_fd.h"
#include "rest_fcgi/engine/kept_ports.h"
#include "rest_fcgi/engine/service.h"

namespace rest_fcgi::engine {
namespace {

constexpr int kHandOver = SIGUSR2;

/// The name of the workers' descriptors in systemd's store.
constexpr std::string_view kWorker = "worker";

/// The workers of earlier supervisors that still finish their requests (pidfd_open(2)).
using EarlierWorkers = std::vector<UniqueFd>;

pid_t supervisor = 0;  // In the worker, the process id of the supervisor. Otherwise 0.

sigset_t watched_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGHUP, SIGTERM, SIGINT, SIGUSR1, kHandOver, SIGCHLD})
    ::sigaddset(&signals, signal);
  return signals;
}

/// Ends this process as the worker has ended, so that systemd sees the exit status or the signal.
[[noreturn]] void end_like(int status) {
  if (!WIFSIGNALED(status)) ::_exit(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, signal);
  ::signal(signal, SIG_DFL);
  ::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  ::raise(signal);
  ::_exit(EX_SOFTWARE);
}

bool has_ended(const UniqueFd& worker, int milliseconds) {
  pollfd watched{worker.get(), POLLIN, 0};
  return ::poll(&watched, 1, milliseconds) > 0;
}

void leave_workers(EarlierWorkers& workers, pid_t worker) {
  workers.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, worker, 0)));
  drop_stored(kWorker);
  for (const UniqueFd& one : workers) {
    if (one && !has_ended(one, 0)) store(kWorker, one.get());
  }
}

[[noreturn]] void watch(pid_t worker, EarlierWorkers earlier) {
  const sigset_t signals = watched_signals();
  bool is_stopping = false;
  bool is_handing_over = false;
  for (;;) {
    siginfo_t info{};
    const int signal = ::sigwaitinfo(&signals, &info);
    if (signal == SIGCHLD) {
      int status = 0;
      if (::waitpid(worker, &status, WNOHANG) != worker) continue;
      // systemd limits the wait (TimeoutStopSec=).
      if (is_stopping && !is_handing_over)
        for (const UniqueFd& one : earlier) has_ended(one, -1);
      end_like(status);
    } else if (signal == kHandOver && info.si_pid == worker) {
      leave_workers(earlier, worker);
      ::_exit(EXIT_SUCCESS);
    } else if (signal > 0 && !is_handing_over) {
      // systemd sends SIGTERM right after ExecStop=, so signals after kHandOver are ignored.
      is_handing_over = signal == kHandOver;
      is_stopping = is_stopping || signal != SIGHUP;
      ::kill(worker, signal);
    }
  }
}

/// Changes a variable that has the process id of the service's process (sd_listen_fds(3)).
void change_pid(const char* name) {
  const char* const pid = std::getenv(name);
  if (pid != nullptr && parse_number<pid_t>(pid) == supervisor)
    ::setenv(name, std::to_string(::getpid()).c_str(), 1);
}

}  // namespace

void supervise() {
  if (!has_service_manager()) return;
  EarlierWorkers earlier = take_passed([](const std::string& name) { return name == kWorker; });
  const pid_t own = ::getpid();
  const sigset_t signals = watched_signals();
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  const pid_t worker = ::fork();
  if (worker < 0) {
    const std::string text = format("rest_fcgi: fork: {}\n", errno_text());
    std::fputs(log::for_standard_error(log::Level::error, text).c_str(), stderr);
    ::_exit(EX_OSERR);
  }
  if (worker > 0) {
    // A copy of a socket in the supervisor would keep a port open that the worker has closed.
    ::close(STDIN_FILENO);
    static_cast<void>(take_passed([](const std::string&) { return true; }));
    watch(worker, std::move(earlier));
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != own) ::_exit(EX_SOFTWARE);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  supervisor = own;
  change_pid("LISTEN_PID");
  change_pid("WATCHDOG_PID");
}

void leave_supervisor(std::chrono::seconds most) {
  if (supervisor == 0) return;
  end_notifications();
  ::prctl(PR_SET_PDEATHSIG, 0);
  ::alarm(static_cast<unsigned>(most.count()));
  ::kill(supervisor, kHandOver);
}

}  // namespace rest_fcgi::engine
