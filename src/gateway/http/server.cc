// SPDX-License-Identifier: MIT
#include "gateway/http/server.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "gateway/http/channel.h"
#include "gateway/http/connection.h"
#include "gateway/http/loop.h"
#include "gateway/listener.h"
#include "gateway/sys.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::gateway {
namespace {

/// How often it is looked who took too long.
constexpr std::chrono::milliseconds kSweep{250};

/// Connections that are accepted before those that are there have their turn.
constexpr int kAcceptedAtOnce = 64;

std::string name_of(const HttpOptions& options) {
  const bool v6 = options.host.find(':') != std::string::npos;
  return v6 ? format("[{}]:{}", options.host, options.port) : format("{}:{}", options.host, options.port);
}

Error failure(const HttpOptions& options, std::string_view why) {
  return {ErrorKind::configuration,
          format("{}: cannot listen on {}: {}", options.name, name_of(options), why),
          {}};
}

struct OpenSocket {
  UniqueFd fd;
  bool shared = false;  ///< another process accepts from it when this one ends
};

/// Returns where to listen for `::`, all addresses: those of IPv4 alone on a host without IPv6.
std::string host_of(const HttpOptions& options) {
  const bool is_any = options.host == "::";
  return is_any && !UniqueFd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)) ? "0.0.0.0" : options.host;
}

Result<OpenSocket> listen_at(const HttpOptions& options, HandedOver& sockets) {
  auto address = find_address(host_of(options), options.port);
  if (!address) return failure(options, address.error().message);
  auto given = sockets.on_port(*(*address)->ai_addr);
  if (!given) return failure(options, given.error().message);
  const bool shared = static_cast<bool>(*given);
  auto fd = shared ? std::move(given) : listen_on(**address, options.queue_size);
  if (!fd) return failure(options, fd.error().message);
  set_option(fd->get(), IPPROTO_TCP, TCP_NODELAY, 1);  // accepted connections inherit it
  return OpenSocket{*std::move(fd), shared};
}

struct Peer {
  std::string address;
  std::string port;
};

/// An IPv4 address that came to a socket of IPv6 is told as what it is.
Peer peer_of(const sockaddr_storage& storage, socklen_t size) {
  std::array<char, NI_MAXHOST> address = {};
  std::array<char, NI_MAXSERV> port = {};
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&storage), size, address.data(), address.size(),
                port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  constexpr std::string_view kMapped = "::ffff:";
  std::string_view text = address.data();
  if (text.starts_with(kMapped) && text.find('.') != std::string_view::npos)
    text.remove_prefix(kMapped.size());
  return {std::string(text), port.data()};
}

struct OpenPort {
  std::shared_ptr<const HttpPort> port;
  OpenSocket socket;
};

class LoopServer final : public HttpServer {
 public:
  LoopServer(std::size_t max_connections, std::vector<OpenPort> ports)
      : max_connections_(std::max<std::size_t>(max_connections, 1)), ports_(std::move(ports)) {}

  ~LoopServer() override {
    if (!shared_) return;
    if (!shared_->stopping) close();
    wait_for_end(system_clock().steady());
  }

  Result<void> start(std::shared_ptr<Pool> pool) override {
    if (ports_.empty()) return {};
    shared_ = std::make_shared<HttpShared>(std::move(pool));
    sweep_timer_.emplace(shared_->loop->context());
    for (OpenPort& port : ports_) {
      acceptors_.push_back(std::make_unique<Acceptor>(
          Acceptor{port.port, {shared_->loop->context(), port.socket.fd.release()}, port.socket.shared}));
      await_connection(*acceptors_.back());
    }
    sweep();
    if (auto started = shared_->handshakes->start("http-tls", false); !started) return started;
    return shared_->loop->start("http", true);
  }

  void reread_certificates() override {
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      const HttpPort& old = *ports_[i].port;
      auto tls = TlsContext::make(old.options);
      if (!tls) {
        log::error(format("going on with the old certificate: {}", tls.error().message));
        continue;
      }
      auto port = std::make_shared<const HttpPort>(HttpPort{old.options, i, *std::move(tls), old.proxies});
      shared_->loop->post([this, i, port = std::move(port)] { acceptors_[i]->port = port; });
    }
  }

  void close() override {
    if (!shared_) return;
    shared_->loop->post([this] {
      for (const auto& acceptor : acceptors_) {
        if (!acceptor->shared) accepts(*acceptor);
      }
      shared_->stopping = true;
      for (const auto& acceptor : acceptors_) shut(*acceptor);
      for (const auto& connection : connections_) connection->nudge();
      const std::lock_guard lock(shared_->mutex);
      shared_->one_closed.notify_all();
    });
  }

  std::size_t wait_for_end(SteadyTime deadline) override {
    if (!shared_) return 0;
    {
      std::unique_lock lock(shared_->mutex);
      shared_->one_closed.wait_until(lock, deadline,
                                     [this] { return shared_->stopping && shared_->open == 0; });
    }
    shared_->loop->post([this] {
      sweep_timer_.reset();
      acceptors_.clear();
      for (const auto& connection : connections_) connection->give_up();
      connections_.clear();
    });
    shared_->handshakes->end();
    const std::size_t left = shared_->loop->end();
    shared_.reset();
    return left;
  }

 private:
  struct Acceptor {
    std::shared_ptr<const HttpPort> port;
    boost::asio::posix::stream_descriptor socket;
    bool shared;
  };

  static void shut(Acceptor& acceptor) {
    boost::system::error_code ignored;
    acceptor.socket.close(ignored);
  }

  void await_connection(Acceptor& acceptor) {
    acceptor.socket.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                               [this, &acceptor](const boost::system::error_code& error) {
                                 if (error || shared_->stopping) return;
                                 // Where one cannot be had now, the sweep tries again.
                                 if (accepts(acceptor)) return await_connection(acceptor);
                                 paused_.push_back(&acceptor);
                               });
  }

  bool accepts(Acceptor& acceptor) noexcept {
    try {
      return accept_all(acceptor);
    } catch (...) {
      log_exception("a connection was dropped");
      return false;
    }
  }

  /// False: it is of no use to wait for the next one right away.
  bool accept_all(Acceptor& acceptor) {
    for (int i = 0; i < kAcceptedAtOnce; ++i) {
      // Nobody makes room before it is known that another one comes.
      if (i != 0 && open_connections() >= max_connections_) return true;
      if (!make_room()) return false;
      sockaddr_storage address = {};
      socklen_t size = sizeof address;
      UniqueFd socket(::accept4(acceptor.socket.native_handle(), reinterpret_cast<sockaddr*>(&address), &size,
                                SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket) return accept_failed(acceptor, errno);
      accept_failing_ = false;
      Peer peer = peer_of(address, size);
      auto connection = std::make_shared<HttpConnection>(shared_, acceptor.port, std::move(socket),
                                                         std::move(peer.address), std::move(peer.port));
      connections_.push_back(connection);
      connection->start();
    }
    return true;
  }

  bool accept_failed(const Acceptor& acceptor, int error) {
    if (error == EAGAIN || error == EINTR || error == ECONNABORTED) return true;
    if (!std::exchange(accept_failing_, true)) {
      log::error(format("{}: cannot accept a connection, trying again: {}", acceptor.port->options.name,
                        errno_text(error)));
    }
    return false;
  }

  [[nodiscard]] std::size_t open_connections() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->open;
  }

  /// False: there are as many connections as may be, and each has a request at work.
  bool make_room() {
    if (open_connections() < max_connections_) return true;
    HttpConnection* first = nullptr;
    std::optional<HttpConnection::Waits> least;
    for (const auto& connection : connections_) {
      const auto waits = connection->waits();
      if (!waits || (least && *least <= *waits)) continue;
      first = connection.get();
      least = waits;
    }
    if (first == nullptr) return false;
    first->close();
    return true;
  }

  void sweep() {
    sweep_timer_->expires_after(kSweep);
    sweep_timer_->async_wait([this](const boost::system::error_code& error) {
      if (!error && sweep_timer_) sweep();
    });
    const SteadyTime now = system_clock().steady();
    for (const auto& connection : connections_) connection->expire(now);
    std::erase_if(connections_, [](const auto& connection) { return connection->closed(); });
    shared_->trim.look(now);
    for (Acceptor* acceptor : std::exchange(paused_, {})) await_connection(*acceptor);
  }

  const std::size_t max_connections_;
  std::vector<OpenPort> ports_;
  std::shared_ptr<HttpShared> shared_;  // none before the start, and after the end

  // Of the loop's thread.
  std::optional<boost::asio::steady_timer> sweep_timer_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  std::vector<Acceptor*> paused_;
  std::vector<std::shared_ptr<HttpConnection>> connections_;
  bool accept_failing_ = false;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::open(const Options& options, HandedOver& sockets) {
  std::vector<OpenPort> ports;
  for (const HttpOptions& wanted : options.http) {
    auto proxies = http::Addresses::make(wanted.trusted_proxies);
    if (!proxies) {
      return Error{ErrorKind::configuration, format("trusted_proxies: {}", proxies.error().message), {}};
    }
    auto tls = TlsContext::make(wanted);
    if (!tls) return std::move(tls).error();
    auto socket = listen_at(wanted, sockets);
    if (!socket) return std::move(socket).error();
    auto port = std::make_shared<const HttpPort>(
        HttpPort{wanted, ports.size(), *std::move(tls), *std::move(proxies)});
    ports.push_back({std::move(port), *std::move(socket)});
  }
  return std::unique_ptr<HttpServer>(
      std::make_unique<LoopServer>(options.max_http_connections, std::move(ports)));
}

}  // namespace rest_fcgi::gateway
