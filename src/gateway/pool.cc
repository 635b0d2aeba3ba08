// SPDX-License-Identifier: MIT
#include "gateway/pool.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "gateway/fastcgi/worker.h"
#include "gateway/streams/streams.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/thread.h"

namespace rest_fcgi::gateway {
namespace {

/// The accepting thread's pause after a failure: whatever is short does not come back sooner by asking more
/// often.
constexpr std::chrono::milliseconds kPause{100};

/// For threads to end that have nothing to do, or wait for what a connection may still bring.
constexpr std::chrono::milliseconds kEnd = 2 * kFarewell;

Options sane(Options options) {
  options.max_threads = std::max<std::size_t>(options.max_threads, 1);
  options.min_threads = std::clamp<std::size_t>(options.min_threads, 1, options.max_threads);
  return options;
}

}  // namespace

Result<PoolEvents> PoolEvents::make() {
  PoolEvents events;
  for (UniqueFd* event : {&events.stop, &events.waiting, &events.crowded}) {
    event->reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!*event) return Error{ErrorKind::internal, format("eventfd: {}", errno_text()), {}};
  }
  return events;
}

Pool::Pool(const Options& options, std::unique_ptr<Listener> listener, PoolEvents events)
    : options_(sane(options)),
      listener_(std::move(listener)),
      events_(std::move(events)),
      streams_(std::make_unique<Streams>()) {}

Pool::~Pool() = default;

Result<void> Pool::start() {
  while (members_ < options_.min_threads && add_worker()) {
  }
  if (members_ == 0) return Error{ErrorKind::internal, "not a single worker thread can be started", {}};
  // No epoll: it waits for nobody, and answers whom the accepting thread gives it.
  auto refuser = std::make_shared<Worker>(shared_from_this(), UniqueFd());
  auto started = Thread::start(
      "accept", [pool = shared_from_this(), refuser] { pool->accept_ahead(*refuser); }, kSmallStack);
  if (!started) {
    close();
    stop();
    return std::move(started).error();
  }
  accepting_ = *std::move(started);
  return {};
}

void Pool::replace(Applications applications) {
  auto changed = std::make_shared<const Applications>(std::move(applications));
  {
    const std::lock_guard lock(application_mutex_);
    applications_.swap(changed);
  }
  // The old ones may end here, and with it much else: not under the lock.
}

std::shared_ptr<const Applications> Pool::applications() const {
  const std::lock_guard lock(application_mutex_);
  return applications_;
}

/// Starts one more worker. False: there may be no more, or none could be started, which is logged once.
bool Pool::add_worker() {
  const std::lock_guard lock(mutex_);
  if (members_ >= options_.max_threads) return false;
  // Counted before it runs, since it counts itself as busy as soon as it runs.
  ++members_;
  ++running_;
  ++idle_;
  auto started = start_worker();
  if (!started) {
    --members_;
    --running_;
    --idle_;
    if (start_failing_.exchange(true)) return false;
    log::error(format("cannot start another worker thread, going on with {}: {}", members_.load(),
                      started.error().message));
    return false;
  }
  start_failing_ = false;
  return true;
}

Result<void> Pool::start_worker() {
  auto made = Worker::make(shared_from_this());
  if (!made) return std::move(made).error();
  auto thread = Thread::start(
      format("fcgi-{}", ++started_),
      [pool = shared_from_this(), worker = *std::move(made)]() mutable {
        worker->run();
        // What it holds is gone before anybody hears that the thread ended.
        worker.reset();
        const std::lock_guard lock(pool->mutex_);
        --pool->running_;
        pool->thread_ended_.notify_all();
      },
      kSmallStack);
  if (!thread) return std::move(thread).error();
  thread->detach();
  return {};
}

void Pool::begin_work() noexcept {
  const std::ptrdiff_t left = --idle_;
  if (left <= 0 && members_ >= options_.max_threads) report_exhaustion();
  if (left <= waiting_size_ && !watching_) signal_event(events_.crowded);
}

void Pool::report_exhaustion() noexcept {
  if (exhaustion_reported_.load(std::memory_order_relaxed) || exhaustion_reported_.exchange(true)) return;
  log::safely([this] {
    log::warning(format("all {} threads are busy; further requests wait for one of them (max_threads)",
                        options_.max_threads));
  });
}

bool Pool::dismiss_idle() {
  // For so long there was a thread to spare.
  exhaustion_reported_ = false;
  const std::lock_guard lock(mutex_);
  if (spare() <= static_cast<std::ptrdiff_t>(options_.min_threads)) return false;
  --members_;
  // Another worker may have begun to work meanwhile; then the accepting thread starts one in place of this.
  if (--idle_ <= waiting_size_) signal_event(events_.crowded);
  return true;
}

void Pool::accept_ahead(Worker& refuser) noexcept {
  while (!closing_) {
    clear_event(events_.crowded);
    try {
      while (!closing_ && spare() <= 0) {
        accept_all(refuser);
        if (!add_worker()) break;
      }
    } catch (const std::exception&) {
      log::safely([] { log::error("a connection was dropped for want of memory"); });
    }
    if (closing_) break;  // what told of that may have been cleared above
    await_crowd();
  }
}

/// Takes who comes, as long as no worker is to spare for them.
void Pool::accept_all(Worker& refuser) {
  while (!closing_ && spare() <= 0) {
    const bool room = has_room(connections_that_may_wait());
    if (!room && listener_->shared()) return;
    UniqueFd connection = accept();
    if (!connection) return;
    if (room) {
      keep({std::move(connection), {}});
    } else {
      refuser.refuse(std::move(connection));
    }
  }
}

std::size_t Pool::connections_that_may_wait() const noexcept {
  return listener_->shared() ? 0 : options_.max_waiting;
}

/// May more wait, where `max_waiting` may beyond those for which threads can be started?
bool Pool::has_room(std::size_t max_waiting) const noexcept {
  const std::size_t members = members_;
  std::size_t room = max_waiting;
  if (!start_failing_ && members < options_.max_threads) room += options_.max_threads - members;
  return -spare() < static_cast<std::ptrdiff_t>(room);
}

/// Sleeps until workers are short; where they are and no more of them can be started, until somebody comes.
void Pool::await_crowd() noexcept {
  const bool short_of_workers = spare() <= 0;
  watching_ =
      short_of_workers && !accept_failing_ && (has_room(connections_that_may_wait()) || !listener_->shared());
  std::array<pollfd, 2> events = {
      {{events_.crowded.get(), POLLIN, 0}, {watching_ ? listener_->fd() : -1, POLLIN, 0}}};
  const bool retry = short_of_workers && (accept_failing_ || start_failing_);
  ::poll(events.data(), events.size(), retry ? poll_timeout(kPause) : -1);
  watching_ = false;
}

UniqueFd Pool::accept() {
  UniqueFd connection = listener_->accept();
  const int error = errno;
  if (connection) {
    if (accept_failing_.load(std::memory_order_relaxed)) accept_failing_ = false;
    // Who accepts may have been told of what waits at the same time, and does not come for it.
    if (waiting_size_ > 0 && idle_ > 0) signal_event(events_.waiting);
    return connection;
  }
  const bool passing = error == EAGAIN || error == EINTR || error == ECONNABORTED;
  if (passing || listener_->closed() || accept_failing_.exchange(true)) return connection;
  log::safely(
      [error] { log::error(format("cannot accept a connection, trying again: {}", errno_text(error))); });
  return connection;
}

bool Pool::submit(std::function<void()> task, bool continues) {
  if (!continues && !has_room(options_.max_waiting)) return false;
  keep({UniqueFd(), std::move(task)});
  if (spare() < 0 && members_ < options_.max_threads) signal_event(events_.crowded);
  return true;
}

void Pool::keep(Work work) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
    ++waiting_size_;
  }
  tell_waiting();
}

/// A worker that goes idle, or keeps a connection, from now on looks by itself. One that was told and is not
/// there yet tells the next if more waits: where work is quick, few threads that stay awake do it.
void Pool::tell_waiting() noexcept {
  if ((idle_ > 0 || keeping_ > 0) && !told_.exchange(true)) signal_event(events_.waiting);
}

void Pool::hear_waiting() noexcept {
  clear_event(events_.waiting);
  told_ = false;
}

Work Pool::take_waiting() {
  if (waiting_size_ == 0) return {};
  Work work;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return work;
    work = std::move(waiting_.front());
    waiting_.pop_front();
    --waiting_size_;
  }
  // Who was told of several and takes one tells the next.
  if (waiting_size_ > 0) tell_waiting();
  return work;
}

void Pool::close() {
  closing_ = true;
  signal_event(events_.crowded);
  accepting_.join();
  for (UniqueFd& connection : listener_->close()) keep({std::move(connection), {}});
}

void Pool::stop() {
  stopping_ = true;
  signal_event(events_.stop);
}

std::size_t Pool::wait_for_end(SteadyTime deadline) {
  std::unique_lock lock(mutex_);
  const auto all_ended = [this] { return running_ == 0; };
  if (thread_ended_.wait_until(lock, deadline, all_ended)) return 0;
  // What is not at work ends at once, but not before it runs.
  const std::ptrdiff_t busy = static_cast<std::ptrdiff_t>(members_.load()) - idle_ - keeping_;
  if (busy > 0) return static_cast<std::size_t>(busy);
  thread_ended_.wait_for(lock, kEnd, all_ended);
  return running_;
}

}  // namespace rest_fcgi::gateway
