// SPDX-License-Identifier: MIT
#include "master/salt/events/bus_thread.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::salt {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kSweepTime{1000};

}  // namespace

BusThread::BusThread(BusOptions options, Registry& registry)
    : options_(std::move(options)), registry_(registry), stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  auto thread = Thread::start("salt-events", [this] { run(); });
  if (!thread) throw std::runtime_error(thread.error().message);
  thread_ = *std::move(thread);
}

void BusThread::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  static_cast<void>(::eventfd_write(stop_.get(), 1));
  thread_.join();
}

void BusThread::run() {
  const auto longest_pause = 10 * options_.rejoin_pause;
  auto next_pause = options_.rejoin_pause;
  while (!stopping_) {
    const auto begun = SteadyClock::now();
    auto socket = EventSocket::connect(options_, stop_.get());
    if (socket) {
      serve(*socket);
    } else {
      tell_refused(socket.error());
      registry_.not_joined(socket.error().kind);
    }
    // One that was lost at once is like one that was not there.
    if (SteadyClock::now() - begun > longest_pause) next_pause = options_.rejoin_pause;
    pause(next_pause);
    next_pause = std::min(2 * next_pause, longest_pause);
  }
}

void BusThread::serve(EventSocket& socket) {
  tell_joined();
  registry_.joined();
  const Result<void> read = read_until_lost(socket);
  if (read) return;
  log::warning(format(
      "the Salt master's event bus was lost: {}; jobs under way fail, and it is joined again as soon as "
      "that can be",
      read.error().message));
  told_ = ErrorKind::unavailable;
  registry_.not_joined(ErrorKind::unavailable);
}

Result<void> BusThread::read_until_lost(EventSocket& socket) {
  try {
    FrameReader reader(options_.max_frame_bytes);
    while (!stopping_) {
      const auto bytes = socket.read(kSweepTime);
      if (!bytes) return bytes.error();
      reader.feed(*bytes);
      if (const Result<void> heard = hear_all(reader); !heard) return heard.error();
      if (SteadyClock::now() < sweep_due_) continue;
      registry_.sweep();
      sweep_due_ = SteadyClock::now() + kSweepTime;
    }
    return {};
  } catch (const std::exception& exception) {  // memory is short
    return Error{ErrorKind::internal, exception.what()};
  }
}

Result<void> BusThread::hear_all(FrameReader& reader) {
  while (!stopping_) {
    const auto event = reader.next();
    if (!event) return event.error();
    if (!*event) break;
    if ((*event)->too_large > 0) tell_too_large(**event);
    registry_.hear(**event);
  }
  return {};
}

void BusThread::tell_too_large(const Event& event) const {
  log::warning(
      format("the Salt master's event bus: an event of {} bytes is dropped, its tag is {}; accepted are {}",
             event.too_large, quoted(event.tag), options_.max_frame_bytes));
}

void BusThread::tell_refused(const Error& why) {
  if (told_ == why.kind) return;
  told_ = why.kind;
  log::warning(format("the Salt master's event bus cannot be joined: {}", why.message));
}

void BusThread::tell_joined() {
  if (told_) {
    log::warning("the Salt master's event bus is joined again");
  } else {
    log::info("the Salt master's event bus is joined");
  }
  told_.reset();
}

void BusThread::pause(std::chrono::milliseconds time) const {
  pollfd watched{stop_.get(), POLLIN, 0};
  static_cast<void>(::poll(&watched, 1, static_cast<int>(time.count())));
}

}  // namespace rest_fcgi::salt
