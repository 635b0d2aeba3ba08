// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rest_fcgi/returner/returner.h"
#include "returner/record.h"

namespace rest_fcgi::returner {
namespace {

constexpr std::size_t kMostClaims = 1024;     // of one shard
constexpr std::chrono::seconds kLookTime{1};  // between looks for what is outdated

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

/// The job cache in memory. Jobs lie in shards, by jid, each with a lock of its own, so that requests which
/// save their jobs at the same moment do not wait for each other. The limits count over all shards: who goes
/// beyond one drops the oldest job there is, whichever shard it lies in.
class MemoryReturner : public Returner {
 public:
  MemoryReturner(const Options& options, const Clock& clock) : options_(options), clock_(clock) {}

  [[nodiscard]] Result<bool> prep_jid(std::string_view passed_jid) override;
  Result<void> save_load(Load load, Durability durability) override;
  Result<void> save_minions(std::string_view jid, const std::vector<std::string>& minions) override;
  Result<void> returner(std::string_view jid, JobReturn ret) override;
  [[nodiscard]] Result<std::optional<Load>> get_load(std::string_view jid) const override;
  [[nodiscard]] Result<std::vector<JobReturn>> get_jid(std::string_view jid) const override;
  [[nodiscard]] Result<std::vector<FunctionReturn>> get_fun(std::string_view fun) const override;
  [[nodiscard]] Result<void> get_jids(const JobQuery& query, const LoadVisitor& visit) const override;
  [[nodiscard]] Result<std::vector<std::string>> get_minions() const override;
  Result<void> flush() override { return {}; }
  Result<std::size_t> clean_old_jobs() override;

 private:
  struct ByMinion {
    bool operator()(const JobReturn& a, const JobReturn& b) const { return a.minion < b.minion; }
  };
  struct Entry {
    Load load;
    std::set<JobReturn, ByMinion> returns;
    std::size_t bytes = 0;
    std::uint64_t number = 0;  ///< in the order of saving, over all shards
    WallTime saved;
  };
  static constexpr std::uint64_t kNoEntry = UINT64_MAX;
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    std::deque<std::unique_ptr<Entry>> entries;           // oldest first; guarded by mutex
    std::unordered_map<std::string_view, Entry*> by_jid;  // keys lie in the entries; guarded by mutex
    std::set<std::string, std::less<>> claimed;   // jids without a load so far, bounded; guarded by mutex
    std::atomic<std::uint64_t> oldest{kNoEntry};  // number of the first entry; written under mutex
  };

  [[nodiscard]] std::vector<Load> loads(const JobQuery& query) const;
  /// Without what is outdated: whatever is looked at or added, that goes first.
  [[nodiscard]] std::array<Shard, 16>& shards() const;
  [[nodiscard]] Shard& shard_of(std::string_view jid) const {
    return shards()[std::hash<std::string_view>{}(jid) % shards_.size()];
  }
  void add(Shard& shard, std::unique_ptr<Entry> entry);
  void replace(Shard& shard, Entry& entry, Entry& again);
  void drop_beyond_limits();
  bool drop_first(Shard& shard, WallTime before = WallTime::max()) const;
  std::size_t drop_saved_before(WallTime time) const;

  const Options options_;
  const Clock& clock_;
  mutable std::array<Shard, 16> shards_;
  std::atomic<std::uint64_t> next_number_{0};
  mutable std::atomic<std::size_t> jobs_{0};
  mutable std::atomic<std::size_t> bytes_{0};
  mutable std::atomic<WallTime> looked_{WallTime()};  // for what is outdated
};

std::array<MemoryReturner::Shard, 16>& MemoryReturner::shards() const {
  const WallTime now = clock_.wall();
  const WallTime looked = looked_;
  const bool is_due = now < looked || now - looked > kLookTime;  // also where the clock was set back
  if (is_due && options_.keep_jobs_seconds.count() != 0) {
    looked_ = now;
    drop_saved_before(now - options_.keep_jobs_seconds);
  }
  return shards_;
}

Result<bool> MemoryReturner::prep_jid(std::string_view passed_jid) {
  Shard& shard = shard_of(passed_jid);
  const std::lock_guard lock(shard.mutex);
  if (shard.by_jid.contains(passed_jid) || shard.claimed.contains(passed_jid)) return false;
  // The oldest, by the time in it, whose load will hardly come any more.
  if (shard.claimed.size() == kMostClaims) shard.claimed.erase(shard.claimed.begin());
  shard.claimed.emplace(passed_jid);
  return true;
}

Result<void> MemoryReturner::save_load(Load load, Durability) {
  auto entry = std::make_unique<Entry>();
  entry->saved = clock_.wall();
  entry->load = std::move(load);
  entry->bytes = bytes_of(entry->load);
  Shard& shard = shard_of(entry->load.jid);
  {
    const std::lock_guard lock(shard.mutex);
    if (!shard.claimed.empty()) shard.claimed.erase(entry->load.jid);
    const auto found = shard.by_jid.find(entry->load.jid);
    found == shard.by_jid.end() ? add(shard, std::move(entry)) : replace(shard, *found->second, *entry);
  }
  drop_beyond_limits();
  return {};
}

void MemoryReturner::add(Shard& shard, std::unique_ptr<Entry> entry) {
  jobs_ += 1;
  bytes_ += entry->bytes;
  entry->number = next_number_++;
  if (shard.entries.empty()) shard.oldest = entry->number;
  shard.by_jid.emplace(entry->load.jid, entry.get());
  shard.entries.push_back(std::move(entry));
}

void MemoryReturner::replace(Shard& shard, Entry& entry, Entry& again) {
  const std::size_t before = bytes_of(entry.load);
  shard.by_jid.erase(entry.load.jid);  // the key has to lie in the new load
  entry.load = std::move(again.load);
  shard.by_jid.emplace(entry.load.jid, &entry);
  entry.bytes += again.bytes - before;
  bytes_ += again.bytes - before;
}

Result<void> MemoryReturner::returner(std::string_view jid, JobReturn ret) {
  Shard& shard = shard_of(jid);
  {
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.by_jid.find(jid);
    if (found == shard.by_jid.end()) return {};
    Entry& entry = *found->second;
    if (const auto before = entry.returns.find(ret); before != entry.returns.end()) {
      if (ret.stands_in) return {};
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

Result<void> MemoryReturner::save_minions(std::string_view jid, const std::vector<std::string>& minions) {
  Shard& shard = shard_of(jid);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.by_jid.find(jid);
  if (found == shard.by_jid.end()) return {};
  Entry& entry = *found->second;
  std::vector<std::string>& expected = entry.load.minions;
  for (const std::string& minion : minions) {
    const auto at = std::lower_bound(expected.begin(), expected.end(), minion);
    if (at != expected.end() && *at == minion) continue;
    expected.insert(at, minion);
    entry.bytes += minion.size();
    bytes_ += minion.size();
  }
  return {};
}

Result<std::optional<Load>> MemoryReturner::get_load(std::string_view jid) const {
  Shard& shard = shard_of(jid);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.by_jid.find(jid);
  if (found == shard.by_jid.end()) return std::optional<Load>();
  return std::optional(found->second->load);
}

Result<std::vector<JobReturn>> MemoryReturner::get_jid(std::string_view jid) const {
  Shard& shard = shard_of(jid);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.by_jid.find(jid);
  if (found == shard.by_jid.end()) return std::vector<JobReturn>();
  return std::vector<JobReturn>(found->second->returns.begin(), found->second->returns.end());
}

Result<std::vector<FunctionReturn>> MemoryReturner::get_fun(std::string_view fun) const {
  const std::string wanted = Json::string(fun).text();
  std::map<std::string, FunctionReturn> newest;
  for (const Shard& shard : shards()) {
    const std::lock_guard lock(shard.mutex);
    for (const auto& entry : shard.entries) {
      if (entry->load.fun.text() != wanted) continue;
      for (const JobReturn& ret : entry->returns) {
        FunctionReturn& known = newest[ret.minion];
        if (known.jid < entry->load.jid) known = {entry->load.jid, ret};
      }
    }
  }
  std::vector<FunctionReturn> found;
  found.reserve(newest.size());
  for (auto& [minion, ret] : newest) found.push_back(std::move(ret));
  return found;
}

std::vector<Load> MemoryReturner::loads(const JobQuery& query) const {
  const std::string fun = query.fun.empty() ? std::string() : Json::string(query.fun).text();
  std::vector<Load> found;
  for (const Shard& shard : shards()) {
    const std::lock_guard lock(shard.mutex);
    for (const auto& entry : shard.entries) {
      const Load& load = entry->load;
      if (!means(query, load.jid)) continue;
      if (fun.empty() || load.fun.text() == fun) found.push_back(load);
    }
  }
  return found;
}

Result<void> MemoryReturner::get_jids(const JobQuery& query, const LoadVisitor& visit) const {
  std::vector<Load> found = loads(query);
  std::sort(found.begin(), found.end(),
            [&](const Load& a, const Load& b) { return query.newest_first ? b.jid < a.jid : a.jid < b.jid; });
  for (const Load& load : found) {
    if (!visit(load)) break;
  }
  return {};
}

Result<std::vector<std::string>> MemoryReturner::get_minions() const {
  std::set<std::string> minions;
  for (const Shard& shard : shards()) {
    const std::lock_guard lock(shard.mutex);
    for (const auto& entry : shard.entries) {
      for (const JobReturn& ret : entry->returns) minions.insert(ret.minion);
    }
  }
  return std::vector<std::string>(minions.begin(), minions.end());
}

Result<std::size_t> MemoryReturner::clean_old_jobs() {
  if (options_.keep_jobs_seconds.count() == 0) return std::size_t{0};
  return drop_saved_before(clock_.wall() - options_.keep_jobs_seconds);
}

std::size_t MemoryReturner::drop_saved_before(WallTime time) const {
  std::size_t dropped = 0;
  for (Shard& shard : shards_) {
    while (drop_first(shard, time)) ++dropped;
  }
  return dropped;
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

bool MemoryReturner::drop_first(Shard& shard, WallTime before) const {
  std::unique_ptr<Entry> dropped;  // destroyed after the lock is gone
  const std::lock_guard lock(shard.mutex);
  if (shard.entries.empty() || shard.entries.front()->saved >= before) return false;
  dropped = std::move(shard.entries.front());
  shard.entries.pop_front();
  shard.oldest = shard.entries.empty() ? kNoEntry : shard.entries.front()->number;
  shard.by_jid.erase(dropped->load.jid);
  jobs_ -= 1;
  bytes_ -= dropped->bytes;
  return true;
}

}  // namespace

std::unique_ptr<Returner> make_memory_returner(const Options& options, const Clock& clock) {
  return std::make_unique<MemoryReturner>(options, clock);
}

}  // namespace rest_fcgi::returner
