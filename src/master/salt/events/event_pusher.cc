// SPDX-License-Identifier: MIT
#include "master/salt/events/event_pusher.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "master/salt/events/event_socket.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::salt {
namespace {

constexpr std::chrono::seconds kPatience{5};

void append(WipedBytes& to, std::string_view bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

/// 4 bytes, big-endian.
void append_number(WipedBytes& to, std::size_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<char>(number >> shift & 0xFFU));
}

int milliseconds_until(SteadyTime deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - system_clock().steady()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

Error late() {
  return {ErrorKind::timeout, "The Salt Master does not take events in time."};
}

}  // namespace

WipedBytes pushed_frame(std::string_view tag, std::string_view data) {
  constexpr std::string_view kBegin(
      "\x82\xA4head\x80\xA4"
      "body\xC6",
      13);
  constexpr std::string_view kTagEnd = "\n\n";
  constexpr std::size_t kLength = 4;
  const std::size_t body = tag.size() + kTagEnd.size() + data.size();
  WipedBytes frame;
  frame.reserve(kLength + kBegin.size() + kLength + body);
  append_number(frame, kBegin.size() + kLength + body);
  append(frame, kBegin);
  append_number(frame, body);
  append(frame, tag);
  append(frame, kTagEnd);
  append(frame, data);
  return frame;
}

/// Has the connection, or not, where others kept it for too long.
class EventPusher::Turn {
 public:
  Turn(EventPusher& pusher, SteadyTime end) : pusher_(pusher) {
    std::unique_lock lock(pusher_.mutex_);
    has_it_ = pusher_.freed_.wait_until(lock, end, [this] { return !pusher_.taken_; });
    pusher_.taken_ = true;
  }
  ~Turn() {
    if (!has_it_) return;
    const std::lock_guard lock(pusher_.mutex_);
    pusher_.taken_ = false;
    pusher_.freed_.notify_one();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  [[nodiscard]] bool has_it() const noexcept { return has_it_; }

 private:
  EventPusher& pusher_;
  bool has_it_ = false;
};

Result<void> EventPusher::fire(std::string_view tag, std::string_view data, SteadyTime deadline) {
  const SteadyTime end = std::min(deadline, system_clock().steady() + kPatience);
  const WipedBytes frame = pushed_frame(tag, data);
  const Turn turn(*this, end);
  if (!turn.has_it()) return late();
  const bool was_there = is_alive();
  if (!was_there) {
    if (auto connected = connect(); !connected) return connected;
  }
  auto written = write({frame.data(), frame.size()}, end);
  const bool lost = !written && written.error().kind == ErrorKind::unavailable;
  if (!lost || !was_there) return written;
  // A connection that was kept may end at any time. The master drops what it got only a part of.
  if (auto connected = connect(); !connected) return connected;
  return write({frame.data(), frame.size()}, end);
}

/// The master writes nothing here, so that there is something to read where it has ended alone.
bool EventPusher::is_alive() const {
  if (!connection_.is_open()) return false;
  char byte;
  return ::recv(connection_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

Result<void> EventPusher::connect() {
  connection_.reset();
  auto connected = connect_event_socket(where_, -1);
  if (!connected) {
    return Error{ErrorKind::unavailable,
                 format("Events cannot be fired on the Salt Master's bus: {}", connected.error().message)};
  }
  connection_ = *std::move(connected);
  return {};
}

Result<void> EventPusher::write(std::string_view frame, SteadyTime deadline) {
  while (!frame.empty()) {
    const ssize_t count = ::send(connection_.get(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      frame.remove_prefix(static_cast<std::size_t>(count));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) {
      const std::string why = errno_text();
      connection_.reset();
      return Error{ErrorKind::unavailable, format("The Salt Master's event socket was lost: {}", why)};
    }
    pollfd watched{connection_.get(), POLLOUT, 0};
    if (::poll(&watched, 1, milliseconds_until(deadline)) != 0) continue;
    connection_.reset();
    return late();
  }
  return {};
}

}  // namespace rest_fcgi::salt
