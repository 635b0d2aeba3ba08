// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "logins_fixture.h"

namespace rest_fcgi::auth {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

using Outcome = Result<std::shared_ptr<const Grant>>;

class WatchedClock final : public Clock {
 public:
  [[nodiscard]] WallTime wall() const override { return clock_.wall(); }
  [[nodiscard]] SteadyTime steady() const override {
    ++looks_;
    return clock_.steady();
  }
  [[nodiscard]] int looks() const { return looks_; }

 private:
  test::ManualClock clock_;
  mutable std::atomic<int> looks_ = 0;
};

/// Threads that log in with the same credentials while another thread checks these credentials.
class Crowd {
 public:
  static constexpr std::size_t kOthers = 3;
  using Answer = std::function<Result<Grant>()>;

  explicit Crowd(const LoginGuardOptions& guard = {.tries = 0}) {
    remote_ = Logins::make(guard, seconds(0), clock_, *store::Store::open({}));
  }
  ~Crowd() { join(); }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  Outcome login(const Answer& answer, SteadyTime deadline) {
    const auto check = [&](const Credentials&) {
      ++asked;
      return answer();
    };
    return remote_->login(with_password("fred", "canary"), check, deadline, {});
  }

  /// Logs in on this thread. The check of this login starts the other logins, waits for them, and calls
  /// `answer`.
  Outcome lead(const Answer& answer) {
    return login(
        [&] {
          for (std::size_t i = 0; i < kOthers; ++i) follow(late());
          return answer();
        },
        late());
  }

  /// Logs in on another thread. Returns when the other thread holds the lock of `Logins` and has read the
  /// clock.
  void follow(SteadyTime deadline) {
    const int looks = clock_.looks();
    threads_.emplace_back([this, deadline] {
      Outcome outcome = login([this] { return good(); }, deadline);
      const std::lock_guard lock(mutex_);
      outcomes_.push_back(std::move(outcome));
    });
    while (clock_.looks() == looks) std::this_thread::yield();
  }

  const std::vector<Outcome>& others() {
    join();
    return outcomes_;
  }

  Result<Grant> good() const { return Grant{"fred", "pam", {}, Secret("token"), clock_.wall() + hours(1)}; }
  [[nodiscard]] SteadyTime now() const { return start_; }
  [[nodiscard]] SteadyTime late() const { return start_ + hours(1); }

  std::atomic<int> asked = 0;

 private:
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  WatchedClock clock_;
  const SteadyTime start_ = clock_.steady();
  std::unique_ptr<Logins> remote_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::vector<Outcome> outcomes_;
};

Result<Grant> wrong() {
  return Error{ErrorKind::authentication, "not good"};
}

}  // namespace

TEST_CASE("one of many threads checks the same credentials, even if logins are not remembered") {
  Crowd crowd;
  const Outcome first = crowd.lead([&] { return crowd.good(); });
  REQUIRE(first);
  CHECK(crowd.others().size() == Crowd::kOthers);
  for (const Outcome& other : crowd.others()) {
    REQUIRE(other);
    CHECK(*other == *first);
  }
  CHECK(crowd.asked == 1);
  CHECK(crowd.login([&] { return crowd.good(); }, crowd.late() + seconds(1)));
  CHECK(crowd.asked == 2);
}

TEST_CASE("threads that wait for a refused login are refused, and it counts once") {
  Crowd crowd({.tries = 2});
  const test::CapturedLog log;
  CHECK(crowd.lead(wrong).error().kind == ErrorKind::authentication);
  for (const Outcome& other : crowd.others()) {
    REQUIRE_FALSE(other);
    CHECK(other.error().kind == ErrorKind::authentication);
    CHECK(other.error().message == "Authorization error occurred.");
  }
  CHECK(crowd.asked == 1);
  CHECK(crowd.login([&] { return crowd.good(); }, crowd.late()));
}

TEST_CASE("a thread waits until its own deadline, and the check goes on") {
  Crowd crowd;
  const Outcome first = crowd.login(
      [&] {
        crowd.follow(crowd.now());
        const auto& others = crowd.others();
        REQUIRE_FALSE(others.front());
        CHECK(others.front().error().kind == ErrorKind::timeout);
        return crowd.good();
      },
      crowd.late());
  CHECK(first);
  CHECK(crowd.asked == 1);
}

}  // namespace rest_fcgi::auth
