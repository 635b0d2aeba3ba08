// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/password_hash_limiter.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "auth/networks.h"

namespace rest_fcgi::auth {
namespace {

Error too_many_wait() {
  return {ErrorKind::unavailable, "Too many logins wait to be checked; try again in a moment."};
}

}  // namespace

std::size_t PasswordHashLimiter::cores() noexcept {
  return std::max(1U, std::thread::hardware_concurrency());
}

std::size_t PasswordHashLimiter::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiters_.size();
}

Result<PasswordHashLimiter::Pass> PasswordHashLimiter::enter(std::string_view remote, std::size_t memory,
                                                             SteadyTime deadline) {
  using State = Waiter::State;
  Leave pass{line_of(remote), std::min(memory, limits_.memory)};
  std::unique_lock lock(mutex_);
  if (has_room(pass.memory) && may_enter(pass.line) && next() == waiters_.end()) {
    take(pass.line, pass.memory);
    return Pass(this, std::move(pass));
  }
  Waiter waiter{pass.line, round_of(pass.line), pass.memory};
  if (waiters_.size() >= limits_.waiting && !make_room(waiter.round)) return too_many_wait();
  const auto behind = std::find_if(waiters_.begin(), waiters_.end(),
                                   [&](const Waiter* other) { return other->round > waiter.round; });
  const auto place = waiters_.insert(behind, &waiter);
  waiter.woken.wait_until(lock, deadline, [&] { return waiter.state != State::waits; });
  if (waiter.state == State::has_turn) return Pass(this, std::move(pass));
  if (waiter.state == State::gives_way) return too_many_wait();
  waiters_.erase(place);
  admit();  // the next one may need less memory
  return Error{ErrorKind::timeout,
               "Other logins are being checked, and this one's turn did not come in time."};
}

bool PasswordHashLimiter::has_room(std::size_t memory) const {
  return inside_ < limits_.at_once && memory <= limits_.memory - used_;
}

bool PasswordHashLimiter::may_enter(const std::string& line) const {
  const auto found = of_line_.find(line);
  return found == of_line_.end() || found->second < limits_.of_one;
}

PasswordHashLimiter::Waiters::iterator PasswordHashLimiter::next() {
  return std::find_if(waiters_.begin(), waiters_.end(),
                      [this](const Waiter* waiter) { return may_enter(waiter->line); });
}

/// The round after that of the last waiter in its line; without one, that of the latest turn.
std::uint64_t PasswordHashLimiter::round_of(std::string_view line) const {
  std::uint64_t round = round_;
  for (const Waiter* waiter : waiters_) {
    if (waiter->line == line) round = waiter->round + 1;
  }
  return round;
}

bool PasswordHashLimiter::make_room(std::uint64_t round) {
  if (waiters_.empty() || waiters_.back()->round <= round) return false;
  waiters_.back()->state = Waiter::State::gives_way;
  waiters_.back()->woken.notify_one();
  waiters_.pop_back();
  return true;
}

void PasswordHashLimiter::take(const std::string& line, std::size_t memory) {
  ++inside_;
  ++of_line_[line];
  used_ += memory;
}

void PasswordHashLimiter::leave(const Leave& pass) noexcept {
  const std::lock_guard lock(mutex_);
  --inside_;
  used_ -= pass.memory;
  if (const auto found = of_line_.find(pass.line); --found->second == 0) of_line_.erase(found);
  admit();
}

/// A waiter that needs much memory is not overtaken: else it might never have a turn.
void PasswordHashLimiter::admit() {
  for (auto place = next(); place != waiters_.end() && has_room((*place)->memory); place = next()) {
    Waiter& waiter = **place;
    waiters_.erase(place);
    round_ = std::max(round_, waiter.round);
    take(waiter.line, waiter.memory);
    waiter.state = Waiter::State::has_turn;
    waiter.woken.notify_one();
  }
}

std::shared_ptr<PasswordHashLimiter> make_hash_limiter(const LoginGuardOptions& options) {
  return std::make_shared<PasswordHashLimiter>(
      PasswordHashLimiter::Limits{.memory = options.hash_memory, .waiting = options.max_queued});
}

}  // namespace rest_fcgi::auth
