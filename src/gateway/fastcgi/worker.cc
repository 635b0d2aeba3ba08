// SPDX-License-Identifier: MIT
#include "gateway/fastcgi/worker.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "gateway/reply.h"
#include "gateway/streams/streams.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/memory.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::gateway {
namespace {

using std::chrono::milliseconds;

/// How often a kept connection without a request looks whether others wait for its thread.
constexpr milliseconds kCrowdCheck{1000};

/// The pause after a failed accept: whatever is short does not come back sooner by asking more often.
constexpr milliseconds kAcceptPause{100};

/// For each step of a request that is refused: no peer may hold up the thread that accepts all others.
constexpr milliseconds kRefusalTime{1000};

bool watch(int epoll, int fd, std::uint32_t events) {
  epoll_event event = {};
  event.events = events;
  event.data.fd = fd;
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0 || errno == EEXIST;
}

/// A peer that misbehaves is worth a line, one that goes away is not.
void log_lost(const Request& request, std::string_view where) {
  const std::string problem = request.problem();
  if (problem.empty()) return log::debug(format("a connection ended {}", where));
  log::info(format("a connection was closed {}: {}", where, problem));
}

BodyLimits body_limits(const Options& options) {
  BodyLimits limits;
  limits.max_size = options.max_request_body_size;
  limits.discard_time = options.receive_timeout;
  return limits;
}

}  // namespace

Result<std::unique_ptr<Worker>> Worker::make(std::shared_ptr<Pool> pool) {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll || !watch(epoll.get(), pool->events().stop.get(), EPOLLIN)) {
    return Error{ErrorKind::internal, format("epoll: {}", errno_text()), {}};
  }
  auto made = std::make_unique<Worker>(std::move(pool), std::move(epoll));
  if (!made->listen()) return Error{ErrorKind::internal, format("epoll: {}", errno_text()), {}};
  return made;
}

Worker::Worker(std::shared_ptr<Pool> pool, UniqueFd epoll)
    : pool_(std::move(pool)),
      epoll_(std::move(epoll)),
      body_(body_limits(pool_->options()), &pool_->bodies()) {}

void Worker::run() noexcept {
  while (Work work = next_work()) {
    pool_->begin_work();
    if (pool_->many_work()) turn_away();
    do {
      if (work.task) {
        worked_ = true;
        run_task(work.task);
      } else {
        serve(std::move(work.connection));
      }
      work = std::exchange(successor_, {});
    } while (work);
    pool_->end_work();
  }
}

void Worker::run_task(const std::function<void()>& task) noexcept {
  try {
    task();
  } catch (...) {
    log_exception("a task was dropped");
  }
}

/// Is in the line of those whom a connection, or work in the pool, may wake: one each. False: that did not
/// go.
bool Worker::listen() {
  if (listens_) return true;
  listens_ =
      watch(epoll_.get(), pool_->events().waiting.get(), EPOLLIN | EPOLLEXCLUSIVE) &&
      (watch(epoll_.get(), pool_->listener().fd(), EPOLLIN | EPOLLEXCLUSIVE) || pool_->listener().closed());
  return listens_;
}

/// Leaves that line. The kernel goes along it until it finds who waits, and so past all that are at work.
void Worker::turn_away() {
  if (!std::exchange(listens_, false)) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, pool_->events().waiting.get(), nullptr);
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, pool_->listener().fd(), nullptr);
}

/// False: it had no work since it did that last.
bool Worker::give_memory_back() noexcept {
  if (!std::exchange(worked_, false)) return false;
  trim_memory();
  return true;
}

Work Worker::next_work() {
  const PoolEvents& events = pool_->events();
  while (!pool_->stopping()) {
    if (Work work = pool_->take_waiting()) return work;
    const milliseconds idle = pool_->options().idle_thread_timeout;
    const milliseconds patience = !listen() ? kAcceptPause
                                  : worked_ ? std::min(idle, milliseconds(kQuiet))
                                            : idle;
    epoll_event event = {};
    const int ready = ::epoll_wait(epoll_.get(), &event, 1, poll_timeout(patience));
    if (pool_->stopping()) break;
    if (ready == 0) {
      const bool only_quiet = give_memory_back() && patience < idle;
      if (!only_quiet && pool_->dismiss_idle()) return {};
    } else if (event.data.fd == events.waiting.get()) {
      pool_->hear_waiting();
    } else if (UniqueFd connection = pool_->accept()) {
      return {std::move(connection), {}};
    } else if (pool_->accept_failing()) {
      pollfd stop = {events.stop.get(), POLLIN, 0};
      ::poll(&stop, 1, poll_timeout(kAcceptPause));
    }
  }
  return pool_->take_waiting();
}

void Worker::serve(UniqueFd connection) noexcept {
  try {
    const Options& options = pool_->options();
    Request request(std::move(connection), {options.receive_timeout, options.send_timeout});
    do {
      if (!request.receive()) {
        log_lost(request, "without a whole request");
        break;
      }
    } while (answer(request) && await_next_request(request.connection()));
  } catch (...) {
    log_exception("a request was dropped");
  }
  body_.wipe();
  environ_.clear();
}

/// True: another request may come on the connection.
bool Worker::answer(Request& request) {
  worked_ = true;
  environ_.clear();
  request.take_variables(environ_);
  environ_.set("rest_fcgi.streams", pool_->listener().carries_streams() ? "1" : "");
  environ_.set("rest_fcgi.websocket", "");
  const Body::End end = body_.read(request.input(), environ_.get("CONTENT_LENGTH"));
  if (end == Body::End::broken) {
    log_lost(request, "in the middle of a request's body");
    return false;
  }
  environ_.body = body_.content();
  return reply(request) && end == Body::End::complete && request.keeps_connection();
}

void Worker::refuse(UniqueFd connection) noexcept {
  try {
    Request request(std::move(connection), {kRefusalTime, kRefusalTime});
    if (!request.receive()) return;
    request.take_variables(environ_);
    // A web server that is still sending would not see an answer.
    Body unread({.max_size = 0, .discard_time = kRefusalTime});
    if (unread.read(request.input(), {}) != Body::End::broken) {
      environ_.body =
          Error{ErrorKind::unavailable,
                format("All {} threads are busy and {} requests wait for one (max_threads, max_waiting)",
                       pool_->options().max_threads, pool_->options().max_waiting)};
      static_cast<void>(reply(request));
    }
  } catch (...) {
    log_exception("a request was dropped");
  }
  environ_.clear();
}

bool Worker::reply(Request& request) {
  request.release_input();
  http::Response response = answer_of(pool_->applications()->fastcgi, environ_);
  environ_.body = std::string_view();
  body_.wipe();
  return send(request, std::move(response));
}

bool Worker::send(Request& request, http::Response response) {
  std::string head;  // not kept: that of a login has a token
  write_head(response, head);
  auto* stream = std::get_if<std::unique_ptr<http::Stream>>(&response.body);
  auto* feed = std::get_if<std::unique_ptr<http::Feed>>(&response.body);
  const bool with_body = environ_.get("REQUEST_METHOD") != "HEAD" && http::may_have_body(response.status);
  int error = 0;
  if (!with_body) {
    error = request.reply(head, {});
  } else if (feed != nullptr) {
    error = request.reply(head, {}, false);
    if (error == 0) {
      give_away(request, std::move(*feed));
      return false;
    }
  } else if (stream == nullptr) {
    error = request.reply(head, response.text());
  } else if (auto sent = send_parts(request, std::move(head), **stream); sent) {
    error = *sent;
  } else {
    log::error(format("a reply was cut off: {}", sent.error().message));
    return false;
  }
  if (error == 0) return true;
  log::info(format("the web server did not take a reply: {}",
                   error == EAGAIN ? "send_timeout is over" : errno_text(error)));
  return false;
}

/// A feed has no end: others hold the connection from now on.
void Worker::give_away(Request& request, std::unique_ptr<http::Feed> feed) {
  const Framing framing(Framing::Form::records, request.id());
  UniqueFd connection = request.release_connection();
  Channel channel(connection.get(), nullptr);
  pool_->streams().add({std::move(connection), std::move(channel), framing, {}, {}, std::move(feed)});
}

/// The head goes out with the first part. Returns what `Request::reply` does. Errors: the stream's.
Result<int> Worker::send_parts(Request& request, std::string head, http::Stream& stream) {
  for (;;) {
    auto part = stream.next();
    if (!part) return std::move(part).error();
    const bool last = part->empty();
    const int error = request.reply(head, *part, last);
    if (error != 0 || last) return error;
    head.clear();
  }
}

/// True: something comes on the kept connection, be it its end. Where the process ends, the reply was the
/// last one on it; a request that comes soon after that is answered.
bool Worker::await_next_request(int connection) {
  if (pool_->stopping()) return false;
  const SteadyTime since = system_clock().steady();
  const PoolEvents& pool_events = pool_->events();
  pool_->begin_keeping();
  bool comes = false;
  for (milliseconds left = pool_->options().keep_conn_timeout; !comes && left > milliseconds(0);) {
    // With all threads taken, a connection that waits for one goes before one that may never be used again.
    const bool stopping = pool_->stopping();
    const bool exhausted = pool_->exhausted();
    if (exhausted) successor_ = pool_->take_waiting();
    if (successor_) break;
    std::array<pollfd, 4> events = {
        {{connection, POLLIN, 0},
         {stopping ? -1 : pool_events.stop.get(), POLLIN, 0},
         {exhausted ? pool_events.waiting.get() : -1, POLLIN, 0},
         {exhausted && pool_->listener().shared() ? pool_->listener().fd() : -1, POLLIN, 0}}};
    const int ready = ::poll(events.data(), events.size(), poll_timeout(std::min(left, kCrowdCheck)));
    comes = events[0].revents != 0;
    if (ready == 0) give_memory_back();
    if (events[2].revents != 0) pool_->hear_waiting();
    if (events[3].revents != 0) successor_.connection = pool_->accept();
    if (successor_) break;
    const milliseconds patience = pool_->stopping() ? std::min(kFarewell, pool_->options().keep_conn_timeout)
                                                    : pool_->options().keep_conn_timeout;
    left = std::chrono::ceil<milliseconds>(since + patience - system_clock().steady());
  }
  pool_->end_keeping();
  return comes;
}

}  // namespace rest_fcgi::gateway
