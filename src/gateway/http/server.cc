// SPDX-License-Identifier: MIT
#include "gateway/http/server.h"

#include <netdb.h>
#include <netinet/in.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/tls.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::gateway {
namespace {

/// Writes `::ffff:1.2.3.4` as `1.2.3.4`. On a unix socket the peer has no address.
Peer peer_of(const sockaddr_storage& storage) {
  if (storage.ss_family == AF_UNIX) return {"unix", ""};
  std::array<char, NI_MAXHOST> address = {};
  std::array<char, NI_MAXSERV> port = {};
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&storage), sizeof storage, address.data(), address.size(),
                port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  constexpr std::string_view kMapped = "::ffff:";
  std::string_view text = address.data();
  if (text.starts_with(kMapped) && text.find('.') != std::string_view::npos)
    text.remove_prefix(kMapped.size());
  return {std::string(text), port.data()};
}

Task<> serve(std::unique_ptr<HttpConnection> connection) {
  co_await connection->run();
}

}  // namespace

Result<std::vector<HttpServer::OpenPort>> HttpServer::open(const Options& options,
                                                           SocketActivation& sockets) {
  std::vector<OpenPort> ports;
  for (const HttpOptions& wanted : options.http) {
    auto proxies = http::Addresses::make(wanted.trusted_proxies);
    if (!proxies) return wrong_setting("trusted_proxies", proxies.error().message);
    auto tls = make_tls_context(wanted);
    if (!tls) return std::move(tls).error();
    auto socket = open_http_socket(wanted, sockets);
    if (!socket) return std::move(socket).error();
    auto port = std::make_shared<const HttpPort>(wanted, ports.size(), *std::move(tls), *std::move(proxies));
    ports.push_back({std::move(port), *std::move(socket)});
  }
  return ports;
}

HttpServer::HttpServer(Shared& shared, std::vector<OpenPort> ports) : shared_(shared) {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    ports_.push_back(ports[i].port);
    const bool is_monitoring = ports[i].port->options.is_monitoring;
    acceptors_.push_back(std::make_unique<Acceptor>(
        shared.pool.context(), std::move(ports[i].socket), ports[i].port->options.name,
        Acceptor::Handlers{[this, is_monitoring] { return shared_.make_http_room(is_monitoring); },
                           [this, is_monitoring] {
                             if (is_monitoring) return shared_.monitoring_files.release();
                             shared_.free_descriptor();
                           },
                           [this, i](UniqueFd socket, const sockaddr_storage& address) {
                             begin(i, std::move(socket), address);
                           }}));
  }
}

void HttpServer::start() {
  for (const auto& acceptor : acceptors_) acceptor->start();
}

void HttpServer::begin(std::size_t index, UniqueFd socket, const sockaddr_storage& address) {
  std::shared_ptr<const HttpPort> port;
  {
    const MutexLock lock(mutex_);
    port = ports_[index];
  }
  asio::io_context& context = shared_.pool.context();
  const int protocol = address.ss_family == AF_UNIX ? 0 : IPPROTO_TCP;
  Socket connected(context, {address.ss_family, protocol}, socket.release());
  auto connection =
      std::make_unique<HttpConnection>(shared_, std::move(port), std::move(connected), peer_of(address));
  asio::co_spawn(context, serve(std::move(connection)), asio::detached);
}

Result<HttpServer::Ports> HttpServer::with_new_certificates() const {
  const MutexLock lock(mutex_);
  Ports ports;
  for (const auto& port : ports_) {
    auto tls = make_tls_context(port->options);
    if (!tls) return std::move(tls).error();
    ports.push_back(
        std::make_shared<const HttpPort>(port->options, port->index, *std::move(tls), port->proxies));
  }
  return ports;
}

void HttpServer::use(Ports ports) {
  const MutexLock lock(mutex_);
  ports_.swap(ports);
}

void HttpServer::keep_ports(const std::function<bool(const HttpOptions&, int)>& keep) {
  MutexLock lock(mutex_);
  const Ports ports = ports_;
  lock.unlock();
  for (std::size_t i = 0; i < acceptors_.size(); ++i)
    acceptors_[i]->keep([&](int fd) { return keep(ports[i]->options, fd); });
}

void HttpServer::stop(bool keeps_health) {
  for (std::size_t i = 0; i < acceptors_.size(); ++i) {
    const bool has_health = shared_.options.answers_health || shared_.options.http[i].is_monitoring;
    if (!keeps_health || !has_health) acceptors_[i]->stop();
  }
}

}  // namespace rest_fcgi::gateway
