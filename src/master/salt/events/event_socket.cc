// SPDX-License-Identifier: MIT
#include "master/salt/events/event_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "rest_fcgi/core/access.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/waiting.h"

namespace rest_fcgi::salt {
namespace {

constexpr std::chrono::milliseconds kConnectTime{1000};

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  std::string name;

  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }

  template <class T>
  void assign(const T& address) noexcept {
    std::memcpy(&storage, &address, sizeof address);
    size = sizeof address;
  }
};

Result<Address> unix_address(const std::string& path) {
  sockaddr_un address{AF_UNIX, {}};
  constexpr std::size_t kMaxPath = sizeof address.sun_path - 1;
  if (path.size() > kMaxPath) {
    return wrong_setting("sock_dir", format("{} has {} bytes; the path of a unix socket has at most {}", path,
                                            path.size(), kMaxPath));
  }
  path.copy(address.sun_path, kMaxPath);
  Address made;
  made.assign(address);
  made.name = path;
  return made;
}

Result<Address> tcp_address(const BusOptions& where) {
  Address made;
  made.name = format("{} {} of {}", where.port_key, where.port, where.host);
  const auto port = static_cast<in_port_t>(where.port);
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (where.port == 0 || where.port > std::numeric_limits<in_port_t>::max()) {
    return Error{ErrorKind::configuration, format("{}: expected a port from 1 to 65535", made.name)};
  }
  if (::inet_pton(AF_INET, where.host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    made.assign(v4);
  } else if (::inet_pton(AF_INET6, where.host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    made.assign(v6);
  } else {
    return Error{ErrorKind::configuration,
                 format("{}: expected an IPv4 or IPv6 address, not a host name", made.name)};
  }
  return made;
}

Error failure(const Address& address, int error) {
  if (error == EACCES && address.storage.ss_family == AF_UNIX) {
    return {ErrorKind::authorization, refused_path(address.name)};
  }
  const bool is_absent = error == ENOENT || error == ECONNREFUSED;
  return {ErrorKind::unavailable,
          format("{}: {}{}", address.name, errno_text(error),
                 is_absent ? "; no Salt master runs with this sock_dir and ipc_mode" : "")};
}

void wait_for(int fd, short event, int stop, std::chrono::milliseconds patience) noexcept {
  pollfd watched[] = {{fd, event, 0}, {stop, POLLIN, 0}};
  static_cast<void>(::poll(watched, 2, static_cast<int>(patience.count())));
}

int finish_connecting(int fd, int stop) noexcept {
  wait_for(fd, POLLOUT, stop, kConnectTime);
  sockaddr_storage peer{};
  socklen_t peer_size = sizeof peer;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0) return 0;
  int error = 0;
  socklen_t size = sizeof error;
  static_cast<void>(::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size));
  return error != 0 ? error : ETIMEDOUT;
}

constexpr std::chrono::seconds kPatience{5};

void append_number(std::string& to, std::size_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<char>(number >> shift & 0xFFU));
}

Error late() {
  return {ErrorKind::timeout, "The Salt Master did not accept the event in time."};
}

/// Returns an event in the master's format.
std::string pushed_frame(std::string_view tag, std::string_view data) {
  constexpr std::string_view kBegin(
      "\x82\xA4head\x80\xA4"
      "body\xC6",
      13);
  constexpr std::string_view kTagEnd = "\n\n";
  constexpr std::size_t kLength = 4;
  const std::size_t body = tag.size() + kTagEnd.size() + data.size();
  std::string frame;
  frame.reserve(kLength + kBegin.size() + kLength + body);
  append_number(frame, kBegin.size() + kLength + body);
  frame += kBegin;
  append_number(frame, body);
  return frame.append(tag).append(kTagEnd).append(data);
}

}  // namespace

std::string refused_socket(const std::string& path, const struct stat& status) {
  std::string text = format("no permission to connect to {}, which has {}: ", path, describe_access(status));
  if (path.ends_with("_pull.ipc")) {
    return text + format(
                      "a Salt master accepts events only from its own user; rest_fcgi would have to run as "
                      "the user {}",
                      shown_user(status.st_uid));
  }
  if ((status.st_mode & S_IWGRP) == 0) {
    return text +
           "a Salt master opens it to its group only if its configuration has external_auth or publisher_acl";
  }
  return text + format("rest_fcgi's user {} must be in the group {}", shown_user(::geteuid()),
                       shown_group(status.st_gid));
}

std::string refused_path(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? refused_socket(path, status) : refused_folder(path);
}

std::optional<FileIdentity> socket_file_at(const std::string& path) {
  struct stat status {};
  if (path.empty() || ::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino};
}

bool is_replaced(const std::string& path, const std::optional<FileIdentity>& connected) {
  const auto now = connected ? socket_file_at(path) : std::nullopt;
  return now && *now != *connected;
}

Result<UniqueFd> connect_event_socket(const BusOptions& where, int stop) {
  const auto address = where.path.empty() ? tcp_address(where) : unix_address(where.path);
  if (!address) return address.error();
  UniqueFd fd(::socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return failure(*address, errno);
  int error = ::connect(fd.get(), address->get(), address->size) == 0 ? 0 : errno;
  if (error == EINPROGRESS) error = finish_connecting(fd.get(), stop);
  if (error != 0) return failure(*address, error);
  return fd;
}

Result<EventSocket> EventSocket::connect(const BusOptions& where, int stop) {
  auto fd = connect_event_socket(where, stop);
  if (!fd) return std::move(fd).error();
  return EventSocket(*std::move(fd), stop);
}

Result<std::string_view> EventSocket::read(std::chrono::milliseconds patience) {
  ssize_t count = ::recv(fd_.get(), buffer_->data(), buffer_->size(), 0);
  if (count < 0 && errno == EAGAIN) {
    wait_for(fd_.get(), POLLIN, stop_, patience);
    count = ::recv(fd_.get(), buffer_->data(), buffer_->size(), 0);
  }
  if (count > 0) return std::string_view(buffer_->data(), static_cast<std::size_t>(count));
  if (count == 0) return Error{ErrorKind::unavailable, "the master closed the connection"};
  if (errno == EAGAIN || errno == EINTR) return std::string_view();
  return Error{ErrorKind::unavailable, errno_text()};
}

/// The constructor waits until no other thread uses the connection, at most until `end`.
class EventPusher::Turn {
 public:
  Turn(EventPusher& pusher, SteadyTime end) : pusher_(pusher) {
    MutexLock lock(pusher_.mutex_);
    has_it_ =
        pusher_.freed_.wait_until(lock, end, [this]() REQUIRES(pusher_.mutex_) { return !pusher_.taken_; });
    pusher_.taken_ = true;
  }
  ~Turn() {
    if (!has_it_) return;
    const MutexLock lock(pusher_.mutex_);
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
  const std::string frame = pushed_frame(tag, data);
  const Waiting waiting;
  const Turn turn(*this, end);
  if (!turn.has_it()) return late();
  const bool was_there = is_alive();
  if (!was_there) {
    if (auto connected = connect(); !connected) return connected;
  }
  auto written = write(frame, end);
  const bool lost = !written && written.error().kind == ErrorKind::unavailable;
  if (!lost || !was_there) return written;
  // The master may close a kept connection at any time, so a failed event is sent again. The master gets no
  // event twice, because it ignores an incomplete event.
  if (auto connected = connect(); !connected) return connected;
  return write(frame, end);
}

/// Returns whether the connection is open. The master sends no data, so a readable socket means that the
/// connection has ended.
bool EventPusher::is_alive() const {
  if (!connection_.is_open() || is_replaced(where_.path, file_)) return false;
  char byte;
  return ::recv(connection_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

Result<void> EventPusher::connect() {
  connection_.reset();
  file_ = socket_file_at(where_.path);
  auto connected = connect_event_socket(where_, -1);
  if (!connected) {
    const bool refused = connected.error().kind == ErrorKind::authorization;
    return Error{refused ? ErrorKind::authorization : ErrorKind::unavailable,
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
      return Error{ErrorKind::unavailable,
                   format("Lost the connection to the Salt Master's event socket: {}", why)};
    }
    pollfd watched{connection_.get(), POLLOUT, 0};
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - system_clock().steady()).count();
    if (::poll(&watched, 1, static_cast<int>(std::max<std::int64_t>(left, 0))) != 0) continue;
    connection_.reset();
    return late();
  }
  return {};
}

}  // namespace rest_fcgi::salt
