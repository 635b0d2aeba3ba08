// SPDX-License-Identifier: MIT
#include "gateway/pool.h"

#include <algorithm>
#include <new>
#include <utility>

#include "gateway/worker.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/thread.h"

namespace rest_fcgi::gateway {
namespace {

Options sane(Options options) {
  options.max_threads = std::max<std::size_t>(options.max_threads, 1);
  options.min_threads = std::clamp<std::size_t>(options.min_threads, 1, options.max_threads);
  return options;
}

}  // namespace

Pool::Pool(const Options& options, std::unique_ptr<Listener> listener, http::Application application,
           UniqueFd stop_event)
    : options_(sane(options)),
      listener_(std::move(listener)),
      application_(std::move(application)),
      stop_event_(std::move(stop_event)) {}

Result<void> Pool::start() {
  const std::lock_guard lock(mutex_);
  while (members_ < options_.min_threads && add_thread()) {
  }
  if (members_ == 0) return Error{ErrorKind::internal, "not a single worker thread can be started", {}};
  return {};
}

void Pool::begin_work() noexcept {
  if (idle_.fetch_sub(1) == 1) grow();
}

void Pool::grow() noexcept {
  try {
    if (members_ >= options_.max_threads) return report_exhaustion();
    const std::lock_guard lock(mutex_);
    if (idle_ > 0 || members_ >= options_.max_threads) return;
    add_thread();
  } catch (const std::bad_alloc&) {
    return;  // no memory to say so; the next request tries again
  }
}

Result<void> Pool::start_worker() {
  try {
    auto worker = Worker::make(shared_from_this());
    if (!worker) return std::move(worker).error();
    auto thread = Thread::start(
        format("fcgi-{}", ++started_),
        [pool = shared_from_this(), worker = *std::move(worker)]() mutable {
          worker->run();
          // What it holds, the application too, is gone before anybody hears that the thread ended.
          worker.reset();
          pool->thread_ends();
        },
        kSmallStack);
    if (!thread) return std::move(thread).error();
    thread->detach();
    return {};
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::internal, "no memory", {}};
  }
}

bool Pool::add_thread() {
  // Counted before it runs, since it counts itself as busy as soon as it runs.
  ++members_;
  ++running_;
  ++idle_;
  if (auto started = start_worker(); !started) {
    --members_;
    --running_;
    --idle_;
    if (!start_failing_.exchange(true)) {
      log::error(format("cannot start another worker thread, going on with {}: {}", members_.load(),
                        started.error().message));
    }
    return false;
  }
  start_failing_ = false;
  return true;
}

void Pool::report_exhaustion() {
  if (exhaustion_reported_.load(std::memory_order_relaxed) || exhaustion_reported_.exchange(true)) return;
  log::warning(format("all {} threads are busy; further connections wait for one of them (max_threads)",
                      options_.max_threads));
}

bool Pool::dismiss_idle() {
  // For so long there was a thread to spare.
  exhaustion_reported_ = false;
  const std::lock_guard lock(mutex_);
  if (members_ <= options_.min_threads) return false;
  // Before it counts as idle no more: who takes the last idle thread's place has to see that there is room.
  --members_;
  std::ptrdiff_t idle = idle_;
  do {
    if (idle <= 1) {
      ++members_;
      return false;
    }
  } while (!idle_.compare_exchange_weak(idle, idle - 1));
  return true;
}

void Pool::accept_fails(int error) noexcept {
  if (accept_failing_.exchange(true)) return;
  try {
    log::error(format("cannot accept a connection, trying again: {}", errno_text(error)));
  } catch (const std::bad_alloc&) {
    accept_failing_ = false;  // to be said later
  }
}

void Pool::stop() {
  auto waiting = listener_->close();
  {
    const std::lock_guard lock(mutex_);
    waiting_ = std::move(waiting);
  }
  stopping_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stop_event_.get(), &one, sizeof one);
}

UniqueFd Pool::take_waiting() {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) return UniqueFd();
  UniqueFd connection = std::move(waiting_.back());
  waiting_.pop_back();
  return connection;
}

std::size_t Pool::wait_for_end(SteadyTime deadline) {
  std::unique_lock lock(mutex_);
  thread_ended_.wait_until(lock, deadline, [this] { return running_ == 0; });
  return running_;
}

void Pool::thread_ends() {
  const std::lock_guard lock(mutex_);
  --running_;
  thread_ended_.notify_all();
}

}  // namespace rest_fcgi::gateway
