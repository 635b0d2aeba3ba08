// SPDX-License-Identifier: MIT
#include "auth/password_gate.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "rest_fcgi/auth/logins.h"

namespace rest_fcgi::auth {
namespace {

Error too_many_wait() {
  return {ErrorKind::unavailable, "Too many passwords wait to be checked; try again in a moment."};
}

}  // namespace

std::size_t PasswordGate::cores() noexcept {
  return std::max(1U, std::thread::hardware_concurrency());
}

std::size_t PasswordGate::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

Result<PasswordGate::Pass> PasswordGate::enter(std::string_view remote, std::size_t memory,
                                               SteadyTime deadline) {
  memory = std::min(memory, limits_.memory);
  std::unique_lock lock(mutex_);
  const auto line = find_or_add_line(remote);
  if (has_room(memory) && line->inside < limits_.of_one && next() == lines_.end()) {
    take(line, memory);
    return Pass(this, line, memory);
  }
  if (waiting_ >= limits_.waiting && !make_room(*line)) {
    drop_if_empty(line);
    return too_many_wait();
  }
  // Whoever comes back stands behind all who wait by now.
  if (line->waiters.empty()) lines_.splice(lines_.end(), lines_, line);
  Waiter waiter{memory};
  line->waiters.push_back(&waiter);
  ++waiting_;
  waiter.told.wait_until(lock, deadline, [&] { return waiter.state != State::waits; });
  if (waiter.state == State::goes_in) return Pass(this, line, memory);
  if (waiter.state == State::gives_way) return too_many_wait();
  remove(line, waiter);
  admit();  // whoever stood behind it may need less
  return Error{ErrorKind::timeout,
               "Other passwords are being checked, and this one's turn did not come in time."};
}

bool PasswordGate::has_room(std::size_t memory) const {
  return inside_ < limits_.at_once && memory <= limits_.memory - used_;
}

/// The line whose turn it is.
PasswordGate::Lines::iterator PasswordGate::next() {
  return std::find_if(lines_.begin(), lines_.end(), [this](const Line& line) {
    return !line.waiters.empty() && line.inside < limits_.of_one;
  });
}

PasswordGate::Lines::iterator PasswordGate::find_or_add_line(std::string_view remote) {
  std::string whose = line_of(remote);
  const auto line =
      std::find_if(lines_.begin(), lines_.end(), [&](const Line& one) { return one.whose == whose; });
  return line != lines_.end() ? line : lines_.insert(lines_.end(), Line{std::move(whose)});
}

void PasswordGate::take(Lines::iterator line, std::size_t memory) {
  ++line->inside;
  ++inside_;
  used_ += memory;
  lines_.splice(lines_.end(), lines_, line);
}

void PasswordGate::leave(Lines::iterator line, std::size_t memory) noexcept {
  const std::lock_guard lock(mutex_);
  --line->inside;
  --inside_;
  used_ -= memory;
  drop_if_empty(line);
  admit();
}

/// One of each line, in turn. Nobody is overtaken by who needs less: else who needs much might never get it.
void PasswordGate::admit() {
  for (auto line = next(); line != lines_.end() && has_room(line->waiters.front()->memory); line = next()) {
    Waiter& waiter = *line->waiters.front();
    line->waiters.pop_front();
    --waiting_;
    take(line, waiter.memory);
    waiter.state = State::goes_in;
    waiter.told.notify_one();
  }
}

/// The last one of the longest line goes, unless that line is no longer than the newcomer's would be.
bool PasswordGate::make_room(const Line& own) {
  const auto longest = std::max_element(lines_.begin(), lines_.end(), [](const Line& one, const Line& other) {
    return one.waiters.size() < other.waiters.size();
  });
  if (longest->waiters.size() <= own.waiters.size() + 1) return false;
  Waiter& last = *longest->waiters.back();
  last.state = State::gives_way;
  last.told.notify_one();
  remove(longest, last);
  return true;
}

void PasswordGate::remove(Lines::iterator line, const Waiter& waiter) {
  std::erase(line->waiters, &waiter);
  --waiting_;
  drop_if_empty(line);
}

void PasswordGate::drop_if_empty(Lines::iterator line) {
  if (line->waiters.empty() && line->inside == 0) lines_.erase(line);
}

}  // namespace rest_fcgi::auth
