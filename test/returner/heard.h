// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "rest_fcgi/returner/returner.h"

namespace rest_fcgi::returner {

/// A listener that records each call as a line of text. Thread-safe.
class Heard : public ClusterListener {
 public:
  using Lines = std::vector<std::string>;

  std::atomic<bool> is_wanted{true};

  bool wanted() override { return is_wanted; }
  void job(const Load& load) override { add("job " + load.jid + " " + load.fun.text() + " " + load.user); }
  void returned(const Load& load, const JobReturn& ret) override {
    add("ret " + load.jid + " " + load.fun.text() + " " + load.user + " " + ret.minion + " " +
        ret.ret.text() + (ret.success ? "" : " failed " + std::to_string(ret.retcode)));
  }
  void event(std::string_view tag, const Json& data, std::string_view user) override {
    add("event " + std::string(tag) + " " + data.text() + " " + std::string(user));
  }
  void lost(const std::string& reason) override { add("lost " + reason); }

  Lines lines(std::size_t count, std::chrono::milliseconds time = std::chrono::seconds(30)) {
    std::unique_lock lock(mutex_);
    came_.wait_for(lock, time, [&] { return lines_.size() >= count; });
    return lines_;
  }
  std::size_t count(const std::string& beginning) {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::count_if(
        lines_.begin(), lines_.end(), [&](const auto& line) { return line.starts_with(beginning); }));
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    lines_.clear();
  }

 private:
  void add(std::string line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
    came_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable came_;
  Lines lines_;
};

inline SteadyTime watch_deadline() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(20);
}

}  // namespace rest_fcgi::returner
