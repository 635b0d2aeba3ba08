// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/waiting.h"

#include <string>
#include <thread>

#include <doctest/doctest.h>

using namespace rest_fcgi;

namespace {

struct Recording final : WaitObserver {
  void begin_wait() noexcept override { seen += "begin "; }
  void end_wait() noexcept override { seen += "end "; }
  std::string seen;
};

TEST_CASE("an observer sees the outermost waits of its thread only") {
  Recording observer;
  std::thread([&observer] {
    observe_waits(observer);
    {
      const Waiting outer;
      const Waiting inner;
    }
    std::thread([] { const Waiting of_another_thread; }).join();
    observer.seen += "between ";
    const Waiting again;
  }).join();
  CHECK(observer.seen == "begin end between begin end ");
}

}  // namespace
