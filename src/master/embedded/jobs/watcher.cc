// SPDX-License-Identifier: MIT
#include "master/embedded/jobs/watcher.h"

#include <chrono>
#include <system_error>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::embedded {

namespace {

constexpr std::chrono::milliseconds kPause{500};

}  // namespace

void Watcher::wake() {
  const std::lock_guard lock(mutex_);
  awake_ = true;
  changed_.notify_one();
  if (thread_.joinable()) return;
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  } catch (const std::system_error& error) {
    log::warning(format("jobs cannot be stopped by other processes: no thread can be had: {}", error.what()));
  }
}

void Watcher::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    changed_.wait(lock, stop, [this] { return awake_; });
    changed_.wait_for(lock, stop, kPause, [] { return false; });
    if (stop.stop_requested()) return;
    awake_ = false;  // a wake while we look counts for the next time
    lock.unlock();
    const bool again = look_();
    lock.lock();
    awake_ = awake_ || again;
  }
}

}  // namespace rest_fcgi::embedded
