// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../support/door.h"
#include "returner/etcd/store.h"

namespace rest_fcgi::returner {

/// The keys and the failures of a fake etcd cluster. Thread-safe.
class FakeEtcd {
 public:
  using Map = std::map<std::string, std::string>;

  [[nodiscard]] Map map() const {
    const std::lock_guard lock(mutex_);
    return map_;
  }
  void put(const std::string& key, const std::string& value) {
    const std::lock_guard lock(mutex_);
    map_[key] = value;
  }
  /// Makes all calls fail with `error`. If `error` is absent, calls succeed again.
  void fail(std::optional<Error> error) {
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
  }
  /// Executes the next write, but returns an error as if the answer were lost.
  void lose_next_answer(Error error) {
    const std::lock_guard lock(mutex_);
    lost_answer_ = std::move(error);
  }
  void refuse_beyond(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    most_bytes_ = bytes;
  }
  /// Writes wait at this door, if set. A test sets the door before the first write, or while all writes wait.
  test::Door* door = nullptr;

  [[nodiscard]] std::size_t most_at_once() const {
    const std::lock_guard lock(mutex_);
    return most_at_once_;
  }
  [[nodiscard]] std::vector<std::size_t> transactions() const {
    const std::lock_guard lock(mutex_);
    return transactions_;
  }

 private:
  friend class FakeEtcdStore;
  mutable std::mutex mutex_;
  Map map_;
  std::optional<Error> error_;
  std::optional<Error> lost_answer_;
  std::size_t most_bytes_ = static_cast<std::size_t>(-1);
  std::size_t at_once_ = 0;
  std::size_t most_at_once_ = 0;
  std::vector<std::size_t> transactions_;
};

class FakeEtcdStore : public EtcdStore {
 public:
  explicit FakeEtcdStore(std::shared_ptr<FakeEtcd> etcd) : etcd_(std::move(etcd)) {}

  Result<std::vector<std::optional<std::string>>> get(const std::vector<std::string>& keys) override {
    const std::lock_guard lock(etcd_->mutex_);
    if (etcd_->error_) return *etcd_->error_;
    std::vector<std::optional<std::string>> values;
    for (const std::string& key : keys) values.push_back(value_of(key));
    return values;
  }

  Result<void> visit(const std::string& folder, const Visitor& visitor) override {
    const FakeEtcd::Map map = etcd_->map();
    const std::lock_guard lock(etcd_->mutex_);
    if (etcd_->error_) return *etcd_->error_;
    for (const auto& [key, value] : map) {
      if (key.starts_with(folder)) visitor(key, value);
    }
    return {};
  }

  Result<void> walk_loads(const EtcdLayout& layout, const EtcdWalk& walk,
                          const LoadVisitor& visitor) override {
    std::map<std::string, std::optional<std::string>> loads;
    {
      const std::lock_guard lock(etcd_->mutex_);
      if (etcd_->error_) return *etcd_->error_;
      for (const auto& [key, value] : etcd_->map_) {
        if (!key.starts_with(layout.jobs())) continue;
        const std::size_t begin = layout.jobs().size();
        const std::string jid = key.substr(begin, key.find('/', begin) - begin);
        if (!is_like_jid(jid)) continue;
        if (nearest_key(jid) < walk.keys.least || nearest_key(jid) > walk.keys.greatest) continue;
        std::optional<std::string>& load = loads[jid];
        if (key == layout.load(jid)) load = value;
      }
    }
    for (auto& [jid, load] : loads) {
      if (load) continue;
      auto made = load_or_returned(*this, layout, jid);
      if (!made) return std::move(made).error();
      load = *std::move(made);
    }
    bool more = true;
    const auto visit = [&](const auto& load) {
      more = more && (!load.second || visitor(load.first, *load.second));
    };
    walk.newest_first ? std::for_each(loads.rbegin(), loads.rend(), visit)
                      : std::for_each(loads.begin(), loads.end(), visit);
    return {};
  }

  Result<void> write(const std::vector<EtcdWrite>& writes) override {
    {
      const std::lock_guard lock(etcd_->mutex_);
      etcd_->most_at_once_ = std::max(etcd_->most_at_once_, ++etcd_->at_once_);
    }
    if (etcd_->door != nullptr) etcd_->door->pass();
    const std::lock_guard lock(etcd_->mutex_);
    --etcd_->at_once_;
    if (etcd_->error_) return *etcd_->error_;
    std::size_t puts = 0;
    for (const EtcdWrite& write : writes) {
      puts += write.puts.size();
      for (const EtcdPair& put : write.puts) {
        if (put.value.size() > etcd_->most_bytes_)
          return Error{ErrorKind::invocation, "request is too large"};
      }
    }
    etcd_->transactions_.push_back(puts);
    for (const EtcdWrite& write : writes) {
      const auto found = value_of(write.guard);
      if (found && write.unless == EtcdWrite::Unless::exists) continue;
      if (found && write.unless == EtcdWrite::Unless::greater && *found > write.than) continue;
      for (const EtcdPair& put : write.puts) etcd_->map_[put.key] = put.value;
    }
    if (etcd_->lost_answer_) return *std::exchange(etcd_->lost_answer_, std::nullopt);
    return {};
  }

  Result<bool> claim(const EtcdPair& claim, const std::string& taken_by, std::chrono::seconds) override {
    const std::lock_guard lock(etcd_->mutex_);
    if (etcd_->error_) return *etcd_->error_;
    if (value_of(taken_by)) return false;
    return etcd_->map_.try_emplace(claim.key, claim.value).first->second == claim.value;
  }

  Result<bool> replace(const EtcdPair& pair, const std::string& before) override {
    const std::lock_guard lock(etcd_->mutex_);
    if (etcd_->error_) return *etcd_->error_;
    if (value_of(pair.key) != before) return false;
    etcd_->map_[pair.key] = pair.value;
    return true;
  }

 private:
  [[nodiscard]] std::optional<std::string> value_of(const std::string& key) const {
    const auto found = etcd_->map_.find(key);
    return found == etcd_->map_.end() ? std::nullopt : std::optional(found->second);
  }

  std::shared_ptr<FakeEtcd> etcd_;
};

}  // namespace rest_fcgi::returner
