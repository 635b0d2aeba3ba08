// SPDX-License-Identifier: MIT
#include "etcd/watch_backlog.h"

#include <algorithm>
#include <utility>

namespace rest_fcgi::etcd {

void WatchBacklog::add(WatchReply reply) {
  for (WatchEvent& event : reply.events) {
    const std::int64_t revision = event.kv.mod_revision;
    if (revision < next_revision_) continue;
    if (last_is_open_ && revisions_.back().front().kv.mod_revision != revision) close_last();
    if (!last_is_open_) revisions_.emplace_back();
    last_is_open_ = true;
    revisions_.back().push_back(std::move(event));
  }
  if (last_is_open_ && !reply.fragment) close_last();
  // A reply with events tells in its header the newest revision of the store, of which it may be far behind.
  // One that creates a watch in the past does, too.
  const bool tells_progress = reply.events.empty() && (!reply.created || next_revision_ == 0);
  if (tells_progress) next_revision_ = std::max(next_revision_, reply.header.revision + 1);
}

void WatchBacklog::close_last() {
  next_revision_ = revisions_.back().front().kv.mod_revision + 1;
  last_is_open_ = false;
}

std::optional<std::vector<WatchEvent>> WatchBacklog::take() {
  if (revisions_.empty() || (last_is_open_ && revisions_.size() == 1)) return std::nullopt;
  std::vector<WatchEvent> events = std::move(revisions_.front());
  revisions_.pop_front();
  return events;
}

void WatchBacklog::broken() {
  if (last_is_open_) revisions_.pop_back();
  last_is_open_ = false;
}

}  // namespace rest_fcgi::etcd
