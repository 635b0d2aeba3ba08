// SPDX-License-Identifier: MIT
#include "gateway/http/loop.h"

#include <chrono>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "gateway/sys.h"
#include "rest_fcgi/core/thread.h"

namespace rest_fcgi::gateway {
namespace {

/// How long work may keep the leader, and with it all connections: from one to two times this.
constexpr std::chrono::milliseconds kPatience{1};

/// Work that takes longer is better done by many threads at once.
constexpr std::chrono::microseconds kQuick{200};

/// For how long it then is.
constexpr std::chrono::milliseconds kPause{100};

}  // namespace

Loop::Loop() : context_(std::make_unique<boost::asio::io_context>()) {}

Loop::~Loop() = default;

Result<void> Loop::start(const std::string& name, bool works) {
  auto started = start_thread(name + "-1", true);
  return started && works ? start_thread(name + "-2", false) : started;
}

Result<void> Loop::start_thread(const std::string& name, bool leads) {
  const std::lock_guard lock(mutex_);
  auto started = Thread::start(name, [self = shared_from_this(), leads] { self->run(leads); });
  if (!started) return std::move(started).error();
  started->detach();
  ++threads_;
  return {};
}

void Loop::run(bool leads) noexcept {
  if (leads) {
    const std::lock_guard lock(mutex_);
    leader_ = std::this_thread::get_id();
  }
  for (bool ends = false; !ends; leads = !leads) {
    if (leads) {
      lead();
    } else {
      watch();
    }
    const std::lock_guard lock(mutex_);
    ends = ending_;
  }
  const std::lock_guard lock(mutex_);
  --threads_;
  changed_.notify_all();
}

void Loop::lead() noexcept {
  const auto guard = boost::asio::make_work_guard(*context_);
  while (leads()) {
    try {
      context_->run_one();
    } catch (...) {
      log_exception("a task of the loop was dropped");
    }
  }
}

bool Loop::leads() {
  const std::lock_guard lock(mutex_);
  return !ending_ && leader_ == std::this_thread::get_id();
}

/// Returns when this thread has to lead, and at the end.
void Loop::watch() {
  std::unique_lock lock(mutex_);
  watched_ = true;
  while (!ending_) {
    const std::uint64_t seen = works_;
    changed_.wait_for(lock, kPatience, [this] { return ending_; });
    if (works_ != seen || ending_) continue;
    if (!working_) {
      watcher_rests_ = true;
      changed_.wait(lock, [&] { return ending_ || works_ != seen; });
      watcher_rests_ = false;
      continue;
    }
    leader_ = std::this_thread::get_id();
    working_ = false;
    ++strays_;
    break;
  }
  watched_ = false;
}

bool Loop::begin_work() noexcept {
  const SteadyTime now = system_clock().steady();
  const std::lock_guard lock(mutex_);
  if (!watched_ || ending_ || now < no_work_before_) return false;
  working_ = true;
  ++works_;
  work_began_ = now;
  if (watcher_rests_) changed_.notify_all();
  return true;
}

bool Loop::end_work() noexcept {
  const SteadyTime now = system_clock().steady();
  const std::lock_guard lock(mutex_);
  const bool leads = leader_ == std::this_thread::get_id();
  if (!leads || now - work_began_ > kQuick) no_work_before_ = now + kPause;
  if (leads) {
    working_ = false;
  } else {
    --strays_;
  }
  return leads;
}

void Loop::post(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (!ended_) boost::asio::post(*context_, std::move(task));
}

std::size_t Loop::end() noexcept {
  std::size_t left = 0;
  {
    std::unique_lock lock(mutex_);
    ending_ = true;
    context_->stop();
    if (std::exchange(working_, false)) ++strays_;
    leader_ = {};
    changed_.notify_all();
    changed_.wait(lock, [this] { return threads_ == strays_; });
    left = strays_;
    ended_ = true;
  }
  try {
    context_->restart();
    context_->poll();
  } catch (...) {
    log_exception("a task of the loop was dropped");
  }
  return left;
}

}  // namespace rest_fcgi::gateway
