// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/returner/returner.h"
#include "returner/record.h"

namespace rest_fcgi::returner {
namespace {

constexpr std::size_t kMostClaims = 16384;

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

/// The job cache in memory. Whatever is looked at or added, what is outdated goes first.
class MemoryReturner : public Returner {
 public:
  MemoryReturner(const Options& options, const Clock& clock) : options_(options), clock_(clock) {}

  Result<bool> prep_jid(std::string_view passed_jid) override {
    const Lock lock = locked();
    if (jobs_.contains(passed_jid) || claimed_.contains(passed_jid)) return false;
    // The oldest, by the time in it, whose load will hardly come any more.
    if (claimed_.size() == kMostClaims) claimed_.erase(claimed_.begin());
    claimed_.emplace(passed_jid);
    return true;
  }

  Result<void> save_load(Load load, Durability) override {
    const Lock lock = locked();
    keep(std::move(load));
    drop_beyond_limits();
    return {};
  }

  Result<void> save_job(const Load& load, std::span<const ReturnView> returns) override {
    const Lock lock = locked();
    Job& job = keep(load);
    for (const ReturnView& ret : returns) keep(job, ret.copy());
    drop_beyond_limits();
    return {};
  }

  Result<void> save_minions(std::string_view jid, const std::vector<std::string>& minions) override {
    const Lock lock = locked();
    const auto found = jobs_.find(jid);
    if (found == jobs_.end()) return {};
    Load& load = found->second.load;
    const std::size_t before = bytes_of(load);
    add_minions(load.minions, minions);
    count(found->second, bytes_of(load), before);
    return {};
  }

  Result<void> returner(std::string_view jid, JobReturn ret) override {
    const Lock lock = locked();
    const auto found = jobs_.find(jid);
    if (found == jobs_.end()) return {};
    keep(found->second, std::move(ret));
    drop_beyond_limits();
    return {};
  }

  [[nodiscard]] Result<std::optional<Load>> get_load(std::string_view jid) const override {
    const Lock lock = locked();
    const auto found = jobs_.find(jid);
    return found == jobs_.end() ? std::nullopt : std::optional(found->second.load);
  }

  [[nodiscard]] Result<std::vector<JobReturn>> get_jid(std::string_view jid) const override {
    const Lock lock = locked();
    std::vector<JobReturn> returns;
    const auto found = jobs_.find(jid);
    if (found == jobs_.end()) return returns;
    returns.reserve(found->second.returns.size());
    for (const auto& [minion, ret] : found->second.returns) returns.push_back(ret);
    return returns;
  }

  [[nodiscard]] Result<std::vector<FunctionReturn>> get_fun(std::string_view fun) const override {
    const Lock lock = locked();
    const Json wanted = Json::string(fun);
    std::map<std::string_view, FunctionReturn> newest;
    for (auto at = jobs_.rbegin(); at != jobs_.rend(); ++at) {
      const auto& [jid, job] = *at;
      if (job.load.fun != wanted) continue;
      for (const auto& [minion, ret] : job.returns) {
        if (!newest.contains(minion)) newest[minion] = {jid, ret};
      }
    }
    std::vector<FunctionReturn> found;
    found.reserve(newest.size());
    for (auto& [minion, ret] : newest) found.push_back(std::move(ret));
    return found;
  }

  [[nodiscard]] Result<void> get_jids(const JobQuery& query, const LoadVisitor& visit) const override {
    const Lock lock = locked();
    const auto go_on = [&](const auto& job) {
      const Load& load = job.second.load;
      return !means(query, load) || visit(load);
    };
    static_cast<void>(query.newest_first ? std::all_of(jobs_.rbegin(), jobs_.rend(), go_on)
                                         : std::all_of(jobs_.begin(), jobs_.end(), go_on));
    return {};
  }

  [[nodiscard]] Result<std::vector<std::string>> get_minions() const override {
    const Lock lock = locked();
    std::set<std::string_view> minions;
    for (const auto& [jid, job] : jobs_) {
      for (const auto& [minion, ret] : job.returns) minions.insert(minion);
    }
    return std::vector<std::string>(minions.begin(), minions.end());
  }

  Result<void> flush() override { return {}; }

  Result<std::size_t> clean_old_jobs() override {
    const Lock lock(mutex_);
    return drop_outdated();
  }

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Job {
    Load load;
    std::map<std::string, JobReturn> returns;  ///< by minion
    std::size_t bytes = 0;
    WallTime saved;
  };
  using Jobs = std::map<std::string, Job, std::less<>>;  // by jid

  [[nodiscard]] Lock locked() const {
    Lock lock(mutex_);
    drop_outdated();
    return lock;
  }

  // All that follows REQUIRES: mutex_.

  Job& keep(Load load) {
    claimed_.erase(load.jid);
    const auto [place, is_new] = jobs_.try_emplace(load.jid);
    Job& job = place->second;
    if (is_new) {
      job.saved = clock_.wall();
      by_age_.push_back(place);
    }
    count(job, bytes_of(load), is_new ? 0 : bytes_of(job.load));
    job.load = std::move(load);
    return job;
  }

  void keep(Job& job, JobReturn ret) {
    const std::size_t before = job.returns.size();
    const auto place = job.returns.try_emplace(job.returns.end(), ret.minion);  // most come in order
    const bool is_new = job.returns.size() > before;
    if (!is_new && ret.stands_in) return;
    count(job, bytes_of(ret), is_new ? 0 : bytes_of(place->second));
    place->second = std::move(ret);
  }

  void count(Job& job, std::size_t more, std::size_t less) {
    job.bytes += more - less;
    bytes_ += more - less;
  }

  /// Returns how many jobs went.
  std::size_t drop_outdated() const {
    if (options_.keep_jobs_seconds.count() == 0) return 0;
    const WallTime least = clock_.wall() - options_.keep_jobs_seconds;
    std::size_t dropped = 0;
    for (; !by_age_.empty() && by_age_.front()->second.saved < least; ++dropped) drop_oldest();
    return dropped;
  }

  void drop_beyond_limits() {
    while (jobs_.size() > options_.max_jobs || bytes_ > options_.max_bytes) drop_oldest();
  }

  void drop_oldest() const {
    bytes_ -= by_age_.front()->second.bytes;
    jobs_.erase(by_age_.front());
    by_age_.pop_front();
  }

  const Options options_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  mutable Jobs jobs_;                           // guarded by mutex_, as all that follows
  mutable std::deque<Jobs::iterator> by_age_;   // those that were saved first in front
  mutable std::size_t bytes_ = 0;               // of all jobs
  std::set<std::string, std::less<>> claimed_;  // jids without a load so far, bounded
};

}  // namespace

std::unique_ptr<Returner> make_memory_returner(const Options& options, const Clock& clock) {
  return std::make_unique<MemoryReturner>(options, clock);
}

}  // namespace rest_fcgi::returner
