// SPDX-License-Identifier: MIT
#include "gateway/worker.h"

#include <cxxabi.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <typeinfo>
#include <utility>

#include "gateway/response.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::gateway {
namespace {

using std::chrono::milliseconds;

/// How often a kept connection without a request looks whether others wait for its thread.
constexpr milliseconds kCrowdCheck{1000};

/// The pause after a failed accept: whatever is short does not come back sooner by asking more often.
constexpr milliseconds kAcceptPause{100};

timeval to_timeval(milliseconds time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return {seconds.count(), std::chrono::microseconds(time - seconds).count()};
}

bool watch(int epoll, int fd, std::uint32_t events) {
  epoll_event event = {};
  event.events = events;
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

/// The type of the exception that is being handled; its text may quote the request.
std::string exception_name() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type == nullptr) return "an exception";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), &std::free);
  return name ? name.get() : type->name();
}

/// Says that the exception which is being handled came from `where`; without memory for that, nothing.
void log_exception(std::string_view where) noexcept {
  try {
    log::error(format("{}: {}", where, exception_name()));
  } catch (const std::exception&) {
    return;
  }
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
  // Exclusive: a connection wakes one of the threads that wait.
  if (!epoll || !watch(epoll.get(), pool->listener().fd(), EPOLLIN | EPOLLEXCLUSIVE) ||
      !watch(epoll.get(), pool->stop_event(), EPOLLIN)) {
    return Error{ErrorKind::internal, format("epoll: {}", errno_text()), {}};
  }
  return std::make_unique<Worker>(std::move(pool), std::move(epoll));
}

Worker::Worker(std::shared_ptr<Pool> pool, UniqueFd epoll)
    : pool_(std::move(pool)),
      epoll_(std::move(epoll)),
      application_(pool_->application()),
      body_(body_limits(pool_->options())) {}

void Worker::run() {
  while (UniqueFd connection = next_connection()) {
    pool_->begin_work();
    do {
      serve(std::move(connection));
      connection = std::move(successor_);
    } while (connection);
    pool_->end_work();
  }
}

UniqueFd Worker::next_connection() {
  const int patience = poll_timeout(pool_->options().idle_thread_timeout);
  while (!pool_->stopping()) {
    epoll_event event = {};
    const int ready = ::epoll_wait(epoll_.get(), &event, 1, patience);
    if (pool_->stopping()) break;
    if (ready == 0) {
      if (pool_->dismiss_idle()) return UniqueFd();
      // An application that was replaced should not live as long as an idle thread.
      application_.refresh();
    } else if (UniqueFd connection = accept()) {
      return connection;
    }
  }
  return pool_->take_waiting();
}

UniqueFd Worker::accept() {
  UniqueFd connection = pool_->listener().accept();
  if (connection) {
    pool_->accept_works();
    return connection;
  }
  const int error = errno;
  const bool passing = error == EAGAIN || error == EINTR || error == ECONNABORTED;
  if (passing || pool_->listener().closed()) return connection;
  pool_->accept_fails(error);
  pollfd stop = {pool_->stop_event(), POLLIN, 0};
  ::poll(&stop, 1, poll_timeout(kAcceptPause));
  return connection;
}

void Worker::serve(UniqueFd connection) noexcept {
  try {
    set_option(connection.get(), SOL_SOCKET, SO_SNDTIMEO, to_timeval(pool_->options().send_timeout));
    Request request(std::move(connection), pool_->options().receive_timeout);
    do {
      if (!request.receive()) return log_lost(request, "without a whole request");
    } while (answer(request) && await_next_request(request.connection()));
  } catch (...) {
    log_exception("a request was dropped");
  }
  body_.wipe();
}

/// True: another request may come on the connection.
bool Worker::answer(Request& request) {
  environ_.clear();
  request.copy_variables(environ_);
  const Body::End end = body_.read(request.input(), environ_.get("CONTENT_LENGTH"));
  if (end == Body::End::broken) {
    log_lost(request, "in the middle of a request's body");
    return false;
  }
  environ_.body = body_.content();
  const http::Response response = call_application();
  environ_.body = std::string_view();
  body_.wipe();
  return send(request, response) && end == Body::End::complete && request.keeps_connection();
}

http::Response Worker::call_application() {
  try {
    return application_.get()(environ_);
  } catch (...) {
    log_exception("the application threw, and the request is answered with 500");
    return {http::Status::internal_server_error, {}, {}};
  }
}

bool Worker::send(Request& request, const http::Response& response) {
  write_head(response, head_);
  const bool with_body = environ_.get("REQUEST_METHOD") != "HEAD";
  if (request.write(head_) && (!with_body || request.write(response.body)) && request.finish()) return true;
  const int error = request.write_error();
  log::info(format("the web server did not take a reply: {}",
                   error == EAGAIN ? "send_timeout is over" : errno_text(error)));
  return false;
}

/// True: something comes on the kept connection, be it its end.
bool Worker::await_next_request(int connection) {
  const SteadyTime deadline = system_clock().steady() + pool_->options().keep_conn_timeout;
  for (;;) {
    // With all threads taken, a connection that waits to be accepted goes before one that may never be used
    // again.
    const int listener = pool_->exhausted() ? pool_->listener().fd() : -1;
    std::array<pollfd, 3> events = {
        {{connection, POLLIN, 0}, {pool_->stop_event(), POLLIN, 0}, {listener, POLLIN, 0}}};
    const auto left = std::chrono::ceil<milliseconds>(deadline - system_clock().steady());
    ::poll(events.data(), events.size(), poll_timeout(std::min(left, kCrowdCheck)));
    if (events[0].revents != 0) return true;
    if (events[1].revents != 0 || left <= milliseconds(0)) return false;
    if (events[2].revents != 0) successor_ = accept();
    if (successor_) return false;
  }
}

}  // namespace rest_fcgi::gateway
