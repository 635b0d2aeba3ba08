// SPDX-License-Identifier: MIT
#include "auth/grant_table.h"

#include <algorithm>
#include <utility>

namespace rest_fcgi::auth {

// The calendar may jump, so the grant's own end is looked at whenever it is asked for.
bool GrantTable::is_good(const Entry& entry, const Now& now, SteadyTime deadline) {
  return (now.steady < entry.end || deadline <= entry.deadline) && now.wall < entry.grant->expire;
}

std::shared_ptr<const Grant> GrantTable::find(const Key& key, SteadyTime deadline) const {
  const auto found = entries_.find(key);
  return found != entries_.end() && is_good(found->second, now(), deadline) ? found->second.grant : nullptr;
}

void GrantTable::remember(const Key& key, std::shared_ptr<const Grant> grant, SteadyTime deadline) {
  const Now at = now();
  // Whose deadline is over asks no more.
  std::erase_if(entries_, [&](const auto& entry) { return !is_good(entry.second, at, at.steady); });
  const Entry entry{std::move(grant), at.steady + ttl_, deadline};
  if (!is_good(entry, at, at.steady)) return;
  if (entries_.size() >= kMaxGrants && !entries_.contains(key)) {
    entries_.erase(std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
      return a.second.end < b.second.end;
    }));
  }
  entries_.insert_or_assign(key, entry);
}

void GrantTable::forget(const Key& key, const Grant& grant) {
  const auto found = entries_.find(key);
  if (found != entries_.end() && found->second.grant.get() == &grant) entries_.erase(found);
}

}  // namespace rest_fcgi::auth
