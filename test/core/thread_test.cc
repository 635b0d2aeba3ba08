// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/thread.h"

#include <pthread.h>
#include <signal.h>

#include <memory>
#include <string>

#include <doctest/doctest.h>

using rest_fcgi::ErrorKind;
using rest_fcgi::Thread;

namespace {

std::string blocked() {
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  std::string found;
  for (int signal = 1; signal < SIGRTMIN; ++signal)
    found.push_back(::sigismember(&mask, signal) == 1 ? '1' : '0');
  return found;
}

constexpr std::size_t kMoreThanThereIs = std::size_t{1} << 60;

}  // namespace

TEST_CASE("a thread blocks all signals, its creator does not") {
  const std::string before = blocked();
  std::string there;
  auto thread = Thread::start("quiet", [&there] { there = blocked(); });
  REQUIRE(thread);
  CHECK(thread->joinable());
  thread->join();
  CHECK_FALSE(thread->joinable());
  CHECK(there[SIGTERM - 1] == '1');
  CHECK(there[SIGHUP - 1] == '1');
  CHECK(there[SIGCHLD - 1] == '1');
  CHECK(blocked() == before);
}

TEST_CASE("a thread that cannot be started is an error") {
  const std::string before = blocked();
  auto kept = std::make_shared<int>(0);
  bool ran = false;
  const auto thread = Thread::start(
      "large", [&ran, kept] { ran = true; }, kMoreThanThereIs);
  REQUIRE_FALSE(thread);
  CHECK(thread.error().kind == ErrorKind::internal);
  CHECK(thread.error().message.starts_with("cannot start a thread: "));
  CHECK(blocked() == before);
  CHECK_FALSE(ran);
  CHECK(kept.use_count() == 1);
}
