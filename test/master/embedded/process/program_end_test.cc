// SPDX-License-Identifier: MIT
#include "programs.h"

namespace rest_fcgi::embedded {
namespace {

TEST_CASE("a program whose time is over is ended") {
  Program slow = shell("sleep 1000 & wait");
  slow.time_limit = milliseconds(100);
  slow.grace = std::chrono::seconds(100);
  const auto start = steady_clock::now();
  const Ended ended = run(slow);
  CHECK(ended.how == How::timed_out);
  CHECK(ended.code == -SIGTERM);
  CHECK(steady_clock::now() - start >= milliseconds(100));
  CHECK(steady_clock::now() - start < std::chrono::seconds(50));
  CHECK_FALSE(has_children());
}

TEST_CASE("a program that is ended has no children left") {
  const Ended ended = run_until_line("sleep 1000 & echo $!; wait", std::chrono::seconds(100));
  CHECK(ended.how == How::stopped);
  CHECK(ended.code == -SIGTERM);
  CHECK(ends_soon(first_line(ended.output)));
}

TEST_CASE("what ignores SIGTERM gets SIGKILL after the grace") {
  const Ended ended = run_until_line(
      "trap '' TERM; (sleep 1000; sleep 1000) & echo $!; while :; do sleep 0.05; done", milliseconds(100));
  CHECK(ended.how == How::stopped);
  CHECK(ended.code == -SIGKILL);
  CHECK(ends_soon(first_line(ended.output)));
}

TEST_CASE("what a program says on SIGTERM is kept") {
  const Ended ended = run_until_line("trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.02; done",
                                     std::chrono::seconds(100));
  CHECK(ended.how == How::stopped);
  CHECK(ended.code == 7);
  CHECK(ended.output == "ready\nbye\n");
}

TEST_CASE("the output of children is waited for when the program itself is gone") {
  CHECK(run(shell("(sleep 0.2; echo late) & exit 4")).output == "late\n");
  Program held = shell("sleep 1000 & exit 4");
  held.time_limit = milliseconds(100);
  const Ended ended = run(held);
  CHECK(ended.how == How::timed_out);
  CHECK_FALSE(has_children());
}

TEST_CASE("who left the group with the output open is not waited for once the program was ended") {
  const Ended ended = run_until_line("setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' & sleep 1000",
                                     milliseconds(100));
  CHECK(ended.how == How::stopped);
  const std::string escaped = first_line(ended.output);
  CHECK(is_alive(escaped));
  ::kill(std::stoi(escaped), SIGKILL);
}

TEST_CASE("a stop request ends a program, before and while it runs") {
  std::stop_source stop;
  Program slow = shell("echo started; sleep 1000");
  {
    const std::jthread stopper([&] {
      std::this_thread::sleep_for(milliseconds(100));
      stop.request_stop();
    });
    CHECK(run(slow, stop.get_token()).how == How::stopped);
  }
  CHECK(run(slow, stop.get_token()).how == How::stopped);
  CHECK_FALSE(has_children());
}

}  // namespace
}  // namespace rest_fcgi::embedded
