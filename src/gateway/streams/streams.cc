// SPDX-License-Identifier: MIT
#include "gateway/streams/streams.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <utility>

#include <boost/asio/io_context.hpp>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::gateway {
namespace {

/// A pass that takes no longer is followed by the next one at once.
constexpr std::chrono::microseconds kQuick{200};

/// The longest rest after a pass.
constexpr std::chrono::milliseconds kMostRest{10};

/// Has the loop do `task` soon, once for all calls until then. Whoever keeps it does not keep the loop.
std::function<void()> once(const std::shared_ptr<Loop>& loop, std::function<void()> task) {
  auto asked = std::make_shared<std::atomic<bool>>(false);
  return [weak = std::weak_ptr(loop), asked, task = std::move(task)] {
    if (asked->exchange(true)) return;
    const auto alive = weak.lock();
    if (!alive) return;
    try {
      alive->post([asked, task] {
        asked->exchange(false);  // before the task looks
        task();
      });
    } catch (...) {
      *asked = false;
      throw;
    }
  };
}

}  // namespace

Streams::~Streams() {
  if (ended_) return;  // the last thread of the pool may be the one that gets here, when the clock has gone
  close();
  wait_for_end(system_clock().steady());
}

void Streams::add(NewStream stream) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  if (!loop_) {
    if (auto started = start(); !started)
      return log::error(format("a stream was dropped: {}", started.error().message));
  }
  loop_->post([this, held = std::make_shared<NewStream>(std::move(stream))] { begin(std::move(*held)); });
  ++open_;
}

Result<void> Streams::start() {
  auto loop = std::make_shared<Loop>();
  shared_.emplace(loop->context(), limits_,
                  std::make_shared<const std::function<void()>>(once(loop, [this] { pass(); })),
                  once(loop, [this] { bury(); }));
  sweep_timer_.emplace(loop->context());
  pass_timer_.emplace(loop->context());
  sweep();
  auto started = loop->start("streams", false);
  if (started) {
    loop_ = std::move(loop);
  } else {
    sweep_timer_.reset();
    pass_timer_.reset();
    shared_.reset();
  }
  return started;
}

void Streams::begin(NewStream stream) {
  shared_->now = system_clock().steady();
  try {
    streams_.push_back(std::make_shared<FeedStream>(*shared_, std::move(stream)));
  } catch (...) {
    log_exception("a stream was dropped");
    return forget(1);
  }
  const auto made = streams_.back();
  made->start();
  if (closing_) return made->stop();
  if (made->turn()) (*shared_->wake)();
}

/// After a pass that took long the loop rests for as long: meanwhile events gather, and go out with fewer
/// calls.
void Streams::pass() {
  const SteadyTime begun = system_clock().steady();
  if (begun < next_pass_) return await_next_pass();
  shared_->now = begun;
  trim_.note_work();
  bool more = false;
  for (const auto& stream : streams_) more = stream->turn() || more;
  if (more) (*shared_->wake)();
  const SteadyTime ended = system_clock().steady();
  if (ended - begun > kQuick) next_pass_ = ended + std::min<SteadyTime::duration>(ended - begun, kMostRest);
}

void Streams::await_next_pass() {
  if (!pass_timer_ || std::exchange(pass_awaited_, true)) return;
  pass_timer_->expires_at(next_pass_);
  pass_timer_->async_wait([this](const boost::system::error_code& error) {
    pass_awaited_ = false;
    if (!error) pass();
  });
}

void Streams::sweep() {
  sweep_timer_->expires_after(limits_.sweep);
  sweep_timer_->async_wait([this](const boost::system::error_code& error) {
    if (error || !sweep_timer_) return;
    shared_->now = system_clock().steady();
    for (const auto& stream : streams_) stream->sweep();
    trim_.look(shared_->now);
    sweep();
  });
}

void Streams::bury() {
  forget(std::erase_if(streams_, [](const auto& stream) { return stream->gone(); }));
}

void Streams::forget(std::size_t gone) {
  const std::lock_guard lock(mutex_);
  open_ -= gone;
  if (open_ == 0) one_gone_.notify_all();
}

void Streams::close() {
  const std::lock_guard lock(mutex_);
  if (!loop_) {
    closing_ = true;  // there is no other thread yet
    return;
  }
  loop_->post([this] {
    closing_ = true;
    shared_->now = system_clock().steady();
    for (const auto& stream : streams_) stream->stop();
  });
}

void Streams::wait_for_end(SteadyTime deadline) {
  std::shared_ptr<Loop> loop;
  {
    std::unique_lock lock(mutex_);
    one_gone_.wait_until(lock, deadline, [this] { return open_ == 0; });
    ended_ = true;
    loop = std::move(loop_);
  }
  if (!loop) return;
  loop->post([this] {
    sweep_timer_.reset();
    pass_timer_.reset();
    for (const auto& stream : streams_) stream->drop();
    streams_.clear();
  });
  loop->end();
  shared_.reset();
}

}  // namespace rest_fcgi::gateway
