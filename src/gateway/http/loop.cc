// SPDX-License-Identifier: MIT
#include "gateway/http/loop.h"

#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "gateway/sys.h"

namespace rest_fcgi::gateway {

Loop::Loop() : context_(std::make_unique<boost::asio::io_context>(1)) {}

Loop::~Loop() = default;

Result<void> Loop::start(const std::string& name) {
  auto started = Thread::start(name, [this] { run(); });
  if (!started) return std::move(started).error();
  thread_ = *std::move(started);
  return {};
}

void Loop::run() noexcept {
  const auto guard = boost::asio::make_work_guard(*context_);
  while (!context_->stopped()) {
    try {
      context_->run();
    } catch (...) {
      log_exception("a task of the loop was dropped");
    }
  }
}

void Loop::post(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (!ended_) boost::asio::post(*context_, std::move(task));
}

void Loop::end() noexcept {
  context_->stop();
  thread_.join();
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  try {
    context_->restart();
    context_->poll();
  } catch (...) {
    log_exception("a task of the loop was dropped");
  }
}

}  // namespace rest_fcgi::gateway
