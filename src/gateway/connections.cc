// SPDX-License-Identifier: MIT
#include "gateway/connections.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "gateway/sys.h"

// Invariants of Connections whenever `mutex_` is free:
// - `open_` has each Entry once, at its `position_`.
// - `awaited_` is the number of entries with `is_awaited_`, and `evicted_` the number with `is_evicted_`.
// - An entry with `is_evicted_` has a socket that is shut down, and its `is_late_` is true.

namespace rest_fcgi::gateway {

Connections::Entry::Entry(Connections& connections, int socket, bool is_monitoring)
    : connections_(connections),
      socket_(socket),
      is_monitoring_(is_monitoring),
      since_(system_clock().steady()) {
  stage_ = Stage::request;
  const MutexLock lock(connections_.mutex_);
  is_awaited_ = !connections_.is_stopping_;
  if (is_awaited_) ++connections_.awaited_;
  position_ = connections_.open_.insert(connections_.open_.end(), this);
}

Connections::Entry::~Entry() {
  const MutexLock lock(connections_.mutex_);
  connections_.open_.erase(position_);
  if (is_evicted_) --connections_.evicted_;
  if (is_awaited_ && --connections_.awaited_ == 0) connections_.one_closed_.notify_all();
}

void Connections::Entry::wait(Stage stage, SteadyTime deadline) noexcept {
  if (stage_.exchange(stage) != stage) since_ = system_clock().steady();
  deadline_ = deadline;
}

void Connections::Entry::shut(int how) noexcept {
  is_late_ = true;
  deadline_ = SteadyTime::max();
  ::shutdown(socket_, how);
}

void Connections::sweep(SteadyTime now) {
  const MutexLock lock(mutex_);
  for (Entry* entry : open_) {
    const Stage stage = entry->stage_;
    SteadyTime deadline = entry->deadline_;
    if (is_stopping_ && stage == Stage::request)
      deadline = std::min(deadline, entry->since_.load() + kFarewell);
    if (now < deadline) continue;
    if (stage == Stage::reader || stage == Stage::work) {
      // Makes close(2) discard data that the peer has not read.
      set_option(entry->socket_, SOL_SOCKET, SO_LINGER, linger{1, 0});
      entry->shut(SHUT_RDWR);
    } else {
      entry->shut(SHUT_RD);  // Ends only reading, so that a reply can still be sent.
    }
  }
}

std::size_t Connections::make_room(std::size_t most) {
  const MutexLock lock(mutex_);
  const std::size_t open = open_.size() - evicted_;
  if (open < most) return most - open;
  return evict_locked(false) ? 1 : 0;
}

bool Connections::close_one() {
  const MutexLock lock(mutex_);
  return evicted_ != 0 || evict_locked(true);
}

bool Connections::evict_locked(bool spares_monitoring) {
  Entry* first = nullptr;
  const auto loss = [](const Entry& entry) { return std::pair(entry.stage_.load(), entry.since_.load()); };
  for (Entry* entry : open_) {
    if (entry->stage_ == Stage::work || entry->is_evicted_) continue;
    if (spares_monitoring && entry->is_monitoring_) continue;
    if (first == nullptr || loss(*entry) < loss(*first)) first = entry;
  }
  if (first == nullptr) return false;
  first->is_evicted_ = true;
  ++evicted_;
  first->shut(SHUT_RDWR);
  return true;
}

void Connections::stop(SteadyTime now) {
  is_stopping_ = true;
  sweep(now);
}

bool Connections::wait_until_empty(SteadyTime::duration patience) {
  MutexLock lock(mutex_);
  return one_closed_.wait_for(lock, patience, [this]() REQUIRES(mutex_) { return awaited_ == 0; });
}

}  // namespace rest_fcgi::gateway
