// SPDX-License-Identifier: MIT
#include "master/salt/events/event_bus.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "master/salt/events/event_socket.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::salt {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kSweepTime{1000};

constexpr std::chrono::milliseconds kJoinTime{500};

constexpr std::chrono::milliseconds kLookTime{2};

}  // namespace

EventBus::EventBus(BusOptions options, std::shared_ptr<master::EventLog> log)
    : options_(std::move(options)),
      registry_(options_),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      log_(std::move(log)) {}

Result<std::unique_ptr<EventBus>> EventBus::start(BusOptions options, std::shared_ptr<master::EventLog> log) {
  std::unique_ptr<EventBus> bus(new EventBus(std::move(options), std::move(log)));
  auto thread = Thread::start("salt-events", [&bus = *bus] { bus.run(); });
  if (!thread) return std::move(thread).error();
  bus->thread_ = *std::move(thread);
  return bus;
}

EventBus::~EventBus() {
  stop();
}

void EventBus::stop() {
  stopping_ = true;
  static_cast<void>(::eventfd_write(wake_.get(), 1));
  thread_.join();
  registry_.close();
  log_.on_loss();
}

Result<EventBus::Expectation> EventBus::expect(std::string_view jid) {
  if (is_orphaned()) {
    static_cast<void>(::eventfd_write(wake_.get(), 1));
    const SteadyTime end = SteadyClock::now() + kJoinTime;
    while (is_orphaned() && SteadyClock::now() < end) std::this_thread::sleep_for(kLookTime);
    if (auto joined = registry_.wait_until_joined(end); !joined) return std::move(joined).error();
  }
  return registry_.expect(jid);
}

bool EventBus::is_orphaned() {
  const MutexLock lock(file_mutex_);
  return is_replaced(options_.path, file_);
}

void EventBus::set_file(const std::optional<FileIdentity>& file) {
  const MutexLock lock(file_mutex_);
  file_ = file;
}

Result<void> EventBus::wait_until_joined(SteadyTime deadline) {
  return registry_.wait_until_joined(std::min(deadline, SteadyClock::now() + kJoinTime));
}

void EventBus::run() {
  const auto longest_pause = 10 * options_.rejoin_pause;
  auto next_pause = options_.rejoin_pause;
  while (!stopping_) {
    const auto begun = SteadyClock::now();
    join_and_read();
    // A connection that is lost soon counts as a failed attempt, so the pauses between attempts grow.
    if (SteadyClock::now() - begun > longest_pause) next_pause = options_.rejoin_pause;
    if (!stopping_) pause(next_pause);
    next_pause = std::min(2 * next_pause, longest_pause);
  }
}

void EventBus::join_and_read() {
  // The identity of the socket's file is read before connecting, so that `is_orphaned` notices each later
  // change of the file.
  const auto file = socket_file_at(options_.path);
  auto socket = EventSocket::connect(options_, wake_.get());
  set_file(socket ? file : std::nullopt);
  if (socket) return serve(*socket);
  tell_refused(socket.error());
  registry_.not_joined(socket.error().kind);
}

void EventBus::serve(EventSocket& socket) {
  if (not_joined_) {
    log::warning("connected to the Salt master's event bus again");
  } else {
    log::info("connected to the Salt master's event bus");
  }
  not_joined_.reset();
  registry_.joined();
  const Result<void> read = read_until_lost(socket);
  if (read) return;
  log::warning(
      format("lost the connection to the Salt master's event bus: {}; running jobs fail, and rest_fcgi "
             "connects again",
             read.error().message));
  not_joined_ = ErrorKind::unavailable;
  registry_.not_joined(ErrorKind::unavailable);
  // The loss is reported to `registry_` before `log_`. If a reader of events is made between these two calls,
  // the reader still gets the loss from `log_`.
  log_.on_loss();
  set_file(std::nullopt);
}

Result<void> EventBus::read_until_lost(EventSocket& socket) {
  FrameReader reader(options_.max_frame_bytes);
  while (!stopping_) {
    const auto bytes = socket.read(kSweepTime);
    if (!bytes) return bytes.error();
    reader.feed(*bytes);
    while (!stopping_) {
      const auto event = reader.next();
      if (!event) return event.error();
      if (!*event) break;
      registry_.on_event(**event);
      log_.on_event(**event);
    }
    eventfd_t count = 0;
    const bool was_woken = ::eventfd_read(wake_.get(), &count) == 0;
    if (!was_woken && SteadyClock::now() < sweep_due_) continue;
    if (is_orphaned()) {
      return Error{
          ErrorKind::unavailable,
          format("the connection goes to a process of an earlier Salt master; now a new master listens at {}",
                 options_.path)};
    }
    registry_.sweep();
    sweep_due_ = SteadyClock::now() + kSweepTime;
  }
  return {};
}

void EventBus::tell_refused(const Error& why) {
  if (not_joined_ == why.kind) return;
  not_joined_ = why.kind;
  log::warning(format(
      "cannot connect to the Salt master's event bus: {}; requests that wait for minions get 503. If the "
      "master does not run: systemctl start salt-master",
      why.message));
}

void EventBus::pause(std::chrono::milliseconds time) const {
  pollfd watched{wake_.get(), POLLIN, 0};
  static_cast<void>(::poll(&watched, 1, static_cast<int>(time.count())));
}

}  // namespace rest_fcgi::salt
