// SPDX-License-Identifier: MIT
#include "master/embedded/process/child.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <linux/close_range.h>

namespace rest_fcgi::embedded {
namespace {

constexpr unsigned kFirstOther = 3;  // descriptor behind the standard ones

[[noreturn]] void give_up(const ChildPlan& plan, ChildStep step, int error) noexcept {
  const ChildFailure failure{step, error};
  // Shorter than PIPE_BUF, so all of it or nothing; with nothing the parent sees the exit status.
  [[maybe_unused]] const ssize_t written = ::write(plan.report, &failure, sizeof failure);
  ::_exit(127);
}

void reset_signals() noexcept {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    ::sigaction(signal, &action, nullptr);  // fails for those that are never handled
  }
}

void place_descriptors(const ChildPlan& plan) noexcept {
  const bool placed = ::dup2(plan.input, STDIN_FILENO) >= 0 && ::dup2(plan.output, STDOUT_FILENO) >= 0 &&
                      ::dup2(plan.errors, STDERR_FILENO) >= 0;
  // Marked rather than closed: the report is needed until exec, which then closes it with the others.
  if (!placed || ::close_range(kFirstOther, ~0U, CLOSE_RANGE_CLOEXEC) != 0) {
    give_up(plan, ChildStep::descriptors, errno);
  }
}

void take_on(const ChildPlan& plan) noexcept {
  const bool taken = ::setgroups(plan.groups.size(), plan.groups.data()) == 0 &&
                     ::setresgid(plan.gid, plan.gid, plan.gid) == 0 &&
                     ::setresuid(plan.uid, plan.uid, plan.uid) == 0;
  if (!taken) give_up(plan, ChildStep::identity, errno);
}

}  // namespace

void become_program(const ChildPlan& plan) noexcept {
  reset_signals();
  ::setsid();  // cannot fail: a new process leads no group
  place_descriptors(plan);
  if (plan.change_identity) take_on(plan);
  ::umask(plan.umask);
  if (::chdir(plan.cwd) != 0) give_up(plan, ChildStep::folder, errno);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  int error = ENOENT;
  for (const char* const* path = plan.candidates; *path != nullptr; ++path) {
    ::execve(*path, plan.argv, plan.environment);
    // A file that is there but cannot be run says more than those that are not there.
    if (errno != ENOENT && errno != ENOTDIR) error = errno;
  }
  give_up(plan, ChildStep::exec, error);
}

}  // namespace rest_fcgi::embedded
