// SPDX-License-Identifier: MIT
#include "gateway/process.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>

#include "rest_fcgi/gateway/gateway.h"

namespace rest_fcgi::gateway {
namespace {

sigset_t awaited_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGHUP, SIGTERM, SIGINT, SIGUSR1}) ::sigaddset(&signals, signal);
  return signals;
}

}  // namespace

void harden_process() {
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::umask(077);
  const sigset_t signals = awaited_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // A peer that is gone is an error of write(2), no reason to die.
  ::signal(SIGPIPE, SIG_IGN);
}

int wait_for_signal() {
  const sigset_t signals = awaited_signals();
  for (;;) {
    const int signal = ::sigwaitinfo(&signals, nullptr);
    if (signal > 0) return signal;
  }
}

void raise_file_limit(std::size_t wanted) {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace rest_fcgi::gateway
