// SPDX-License-Identifier: MIT
#include "master/salt/requests/master_connection.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "master/salt/release_series.h"
#include "rest_fcgi/core/address.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/waiting.h"

namespace rest_fcgi::salt {
namespace {

using std::chrono::milliseconds;

constexpr int kEvents = ZMQ_EVENT_CONNECTED | ZMQ_EVENT_CLOSED | ZMQ_EVENT_DISCONNECTED |
                        ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                        ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;

// TCP notices after about 90 seconds that the other host is gone. The first probe comes after 60 seconds.
constexpr int kKeepaliveIdle = 60;
constexpr int kKeepaliveInterval = 10;
constexpr int kKeepaliveCount = 3;

Error error_of(const zmq::error_t& error) {
  if (error.num() == ETERM)
    return {ErrorKind::unavailable,
            "The server is shutting down and sends no more requests to the Salt Master."};
  if (error.num() == EMFILE || error.num() == ENFILE) {
    return {ErrorKind::unavailable, format("No connection to the Salt Master: {}.", error.what())};
  }
  return {ErrorKind::internal, format("ZeroMQ: {}.", error.what())};
}

/// Returns a monitor socket (zmq_socket_monitor(3)), which gets an event when TCP connects `socket`, and when
/// the connection ends. REQUIRES: `socket` is not connected yet.
zmq::socket_t monitor_of(zmq::context_t& context, zmq::socket_t& socket) {
  static std::atomic<std::uint64_t> number = 0;
  const std::string name = format("inproc://ended-{}", ++number);
  if (zmq_socket_monitor(socket.handle(), name.c_str(), kEvents) != 0) throw zmq::error_t();
  zmq::socket_t monitor(context, zmq::socket_type::pair);
  monitor.set(zmq::sockopt::linger, 0);
  monitor.connect(name);
  return monitor;
}

}  // namespace

Error master_not_available() {
  return {ErrorKind::unavailable, kMasterNotAvailable};
}

Result<std::unique_ptr<MasterConnection>> MasterConnection::make(zmq::context_t& context,
                                                                 const Options& options) {
  try {
    zmq::socket_t socket(context, zmq::socket_type::dealer);
    // ZeroMQ must not queue a message without a connection, and must not reconnect. Otherwise a message could
    // be sent on a later connection.
    socket.set(zmq::sockopt::immediate, true);
    socket.set(zmq::sockopt::reconnect_ivl, -1);
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::rcvhwm, 1);
    socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(options.max_answer_size));
    socket.set(zmq::sockopt::tcp_keepalive, 1);
    socket.set(zmq::sockopt::tcp_keepalive_idle, kKeepaliveIdle);
    socket.set(zmq::sockopt::tcp_keepalive_intvl, kKeepaliveInterval);
    socket.set(zmq::sockopt::tcp_keepalive_cnt, kKeepaliveCount);
    // Like Salt, enables IPv6 only for an IPv6 address. With IPv6, ZeroMQ would try only ::1 for `localhost`,
    // where masters do not listen by default.
    socket.set(zmq::sockopt::ipv6, options.uri.find('[') != std::string::npos);
    std::unique_ptr<MasterConnection> made(new MasterConnection(std::move(socket)));
    made->monitor_ = monitor_of(context, made->socket_);
    if (zmq_connect(made->socket_.handle(), options.uri.c_str()) == 0) return made;
    return Error{ErrorKind::configuration, format("ZeroMQ does not accept the address `{}`: {}.", options.uri,
                                                  zmq_strerror(zmq_errno()))};
  } catch (const zmq::error_t& error) {
    return error_of(error);
  }
}

MasterConnection::~MasterConnection() {
  // Stops the monitor socket. Otherwise ZeroMQ's I/O thread would block until the monitor's next event is
  // read.
  zmq_socket_monitor(socket_.handle(), nullptr, 0);
}

MasterConnection::Seen MasterConnection::wait(short events, SteadyTime until) {
  const Waiting waiting;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
    const long time = static_cast<long>(std::clamp(left, milliseconds(0), milliseconds(60'000)).count());
    zmq::pollitem_t items[] = {{socket_.handle(), 0, events, 0}, {monitor_.handle(), 0, ZMQ_POLLIN, 0}};
    const int count = zmq_poll(items, 2, time);
    if (count < 0 && zmq_errno() == EINTR) continue;
    if (count < 0) return Seen::broken;  // The ZeroMQ context was shut down.
    if (items[1].revents != 0 && !read_monitor()) return Seen::broken;
    if (items[0].revents != 0) return Seen::ready;
    if (items[1].revents == 0 && time == 0) return Seen::time_up;
  }
}

/// Reads an event of the monitor. Returns false if the connection has ended.
bool MasterConnection::read_monitor() {
  zmq::message_t event;
  if (!monitor_.recv(event, zmq::recv_flags::dontwait)) return true;
  std::uint16_t number = 0;  // zmq_socket_monitor(3): the first frame begins with the event's number.
  if (event.size() >= sizeof number) std::memcpy(&number, event.data(), sizeof number);
  zmq::message_t address;
  static_cast<void>(monitor_.recv(address, zmq::recv_flags::dontwait));
  is_reachable_ = number == ZMQ_EVENT_CONNECTED;
  return is_reachable_;
}

MasterConnection::Opening MasterConnection::wait_until_open(SteadyTime reachable_by, SteadyTime until) {
  Seen seen = wait(ZMQ_POLLOUT, std::min(reachable_by, until));
  if (seen == Seen::time_up && is_reachable_) seen = wait(ZMQ_POLLOUT, until);
  if (seen == Seen::ready) return Opening::open;
  return seen == Seen::time_up && is_reachable_ ? Opening::silent : Opening::unreachable;
}

bool MasterConnection::is_open() {
  zmq::pollitem_t items[] = {{socket_.handle(), 0, ZMQ_POLLIN | ZMQ_POLLOUT, 0},
                             {monitor_.handle(), 0, ZMQ_POLLIN, 0}};
  return zmq_poll(items, 2, 0) == 1 && items[0].revents == ZMQ_POLLOUT;
}

Result<void> MasterConnection::send(const std::string& message) {
  try {
    // Sends the message as two frames. If the connection ends between the frames, ZeroMQ drops the first
    // frame, so the master gets no incomplete message.
    const bool is_sent =
        socket_.send(zmq::message_t(), zmq::send_flags::sndmore | zmq::send_flags::dontwait) &&
        socket_.send(zmq::buffer(message), zmq::send_flags::dontwait);
    return is_sent ? Result<void>() : master_not_available();
  } catch (const zmq::error_t& error) {
    return error_of(error);
  }
}

Result<std::string> MasterConnection::receive(SteadyTime deadline) {
  try {
    const Seen seen = wait(ZMQ_POLLIN, deadline);
    if (seen == Seen::time_up) {
      return Error{ErrorKind::timeout, "The Salt Master did not answer in time."};
    }
    // The frames are read even if the connection has ended, because the reply may have come before the end.
    zmq::message_t first;
    if (!socket_.recv(first, zmq::recv_flags::dontwait)) {
      return Error{ErrorKind::unavailable, "Salt Master: the connection broke before the answer came."};
    }
    zmq::message_t body;
    if (first.size() != 0 || !first.more() || !socket_.recv(body, zmq::recv_flags::dontwait) || body.more()) {
      return Error{
          ErrorKind::internal,
          "The Salt Master's answer is not one empty frame and one with the answer; it was not read."};
    }
    return body.to_string();
  } catch (const zmq::error_t& error) {
    return error_of(error);
  }
}

Result<void> check_endpoint(std::string_view uri) {
  constexpr std::string_view kScheme = "tcp://";
  if (uri.starts_with(kScheme) && parse_host_port(uri.substr(kScheme.size()))) return {};
  return Error{ErrorKind::configuration,
               format("The Salt Master's address: found `{}`, expected `tcp://HOST:PORT` with a name or an "
                      "address, brackets around an IPv6 address, and a port from 1 to 65535.",
                      uri)};
}

std::unique_ptr<MasterConnection> IdleConnections::take() {
  const MutexLock lock(mutex_);
  if (kept_.empty()) return nullptr;
  auto newest = std::move(kept_.back().connection);
  kept_.pop_back();
  return newest;
}

void IdleConnections::put(std::unique_ptr<MasterConnection> connection, SteadyTime now) {
  const MutexLock lock(mutex_);
  while (!kept_.empty() && now - kept_.front().since >= kMaxAge) kept_.pop_front();
  kept_.push_back({std::move(connection), now});
}

std::size_t IdleConnections::size() const {
  const MutexLock lock(mutex_);
  return kept_.size();
}

}  // namespace rest_fcgi::salt
