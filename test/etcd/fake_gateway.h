// SPDX-License-Identifier: MIT
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::etcd {

/// An HTTP server on loopback whose handler can send any bytes as a reply. The handler runs in one thread per
/// connection. Not synchronized.
class FakeGateway {
 public:
  struct Request {
    std::string method;
    std::string path;
    std::string headers;
    std::string body;
  };
  /// A function that sends bytes unchanged, and returns false if the peer has closed the connection.
  using Send = std::function<bool(std::string_view)>;
  /// A function that answers a request, and returns false to close the connection.
  using Handler = std::function<bool(const Request&, const Send&)>;

  explicit FakeGateway(Handler handler) : handler_(std::move(handler)) {
    listener_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_.get(), any, size) != 0 || ::listen(listener_.get(), 16) != 0 ||
        ::getsockname(listener_.get(), any, &size) != 0) {
      throw std::runtime_error("no port on loopback");
    }
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }

  ~FakeGateway() {
    stopping_ = true;
    ::shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const UniqueFd& connection : connections_) ::shutdown(connection.get(), SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
  }
  FakeGateway(const FakeGateway&) = delete;
  FakeGateway& operator=(const FakeGateway&) = delete;

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] bool stopping() const noexcept { return stopping_; }

  [[nodiscard]] std::vector<Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

  [[nodiscard]] static std::string reply(int status, std::string_view body,
                                         std::string_view type = "application/json") {
    return "HTTP/1.1 " + std::to_string(status) + " Said\r\nContent-Type: " + std::string(type) +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
  }

 private:
  void accept_all() {
    while (true) {
      UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!connection || stopping_) return;
      const int fd = connection.get();
      const std::lock_guard lock(mutex_);
      connections_.push_back(std::move(connection));
      threads_.emplace_back([this, fd] { serve(fd); });
    }
  }

  void serve(int fd) {
    const Send send = [fd](std::string_view bytes) {
      while (!bytes.empty()) {
        const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      }
      return true;
    };
    std::string received;
    Request request;
    while (read_request(fd, received, request)) {
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      if (!handler_(request, send)) break;
    }
    ::shutdown(fd, SHUT_RDWR);
  }

  static bool read_more(int fd, std::string& received) {
    char buffer[4096];
    const ssize_t count = ::recv(fd, buffer, sizeof(buffer), 0);
    if (count <= 0) return false;
    received.append(buffer, static_cast<std::size_t>(count));
    return true;
  }

  static bool read_request(int fd, std::string& received, Request& request) {
    std::size_t end = 0;
    while ((end = received.find("\r\n\r\n")) == std::string::npos) {
      if (!read_more(fd, received)) return false;
    }
    const std::size_t space = received.find(' ');
    request.method = received.substr(0, space);
    request.path = received.substr(space + 1, received.find(' ', space + 1) - space - 1);
    request.headers = received.substr(0, end + 2);
    constexpr std::string_view kLength = "\r\nContent-Length: ";
    const std::size_t at = request.headers.find(kLength);
    const std::size_t length = at == std::string::npos
                                   ? 0
                                   : std::strtoul(request.headers.c_str() + at + kLength.size(), nullptr, 10);
    received.erase(0, end + 4);
    while (received.size() < length) {
      if (!read_more(fd, received)) return false;
    }
    request.body = received.substr(0, length);
    received.erase(0, length);
    return true;
  }

  const Handler handler_;
  UniqueFd listener_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  std::list<UniqueFd> connections_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

/// A fake of etcd's gateway. It answers as etcd 3.4 does, unless a test sets other replies for a path.
/// Thread-safe.
class ScriptedEtcd {
 public:
  /// Returns the reply to the n-th request (from 0) for a path. An empty reply breaks the connection.
  using Answer = std::function<std::string(std::size_t n)>;

  explicit ScriptedEtcd(std::map<std::string, Answer> answers, std::string cluster_id = "7")
      : answers_(std::move(answers)),
        server_([this, cluster_id](const FakeGateway::Request& request, const FakeGateway::Send& send) {
          const std::string reply = reply_to(request.path, cluster_id);
          return !reply.empty() && send(reply);
        }) {}

  [[nodiscard]] std::string url() const { return server_.url(); }
  [[nodiscard]] std::vector<FakeGateway::Request> requests() const { return server_.requests(); }

  [[nodiscard]] std::size_t count(const std::string& path) const {
    const auto requests = server_.requests();
    return static_cast<std::size_t>(
        std::count_if(requests.begin(), requests.end(), [&path](const auto& r) { return r.path == path; }));
  }

  [[nodiscard]] static std::string header_only(const std::string& cluster_id = "7") {
    return FakeGateway::reply(200, R"({"header":{"cluster_id":")" + cluster_id + R"(","revision":"5"}})");
  }
  [[nodiscard]] static std::string error(int status, int code, const std::string& text) {
    return FakeGateway::reply(status, R"({"error":")" + text + R"(","message":")" + text + R"(","code":)" +
                                          std::to_string(code) + "}");
  }
  [[nodiscard]] static std::string not_found() {
    return FakeGateway::reply(404, "404 page not found\n", "text/plain");
  }

 private:
  std::string reply_to(const std::string& path, const std::string& cluster_id) {
    const auto found = answers_.find(path);
    if (found != answers_.end()) {
      std::size_t n = 0;
      {
        const std::lock_guard lock(mutex_);
        n = asked_[path]++;
      }
      return found->second(n);
    }
    return path.starts_with("/v3/") ? header_only(cluster_id) : not_found();
  }

  const std::map<std::string, Answer> answers_;
  std::mutex mutex_;
  std::map<std::string, std::size_t> asked_;
  FakeGateway server_;
};

inline ScriptedEtcd::Answer always(std::string reply) {
  return [reply = std::move(reply)](std::size_t) { return reply; };
}

}  // namespace rest_fcgi::etcd
