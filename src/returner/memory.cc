// SPDX-License-Identifier: MIT
#include "returner/memory.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace rest_fcgi::returner {

namespace {

std::size_t bytes_of(const Load& load) {
  std::size_t bytes = load.jid.size() + load.fun.text().size() + load.arg.text().size() +
                      load.tgt.text().size() + load.tgt_type.size() + load.user.size();
  if (load.metadata) bytes += load.metadata->text().size();
  for (const std::string& minion : load.minions) bytes += minion.size();
  return bytes;
}

std::size_t bytes_of(const JobReturn& ret) {
  return ret.minion.size() + ret.ret.text().size() + ret.out.size();
}

}  // namespace

MemoryReturner::Shard& MemoryReturner::shard_of(std::string_view jid) {
  return shards_[std::hash<std::string_view>{}(jid) % shards_.size()];
}

const MemoryReturner::Shard& MemoryReturner::shard_of(std::string_view jid) const {
  return shards_[std::hash<std::string_view>{}(jid) % shards_.size()];
}

Result<void> MemoryReturner::save_load(Load load) {
  auto entry = std::make_unique<Entry>();
  entry->load = std::move(load);
  entry->bytes = bytes_of(entry->load);
  jobs_ += 1;
  bytes_ += entry->bytes;
  Shard& shard = shard_of(entry->load.jid);
  {
    const std::lock_guard lock(shard.mutex);
    entry->number = next_number_++;
    if (shard.entries.empty()) shard.oldest = entry->number;
    shard.by_jid.erase(entry->load.jid);  // the key has to lie in the new entry
    shard.by_jid.emplace(entry->load.jid, entry.get());
    shard.entries.push_back(std::move(entry));
  }
  drop_beyond_limits();
  return {};
}

Result<void> MemoryReturner::returner(std::string_view jid, JobReturn ret) {
  Shard& shard = shard_of(jid);
  {
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.by_jid.find(jid);
    if (found == shard.by_jid.end()) return {};
    Entry& entry = *found->second;
    if (const auto before = entry.returns.find(ret); before != entry.returns.end()) {
      entry.bytes -= bytes_of(*before);
      bytes_ -= bytes_of(*before);
      entry.returns.erase(before);
    }
    entry.bytes += bytes_of(ret);
    bytes_ += bytes_of(ret);
    entry.returns.insert(std::move(ret));
  }
  drop_beyond_limits();
  return {};
}

Result<std::optional<StoredJob>> MemoryReturner::get_job(std::string_view jid) const {
  const Shard& shard = shard_of(jid);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.by_jid.find(jid);
  if (found == shard.by_jid.end()) return std::optional<StoredJob>();
  const Entry& entry = *found->second;
  return std::optional(StoredJob{entry.load, {entry.returns.begin(), entry.returns.end()}});
}

Result<std::vector<Load>> MemoryReturner::get_jids() const {
  std::vector<std::pair<std::uint64_t, Load>> found;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    for (const auto& entry : shard.entries) found.emplace_back(entry->number, entry->load);
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Load> loads;
  loads.reserve(found.size());
  for (auto& [number, load] : found) loads.push_back(std::move(load));
  return loads;
}

void MemoryReturner::drop_beyond_limits() {
  while (jobs_ > options_.max_jobs || bytes_ > options_.max_bytes) {
    const auto oldest = std::min_element(shards_.begin(), shards_.end(), [](const Shard& a, const Shard& b) {
      return a.oldest.load() < b.oldest.load();
    });
    // Others drop at the same time: whoever finds nothing left has nothing to do.
    if (oldest->oldest == kNoEntry) return;
    drop_first(*oldest);
  }
}

void MemoryReturner::drop_first(Shard& shard) {
  std::unique_ptr<Entry> dropped;  // destroyed after the lock is gone
  const std::lock_guard lock(shard.mutex);
  if (shard.entries.empty()) return;
  dropped = std::move(shard.entries.front());
  shard.entries.pop_front();
  shard.oldest = shard.entries.empty() ? kNoEntry : shard.entries.front()->number;
  const auto found = shard.by_jid.find(dropped->load.jid);
  if (found != shard.by_jid.end() && found->second == dropped.get()) shard.by_jid.erase(found);
  jobs_ -= 1;
  bytes_ -= dropped->bytes;
}

std::unique_ptr<Returner> make_memory_returner(const Options& options) {
  return std::make_unique<MemoryReturner>(options);
}

}  // namespace rest_fcgi::returner
