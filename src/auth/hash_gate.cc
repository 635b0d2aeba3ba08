// SPDX-License-Identifier: MIT
#include "auth/hash_gate.h"

#include <algorithm>
#include <thread>

namespace rest_fcgi::auth {
namespace {

Error too_many_wait() {
  return {ErrorKind::unavailable, "Too many passwords wait to be checked; try again in a moment."};
}

}  // namespace

std::size_t HashGate::cores() noexcept {
  return std::max(1U, std::thread::hardware_concurrency());
}

std::size_t HashGate::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

Result<HashGate::Pass> HashGate::enter(const std::string& network, std::size_t memory, SteadyTime deadline) {
  memory = std::min(memory, limits_.memory);
  std::unique_lock lock(mutex_);
  if (lines_.empty() && has_room(memory)) {
    take(memory);
    return Pass(this, memory);
  }
  if (waiting_ >= limits_.waiting && !make_room(network)) return too_many_wait();
  Waiter waiter{memory};
  stand_in_line(network, waiter);
  waiter.told.wait_until(lock, deadline, [&] { return waiter.state != State::waits; });
  if (waiter.state == State::goes_in) return Pass(this, memory);
  if (waiter.state == State::gives_way) return too_many_wait();
  remove(network, waiter);
  admit();  // whoever stood behind it may need less
  return Error{ErrorKind::timeout,
               "Other passwords are being checked, and this one's turn did not come in time."};
}

bool HashGate::has_room(std::size_t memory) const {
  return inside_ < limits_.at_once && memory <= limits_.memory - used_;
}

void HashGate::take(std::size_t memory) {
  ++inside_;
  used_ += memory;
}

void HashGate::leave(std::size_t memory) noexcept {
  const std::lock_guard lock(mutex_);
  --inside_;
  used_ -= memory;
  admit();
}

/// One of each line, in turn. Nobody is overtaken by who needs less: else who needs much might never get it.
void HashGate::admit() {
  while (!lines_.empty() && has_room(lines_.front().waiters.front()->memory)) {
    Line& line = lines_.front();
    Waiter& waiter = *line.waiters.front();
    line.waiters.pop_front();
    --waiting_;
    take(waiter.memory);
    waiter.state = State::goes_in;
    waiter.told.notify_one();
    if (line.waiters.empty()) {
      lines_.pop_front();
    } else {
      lines_.splice(lines_.end(), lines_, lines_.begin());
    }
  }
}

std::list<HashGate::Line>::iterator HashGate::find(const std::string& network) {
  return std::find_if(lines_.begin(), lines_.end(),
                      [&](const Line& line) { return line.network == network; });
}

void HashGate::stand_in_line(const std::string& network, Waiter& waiter) {
  if (const auto line = find(network); line != lines_.end()) {
    line->waiters.push_back(&waiter);
  } else {
    lines_.push_back(Line{network, {&waiter}});
  }
  ++waiting_;
}

/// The last one of the longest line goes, unless that line is no longer than the newcomer's would be.
bool HashGate::make_room(const std::string& network) {
  std::size_t own = 0;
  const Line* longest = nullptr;
  for (const Line& line : lines_) {
    if (line.network == network) own = line.waiters.size();
    if (longest == nullptr || line.waiters.size() > longest->waiters.size()) longest = &line;
  }
  if (longest == nullptr || longest->waiters.size() <= own + 1) return false;
  Waiter& last = *longest->waiters.back();
  last.state = State::gives_way;
  last.told.notify_one();
  remove(longest->network, last);
  return true;
}

void HashGate::remove(const std::string& network, const Waiter& waiter) {
  const auto line = find(network);
  std::erase(line->waiters, &waiter);
  --waiting_;
  if (line->waiters.empty()) lines_.erase(line);
}

}  // namespace rest_fcgi::auth
