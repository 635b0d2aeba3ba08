// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/password_hash_limiter.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "auth/login_guard.h"

namespace rest_fcgi::auth {
namespace {

Error too_many_wait() {
  return {ErrorKind::unavailable, "Too many logins are waiting for their check; try again in a moment."};
}

}  // namespace

std::size_t PasswordHashLimiter::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiters_.size();
}

Result<PasswordHashLimiter::Pass> PasswordHashLimiter::enter(std::string_view remote, SteadyTime deadline) {
  using State = Waiter::State;
  Leave pass{http::network_of(remote)};
  std::unique_lock lock(mutex_);
  if (inside_ < limits_.at_once && may_enter(pass.network) && next() == waiters_.end()) {
    take(pass.network);
    return Pass(this, std::move(pass));
  }
  Waiter waiter{pass.network, round_of(pass.network)};
  if (waiters_.size() >= limits_.waiting && !make_room(waiter.round)) return too_many_wait();
  const auto behind = std::find_if(waiters_.begin(), waiters_.end(),
                                   [&](const Waiter* other) { return other->round > waiter.round; });
  const auto place = waiters_.insert(behind, &waiter);
  waiter.woken.wait_until(lock, deadline, [&] { return waiter.state != State::waits; });
  if (waiter.state == State::has_turn) return Pass(this, std::move(pass));
  if (waiter.state == State::is_refused) return too_many_wait();
  waiters_.erase(place);
  return Error{ErrorKind::timeout,
               "Other logins are being checked, and these checks did not end in time; try again."};
}

bool PasswordHashLimiter::may_enter(const std::string& network) const {
  const auto found = of_network_.find(network);
  return found == of_network_.end() || found->second < limits_.of_one;
}

PasswordHashLimiter::Waiters::iterator PasswordHashLimiter::next() {
  return std::find_if(waiters_.begin(), waiters_.end(),
                      [this](const Waiter* waiter) { return may_enter(waiter->network); });
}

std::uint64_t PasswordHashLimiter::round_of(std::string_view network) const {
  std::uint64_t round = round_;
  for (const Waiter* waiter : waiters_) {
    if (waiter->network == network) round = waiter->round + 1;
  }
  return round;
}

bool PasswordHashLimiter::make_room(std::uint64_t round) {
  if (waiters_.empty() || waiters_.back()->round <= round) return false;
  waiters_.back()->state = Waiter::State::is_refused;
  waiters_.back()->woken.notify_one();
  waiters_.pop_back();
  return true;
}

void PasswordHashLimiter::take(const std::string& network) {
  ++inside_;
  ++of_network_[network];
}

void PasswordHashLimiter::leave(const std::string& network) noexcept {
  const std::lock_guard lock(mutex_);
  --inside_;
  if (const auto found = of_network_.find(network); --found->second == 0) of_network_.erase(found);
  admit();
}

void PasswordHashLimiter::admit() {
  for (auto place = next(); place != waiters_.end() && inside_ < limits_.at_once; place = next()) {
    Waiter& waiter = **place;
    waiters_.erase(place);
    round_ = std::max(round_, waiter.round);
    take(waiter.network);
    waiter.state = Waiter::State::has_turn;
    waiter.woken.notify_one();
  }
}

std::shared_ptr<PasswordHashLimiter> make_hash_limiter(const LoginGuardOptions& options) {
  constexpr unsigned kMostHashes = 8;  // Limits the memory, because one hash may need 16 MiB.
  return std::make_shared<PasswordHashLimiter>(
      PasswordHashLimiter::Limits{.at_once = std::clamp(std::thread::hardware_concurrency(), 1U, kMostHashes),
                                  .waiting = options.max_queued});
}

}  // namespace rest_fcgi::auth
