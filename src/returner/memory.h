// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rest_fcgi/returner/returner.h"

namespace rest_fcgi::returner {

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
  [[nodiscard]] bool works_on(const struct stat&) const override { return false; }
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
  [[nodiscard]] Shard& shard_of(std::string_view jid);
  [[nodiscard]] const Shard& shard_of(std::string_view jid) const;
  void add(Shard& shard, std::unique_ptr<Entry> entry);
  void replace(Shard& shard, Entry& entry, Entry& again);
  void drop_beyond_limits();
  bool drop_first(Shard& shard, WallTime before = WallTime::max());

  const Options options_;
  const Clock& clock_;
  std::array<Shard, 16> shards_;
  std::atomic<std::uint64_t> next_number_{0};
  std::atomic<std::size_t> jobs_{0};
  std::atomic<std::size_t> bytes_{0};
};

}  // namespace rest_fcgi::returner
