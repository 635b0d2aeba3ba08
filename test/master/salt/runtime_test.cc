// SPDX-License-Identifier: MIT
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "../../support/fake_event_bus.h"
#include "../../support/temp_dir.h"
#include "../../support/threads.h"
#include "rest_fcgi/master/salt/salt.h"

namespace {

using namespace rest_fcgi;
using rest_fcgi::test::FakeEventBus;
using rest_fcgi::test::TempDir;

salt::Options options_in(const TempDir& dir) {
  salt::Options options;
  options.sock_dir = dir.path().string();
  return options;
}

int bus_threads() {
  return test::threads_named("salt-events");
}

TEST_CASE("describe_event_bus says whether the bus can be joined") {
  const TempDir dir;
  const salt::Options options = options_in(dir);
  const std::string path = dir / "master_event_pub.ipc";
  CHECK(salt::describe_event_bus(options) ==
        "cannot be joined: " + path +
            ": No such file or directory; is the Salt master running, with this sock_dir and ipc_mode?");
  const FakeEventBus master(path);
  CHECK(salt::describe_event_bus(options) == "can be joined by this user");
  CHECK(bus_threads() == 0);
}

TEST_CASE("describe_event_firing says whether events can be fired") {
  const TempDir dir;
  const salt::Options options = options_in(dir);
  const std::string path = dir / "master_event_pull.ipc";
  CHECK(salt::describe_event_firing(options) ==
        "cannot be fired: " + path +
            ": No such file or directory; is the Salt master running, with this sock_dir and ipc_mode?");
  const FakeEventBus master(path);
  CHECK(salt::describe_event_firing(options) == "can be fired by this user");
}

TEST_CASE("the event bus is started once") {
  const TempDir dir;
  const FakeEventBus master(dir / "master_event_pub.ipc");
  const auto made = salt::make_runtime(options_in(dir), system_clock());
  REQUIRE(made);
  CHECK(bus_threads() == 0);
  (*made)->join_event_bus();
  (*made)->join_event_bus();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (bus_threads() == 0 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  CHECK(bus_threads() == 1);
  CHECK((*made)->shutdown(system_clock().steady() + std::chrono::seconds(1)) == 0);
}

}  // namespace
