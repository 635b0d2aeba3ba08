// SPDX-License-Identifier: MIT
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace rest_fcgi::returner {

/// A thread that no signal comes to: those of the process are for others.
template <class Body>
[[nodiscard]] std::thread thread_without_signals(Body body) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(body));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace rest_fcgi::returner
