// SPDX-License-Identifier: MIT
#include "master/salt/requests/connection.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "master/salt/lines.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/pattern.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::salt {
namespace {

using std::chrono::milliseconds;

// ZMTP 3.0, https://rfc.zeromq.org/spec/23. A frame is its flags, its size in one byte or in eight, and its
// content. A connection begins with a greeting of both sides and a command READY of each.
constexpr std::uint8_t kMore = 1;
constexpr std::uint8_t kLong = 2;
constexpr std::uint8_t kCommand = 4;

constexpr std::size_t kGreeting = 64;
constexpr std::size_t kVersionAt = 10;
constexpr std::size_t kMechanismAt = 12;
constexpr std::size_t kMechanism = 20;
constexpr std::string_view kNull("NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", kMechanism);
constexpr std::string_view kReady("\x05READY", 6);
constexpr std::string_view kOurReady(
    "\x04\x1C\x05READY\x0BSocket-Type\0\0\0\x06"
    "DEALER",
    30);
constexpr std::string_view kPing("\x04PING", 5);
constexpr std::size_t kTimeToLive = 2;  // in a PING, before what a PONG says again, of 16 bytes at most
constexpr std::size_t kContext = 16;

std::string our_greeting() {
  std::string greeting(kGreeting, '\0');
  greeting[0] = '\xFF';
  greeting[kVersionAt - 1] = '\x7F';
  greeting[kVersionAt] = 3;
  greeting.replace(kMechanismAt, kMechanism, kNull);
  return greeting;
}

/// Of a ZeroMQ that is not older than that, and asks for no more than the name of a mechanism.
bool is_greeting(std::string_view bytes) {
  return bytes[0] == '\xFF' && (bytes[kVersionAt - 1] & 1) != 0 && bytes[kVersionAt] >= 3 &&
         bytes.substr(kMechanismAt, kMechanism) == kNull;
}

/// For what comes until it is known how much that is; most answers.
constexpr std::size_t kRoom = 4096;

/// What stands before the content of a last frame.
void append_head(WipedBytes& to, std::size_t size) {
  const bool is_long = size > 255;
  to.push_back(static_cast<char>(is_long ? kLong : 0));
  for (int shift = is_long ? 56 : 0; shift >= 0; shift -= 8)
    to.push_back(static_cast<char>(size >> shift & 0xFFU));
}

iovec part_of(const WipedBytes& bytes) {
  return {const_cast<char*>(bytes.data()), bytes.size()};  // which nobody writes to
}

template <class T>
void set_option(int fd, int level, int name, T value) {
  static_cast<void>(::setsockopt(fd, level, name, &value, sizeof value));
}

void set_options(int fd) {
  // A host that vanished is noticed after about a minute and a half.
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

/// Until then, rounded up, in steps that poll(2) can count.
int remaining(SteadyTime until) {
  const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp(left, milliseconds(0), milliseconds(60'000)).count());
}

constexpr std::string_view kScheme = "tcp://";

/// An address or a name, or an IPv6 address in brackets.
bool is_host(std::string_view host) {
  static const auto form = Regex::compile(R"(\[[0-9A-Za-z:.%_-]+\]|[0-9A-Za-z._-]+)");
  return form && form->match_all(host);
}

bool is_port(std::string_view text) {
  const auto port = number_in<unsigned>(text);
  return port && *port >= 1 && *port <= 65535;
}

struct FreeAddress {
  void operator()(addrinfo* address) const noexcept { ::freeaddrinfo(address); }
};
using Address = std::unique_ptr<addrinfo, FreeAddress>;

Error no_connection(std::string_view why) {
  return {ErrorKind::unavailable, format("No connection to the Salt Master: {}.", why)};
}

/// Of `HOST:PORT`. A name is one of IPv4: of `localhost` the first would be ::1, where no master listens
/// unless it was told to. Salt does the same.
Result<Address> address_of(std::string_view place) {
  const std::size_t colon = place.rfind(':');
  const bool ipv6 = place.front() == '[';
  const std::string host(ipv6 ? place.substr(1, colon - 2) : place.substr(0, colon));
  const std::string port(place.substr(colon + 1));
  addrinfo hints{};
  hints.ai_family = ipv6 ? AF_INET6 : AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (ipv6 ? AI_NUMERICHOST : 0);
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) return no_connection(format("{}: {}", host, ::gai_strerror(error)));
  return Address(found);
}

}  // namespace

Error master_not_available() {
  return {ErrorKind::unavailable, kMasterNotAvailable};
}

Result<std::unique_ptr<Connection>> Connection::make(const Options& options) {
  if (auto checked = check_endpoint(options.uri); !checked) return std::move(checked).error();
  auto address = address_of(std::string_view(options.uri).substr(kScheme.size()));
  if (!address) return std::move(address).error();
  UniqueFd fd(::socket((*address)->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return no_connection(errno_text());
  set_options(fd.get());
  // How that ends is seen where it is waited for.
  static_cast<void>(::connect(fd.get(), (*address)->ai_addr, (*address)->ai_addrlen));
  return std::unique_ptr<Connection>(new Connection(std::move(fd), options));
}

Connection::Seen Connection::wait(short events, SteadyTime until) const {
  for (;;) {
    const int time = remaining(until);
    pollfd watched[] = {{fd_.get(), events, 0}, {stop_, POLLIN, 0}};
    const int count = ::poll(watched, 2, time);
    if (watched[1].revents != 0 || (count < 0 && errno != EINTR)) return Seen::broken;
    if (count > 0) return Seen::ready;
    if (time == 0) return Seen::time_up;
  }
}

bool Connection::wait_until_open(SteadyTime until) {
  if (open_) return is_open();
  open_ = shake_hands(until);
  // What a later try would send is not what the peer waits for.
  if (!open_) ::shutdown(fd_.get(), SHUT_RDWR);
  return open_;
}

bool Connection::shake_hands(SteadyTime until) {
  if (wait(POLLOUT, until) != Seen::ready) return false;
  if (write(our_greeting(), until) != Seen::ready) return false;
  if (await_bytes(kGreeting, until) != Seen::ready) return false;
  if (!is_greeting({came_.data(), kGreeting})) return false;
  drop(0, kGreeting);
  if (write(kOurReady, until) != Seen::ready) return false;
  Frame ready;
  if (await_frame(0, ready, until) != Seen::ready) return false;
  if ((ready.flags & kCommand) == 0 || !content(ready).starts_with(kReady)) return false;
  drop(0, ready.begin + ready.size);
  return true;
}

bool Connection::is_open() {
  pollfd watched[] = {{fd_.get(), POLLIN, 0}, {stop_, POLLIN, 0}};
  return open_ && count_ == 0 && ::poll(watched, 2, 0) == 0;
}

Result<void> Connection::send(WipedBytes message, SteadyTime deadline) {
  if (!is_open()) return master_not_available();
  WipedBytes head{kMore, 0};
  append_head(head, message.size());
  iovec parts[] = {part_of(head), part_of(message)};
  switch (write(parts, 2, deadline)) {
    case Seen::ready:
      return {};
    case Seen::time_up:
      return Error{ErrorKind::timeout, "The Salt Master did not take the request in time."};
    case Seen::broken:
      break;
  }
  return master_not_available();
}

Connection::Seen Connection::write(iovec* parts, std::size_t count, SteadyTime until) {
  while (count > 0) {
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return Seen::broken;
    if (sent < 0) {
      if (const Seen seen = wait(POLLOUT, until); seen != Seen::ready) return seen;
      continue;
    }
    auto left = static_cast<std::size_t>(sent);
    for (; count > 0 && left >= parts->iov_len; ++parts, --count) left -= parts->iov_len;
    if (count == 0) break;
    parts->iov_base = static_cast<char*>(parts->iov_base) + left;
    parts->iov_len -= left;
  }
  return Seen::ready;
}

Connection::Seen Connection::write(std::string_view bytes, SteadyTime until) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  return write(&part, 1, until);
}

Result<WipedBytes> Connection::receive(SteadyTime deadline) {
  // What came stays until the answer is whole: it may be waited for again.
  Frame first;
  Frame body;
  Seen seen = await_answer(0, first, deadline);
  const bool begins = first.size == 0 && (first.flags & kMore) != 0;
  if (seen == Seen::ready && begins) seen = await_answer(first.begin, body, deadline);
  if (seen == Seen::time_up) {
    return Error{ErrorKind::timeout,
                 "The Salt Master did not answer in time; whether it carried out the request is not known."};
  }
  if (seen == Seen::broken) {
    return Error{
        ErrorKind::unavailable,
        "Salt Master: the connection broke before the answer came; whether the master carried out the "
        "request is not known."};
  }
  if (!begins || (body.flags & kMore) != 0) {
    return Error{ErrorKind::internal,
                 "The Salt Master's answer is not one empty frame and one with the answer; it was not read."};
  }
  const std::string_view bytes = content(body);
  WipedBytes answer(bytes.begin(), bytes.end());
  drop(0, body.begin + body.size);
  return answer;
}

/// Until the first `count` bytes that are not used so far have come.
Connection::Seen Connection::await_bytes(std::size_t count, SteadyTime until) {
  if (came_.size() < count) came_.resize(std::max(count, kRoom));
  while (count_ < count) {
    const ssize_t got = ::recv(fd_.get(), &came_[count_], came_.size() - count_, 0);
    if (got > 0) {
      count_ += static_cast<std::size_t>(got);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      return Seen::broken;
    } else if (const Seen seen = wait(POLLIN, until); seen != Seen::ready) {
      return seen;
    }
  }
  return Seen::ready;
}

/// The frame whose flags are at `at`; broken also where it is larger than it may be.
Connection::Seen Connection::await_frame(std::size_t at, Frame& frame, SteadyTime until) {
  if (const Seen seen = await_bytes(at + 2, until); seen != Seen::ready) return seen;
  frame.flags = static_cast<std::uint8_t>(came_[at]);
  const std::size_t bytes = (frame.flags & kLong) != 0 ? 8 : 1;
  frame.begin = at + 1 + bytes;
  if (const Seen seen = await_bytes(frame.begin, until); seen != Seen::ready) return seen;
  frame.size = 0;
  for (std::size_t i = at + 1; i < frame.begin; ++i)
    frame.size = frame.size << 8U | static_cast<std::uint8_t>(came_[i]);
  if (frame.size > max_frame_) return Seen::broken;
  return await_bytes(frame.begin + frame.size, until);
}

/// The next frame that is no command. Of the commands a master may ask whether we are there (ZMTP 3.1).
Connection::Seen Connection::await_answer(std::size_t at, Frame& frame, SteadyTime until) {
  for (;;) {
    if (const Seen seen = await_frame(at, frame, until); seen != Seen::ready) return seen;
    if ((frame.flags & kCommand) == 0) return Seen::ready;
    if (const std::string_view command = content(frame); command.starts_with(kPing)) {
      const std::string_view context =
          command.substr(std::min(command.size(), kPing.size() + kTimeToLive), kContext);
      const std::string pong = format("\x04{}\x04PONG{}", static_cast<char>(5 + context.size()), context);
      if (const Seen seen = write(pong, until); seen != Seen::ready) return seen;
    }
    drop(at, frame.begin + frame.size);
  }
}

/// Forgets a part of what came.
void Connection::drop(std::size_t begin, std::size_t end) {
  std::copy(came_.begin() + static_cast<std::ptrdiff_t>(end),
            came_.begin() + static_cast<std::ptrdiff_t>(count_),
            came_.begin() + static_cast<std::ptrdiff_t>(begin));
  count_ -= end - begin;
  if (count_ == 0 && came_.size() > kRoom) {
    came_ = {};
  } else {
    wipe(came_.data() + count_, end - begin);
  }
}

Result<void> check_endpoint(std::string_view uri) {
  const std::string_view place = uri.substr(std::min(uri.size(), kScheme.size()));
  const std::size_t colon = place.rfind(':');
  if (uri.starts_with(kScheme) && colon != std::string_view::npos && is_host(place.substr(0, colon)) &&
      is_port(place.substr(colon + 1))) {
    return {};
  }
  return Error{
      ErrorKind::configuration,
      format("The Salt Master's address is `{}`; accepted is `tcp://HOST:PORT` with an address or a name, an "
             "IPv6 address in brackets, and a port from 1 to 65535.",
             uri)};
}

std::unique_ptr<Connection> IdleConnections::take() {
  const std::scoped_lock lock(mutex_);
  if (kept_.empty()) return nullptr;
  auto newest = std::move(kept_.back().connection);
  kept_.pop_back();
  return newest;
}

void IdleConnections::put(std::unique_ptr<Connection> connection, SteadyTime now) {
  const std::scoped_lock lock(mutex_);
  while (!kept_.empty() && now - kept_.front().since >= kMaxAge) kept_.pop_front();
  kept_.push_back({std::move(connection), now});
}

std::size_t IdleConnections::size() const {
  const std::scoped_lock lock(mutex_);
  return kept_.size();
}

}  // namespace rest_fcgi::salt
