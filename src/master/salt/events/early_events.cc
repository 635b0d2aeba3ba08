// SPDX-License-Identifier: MIT
#include "master/salt/events/early_events.h"

#include <iterator>
#include <utility>

namespace rest_fcgi::salt {
namespace {

constexpr std::size_t kMostLosses = 1000;  // jobs that are told apart

}  // namespace

/// What the heap needs besides is counted too: else very many small events would fit.
std::size_t EarlyEvents::Kept::bytes() const noexcept {
  constexpr std::size_t kHeap = 160;
  return sizeof(Kept) + kHeap + jid.size() + tag.size() + data.size();
}

std::size_t EarlyEvents::keep(Kept event) {
  bytes_ += event.bytes();
  events_.push_back(std::move(event));
  const auto kept = std::prev(events_.end());
  by_job_.emplace(std::pair(std::string_view(kept->jid), kept->number), kept);
  std::size_t dropped = 0;
  for (; bytes_ > max_bytes_; ++dropped) {
    note_loss(events_.front());
    drop_oldest();
  }
  return dropped;
}

void EarlyEvents::note_loss(const Kept& event) {
  losses_[event.jid] = event.number;
  if (losses_.size() <= kMostLosses) return;
  all_lost_ = event.number;
  losses_.clear();
}

bool EarlyEvents::lost(std::string_view jid, std::uint64_t since) const {
  const auto loss = losses_.find(jid);
  return since <= all_lost_ || (loss != losses_.end() && since <= loss->second);
}

std::list<EarlyEvents::Kept> EarlyEvents::take(std::string_view jid, std::uint64_t since) {
  std::list<Kept> taken;
  auto event = by_job_.lower_bound({jid, since});
  while (event != by_job_.end() && event->first.first == jid) {
    bytes_ -= event->second->bytes();
    taken.splice(taken.end(), events_, event->second);
    event = by_job_.erase(event);
  }
  return taken;
}

void EarlyEvents::drop_before(std::uint64_t number) {
  while (!events_.empty() && events_.front().number < number) drop_oldest();
  std::erase_if(losses_, [number](const auto& loss) { return loss.second < number; });
}

void EarlyEvents::clear() {
  by_job_.clear();
  events_.clear();
  losses_.clear();
  bytes_ = 0;
}

void EarlyEvents::drop_oldest() {
  const Kept& oldest = events_.front();
  bytes_ -= oldest.bytes();
  by_job_.erase(by_job_.lower_bound({oldest.jid, oldest.number}));
  events_.pop_front();
}

}  // namespace rest_fcgi::salt
