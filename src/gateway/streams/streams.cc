// SPDX-License-Identifier: MIT
#include "gateway/streams/streams.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "gateway/streams/listener.h"
#include "gateway/sys.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/memory.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/thread.h"

namespace rest_fcgi::gateway {
namespace {

/// If a pass over all feeds takes at most this time, the next pass may follow immediately.
constexpr std::chrono::microseconds kQuick{200};

constexpr std::chrono::milliseconds kMostRest{10};

}  // namespace

/// Posts `task` to the io_context, but not twice before `task` runs. Does nothing after `end`.
class Streams::Wakeup {
 public:
  Wakeup(asio::io_context& context, std::function<void()> task)
      : context_(&context), task_(std::move(task)) {}

  void call() {
    if (is_asked_.exchange(true)) return;
    const MutexLock lock(mutex_);
    if (context_ == nullptr) return;
    asio::post(*context_, [this] {
      // Resets the flag first, so that a `call` while the task runs posts the task again.
      is_asked_ = false;
      task_();
    });
  }

  void end() {
    const MutexLock lock(mutex_);
    context_ = nullptr;
  }

 private:
  Mutex mutex_;
  asio::io_context* context_ GUARDED_BY(mutex_);
  const std::function<void()> task_;
  std::atomic<bool> is_asked_ = false;
};

/// The event loop of the streams, and the objects that use the loop. Exists while at least one stream is
/// open.
struct Streams::Loop {
  Loop(const StreamLimits& limits, std::function<void()> task, std::atomic<std::uint64_t>& slow)
      : wakeup(std::make_shared<Wakeup>(context, std::move(task))),
        group(context, limits,
              std::make_shared<const std::function<void()>>([kept = wakeup] { kept->call(); }), slow) {}
  ~Loop() { wakeup->end(); }

  asio::io_context context{1};
  asio::executor_work_guard<Executor> work = asio::make_work_guard(context);
  const std::shared_ptr<Wakeup> wakeup;
  ListenerGroup group;
  Timer sweep_timer{context.get_executor()};
  Timer pass_timer{context.get_executor()};
  std::vector<std::shared_ptr<Listener>> listeners;
  SteadyTime next_pass;
  bool is_pass_awaited = false;
  TrimWhenQuiet trim;
  Thread thread;
};

Streams::Streams(StreamLimits limits) : limits_(limits) {}

Streams::~Streams() {
  if (has_ended_) return;
  close();
  wait_for_end(system_clock().steady());
}

void Streams::add(NewStream stream) {
  const MutexLock lock(mutex_);
  if (has_ended_) return;
  if (!loop_) {
    if (auto started = start(); !started)
      return log::error(format("an event stream was dropped: {}", started.error().message));
  }
  asio::post(loop_->context,
             [this, held = std::make_shared<NewStream>(std::move(stream))] { begin(std::move(*held)); });
  ++open_;
}

Result<void> Streams::start() {
  auto loop = std::make_unique<Loop>(
      limits_, [this] { pass(); }, slow_);
  loop_ = std::move(loop);
  loop_->group.is_stopping = is_closing_;
  sweep();
  auto thread = Thread::start("streams", [&context = loop_->context] {
    for (bool ends = false; !ends;) {
      try {
        context.run();
        ends = true;
      } catch (...) {
        log_exception("an event stream was dropped after an exception");
      }
    }
  });
  if (!thread) {
    loop_.reset();
    return std::move(thread).error();
  }
  loop_->thread = *std::move(thread);
  return {};
}

void Streams::begin(NewStream stream) {
  try {
    loop_->listeners.push_back(std::make_shared<Listener>(loop_->group, std::move(stream)));
    loop_->listeners.back()->start();
  } catch (...) {
    log_exception("an event stream was dropped after an exception");
    if (!loop_->listeners.empty()) loop_->listeners.back()->drop();
  }
}

/// Makes each listener ask its feed for new parts (a pass). After a long pass, waits as long as the pass
/// took, so that the next pass sends more events together.
void Streams::pass() {
  const SteadyTime begun = system_clock().steady();
  if (begun < loop_->next_pass) {
    if (std::exchange(loop_->is_pass_awaited, true)) return;
    loop_->pass_timer.expires_at(loop_->next_pass);
    loop_->pass_timer.async_wait([this](const boost::system::error_code& error) {
      loop_->is_pass_awaited = false;
      if (!error) pass();
    });
    return;
  }
  loop_->trim.note_work();
  loop_->group.news.cancel();
  // Cancelling `news` has resumed the listeners. This task runs after them, and so measures their time.
  asio::post(loop_->context, [this, begun] {
    const SteadyTime ended = system_clock().steady();
    if (ended - begun > kQuick) {
      loop_->next_pass = ended + std::min<SteadyTime::duration>(ended - begun, kMostRest);
    }
    forget();
  });
}

void Streams::sweep() {
  loop_->sweep_timer.expires_after(limits_.sweep);
  loop_->sweep_timer.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    const SteadyTime now = system_clock().steady();
    bool has_news = false;
    for (const auto& listener : loop_->listeners) has_news = listener->sweep(now) || has_news;
    if (has_news) loop_->group.news.cancel();
    forget();
    loop_->trim.look(now);
    sweep();
  });
}

void Streams::forget() {
  const std::size_t gone =
      std::erase_if(loop_->listeners, [](const auto& listener) { return listener->is_gone(); });
  if (gone == 0) return;
  const MutexLock lock(mutex_);
  open_ -= gone;
  if (open_ == 0) one_gone_.notify_all();
}

void Streams::close() {
  const MutexLock lock(mutex_);
  is_closing_ = true;
  if (!loop_) return;
  asio::post(loop_->context, [this] {
    loop_->group.is_stopping = true;
    loop_->group.news.cancel();
  });
}

void Streams::wait_for_end(SteadyTime deadline) {
  {
    MutexLock lock(mutex_);
    one_gone_.wait_until(lock, deadline, [this]() REQUIRES(mutex_) { return open_ == 0; });
    has_ended_ = true;
  }
  if (!loop_) return;
  asio::post(loop_->context, [this] {
    loop_->sweep_timer.cancel();
    loop_->pass_timer.cancel();
    for (const auto& listener : loop_->listeners) listener->drop();
    loop_->listeners.clear();
    loop_->group.news.cancel();
    loop_->work.reset();
  });
  // Waits until the coroutines have ended, because TLS timers in the pool's io_context refer to them.
  constexpr std::chrono::milliseconds kStep{2};
  constexpr std::chrono::seconds kEnd{1};
  const SteadyTime end = system_clock().steady() + kEnd;
  while (!loop_->context.stopped() && system_clock().steady() < end) std::this_thread::sleep_for(kStep);
  loop_->context.stop();
  loop_->thread.join();
  loop_.reset();
}

}  // namespace rest_fcgi::gateway
