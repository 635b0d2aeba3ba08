// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/limiter.h"

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/waiting.h"

namespace rest_fcgi {

Limiter::Limiter(const Limits& limits)
    : what_(limits.what), max_slow_(limits.slow), max_stalled_(limits.stalled) {
  for (const Class& each : limits.classes) classes_.push_back({each});
}

Result<Limiter::Pass> Limiter::enter(std::size_t index, std::string key, SteadyTime deadline) {
  MutexLock lock(mutex_);
  ClassState& own = classes_[index];
  if (!is_closed_ && may_begin(own, key)) {
    begin(own, key);
    return Pass(this, {index, std::move(key)});
  }
  if (!is_closed_ && make_room(own, key)) {
    Waiter waiter{next_number_++};
    own.waiters.push(key, &waiter);
    ++waiting_;
    const Waiting waiting;
    waiter.woken.wait_until(lock, deadline,
                            [&]() REQUIRES(mutex_) { return waiter.state != Waiter::State::waits; });
    --waiting_;
    if (waiter.state == Waiter::State::works) return Pass(this, {index, std::move(key)});
    if (waiter.state == Waiter::State::waits) {
      own.waiters.erase(key, &waiter);
      return Error{ErrorKind::timeout,
                   format("Other {} did not end in time, and this one did not begin; try again.", what_)};
    }
    left_.notify_all();
  }
  if (is_closed_) return Error{ErrorKind::unavailable, "The server is shutting down."};
  return Error{ErrorKind::unavailable,
               format("Too many {} are waiting, and this one did not begin; try again in a moment.", what_)};
}

void Limiter::stall(Pass& pass) {
  const MutexLock lock(mutex_);
  Leave& place = pass.get_deleter();
  if (place.is_stalled || stalled_ >= max_stalled_) return;
  ClassState& own = classes_[place.index];
  place.is_stalled = true;
  ++stalled_;
  end_shared(own);
  if (!own.limits.keeps_place) end_own(own, place.key);
  admit();
}

std::size_t Limiter::waiting() const {
  const MutexLock lock(mutex_);
  return waiting_;
}

std::size_t Limiter::working() const {
  const MutexLock lock(mutex_);
  return working_ + stalled_;
}

void Limiter::close() {
  MutexLock lock(mutex_);
  is_closed_ = true;
  for (ClassState& each : classes_) {
    while (!each.waiters.empty()) wake(*each.waiters.pop(each.waiters.begin()), Waiter::State::is_refused);
  }
  left_.wait(lock, [this]() REQUIRES(mutex_) { return working_ + stalled_ + waiting_ == 0; });
}

bool Limiter::may_begin(const ClassState& own, const std::string& key) const {
  const Class& limits = own.limits;
  if (working_ >= limits.of_all || own.working >= limits.at_once) return false;
  if (limits.is_slow && slow_ >= max_slow_) return false;
  const auto found = own.of_key.find(key);
  return found == own.of_key.end() || found->second < limits.of_one;
}

bool Limiter::make_room(ClassState& own, const std::string& key) {
  if (own.waiters.size() < own.limits.waiting) return true;
  const std::optional<Waiter*> last = own.waiters.make_room(key);
  if (last) wake(**last, Waiter::State::is_refused);
  return last.has_value();
}

void Limiter::begin(ClassState& own, const std::string& key) {
  ++own.working;
  if (own.limits.of_one != kUnlimited) ++own.of_key[key];
  ++working_;
  if (own.limits.is_slow) ++slow_;
}

void Limiter::end_shared(const ClassState& own) {
  --working_;
  if (own.limits.is_slow) --slow_;
}

void Limiter::end_own(ClassState& own, const std::string& key) {
  --own.working;
  const auto found = own.of_key.find(key);
  if (found != own.of_key.end() && --found->second == 0) own.of_key.erase(found);
}

void Limiter::leave(const Leave& place) noexcept {
  const MutexLock lock(mutex_);
  ClassState& own = classes_[place.index];
  if (place.is_stalled) {
    --stalled_;
  } else {
    end_shared(own);
  }
  if (!place.is_stalled || own.limits.keeps_place) end_own(own, place.key);
  if (is_closed_) left_.notify_all();
  admit();
}

/// Lets waiting threads begin until a limit holds back each of them.
void Limiter::admit() {
  for (;;) {
    ClassState* first = nullptr;
    FairQueue<Waiter*>::Turn turn;
    for (ClassState& each : classes_) {
      const auto next =
          std::find_if(each.waiters.begin(), each.waiters.end(),
                       [&](const auto& queue) REQUIRES(mutex_) { return may_begin(each, queue.key); });
      if (next == each.waiters.end()) continue;
      if (first != nullptr && turn->items.front()->number < next->items.front()->number) continue;
      first = &each;
      turn = next;
    }
    if (first == nullptr) return;
    begin(*first, turn->key);
    wake(*first->waiters.pop(turn), Waiter::State::works);
  }
}

void Limiter::wake(Waiter& waiter, Waiter::State state) {
  waiter.state = state;
  waiter.woken.notify_one();
}

}  // namespace rest_fcgi
