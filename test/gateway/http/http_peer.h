// SPDX-License-Identifier: MIT
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <openssl/ssl.h>

#include "../running_gateway.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::gateway::test {

struct HttpReply {
  int status = 0;
  std::string head;
  std::string body;
  bool is_complete = false;

  /// Returns the value of a header, or an empty text. The case of the name does not matter.
  [[nodiscard]] std::string header(std::string_view name) const {
    std::string lines = head + "\r\n";
    std::string wanted = "\r\n" + std::string(name) + ": ";
    for (std::string* text : {&lines, &wanted})
      std::transform(text->begin(), text->end(), text->begin(), ::tolower);
    const std::size_t at = lines.find(wanted);
    if (at == std::string::npos) return {};
    const std::size_t begin = at + wanted.size();
    return head.substr(begin, lines.find("\r\n", begin) - begin);
  }
};

constexpr milliseconds kSoon{5000};

inline int port_of(const Options& options) {
  return options.http[0].port;
}

/// A client that sends the bytes of a test unchanged to a port of this host. If `version` is not 0, the
/// client uses only this version of TLS. Used by one thread.
class HttpPeer {
 public:
  explicit HttpPeer(int port, bool tls = false, int version = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<in_port_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience = {20, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fd_.reset();
    if (fd_ && tls) begin_tls(version);
  }

  [[nodiscard]] bool connected() const noexcept { return fd_.is_open(); }
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] std::string tls_version() const { return tls_ ? SSL_get_version(tls_.get()) : ""; }

  /// Returns a subject such as `/CN=server`. REQUIRES: TLS.
  [[nodiscard]] std::string certificate() const {
    char name[256];
    return X509_NAME_oneline(X509_get_subject_name(SSL_get0_peer_certificate(tls_.get())), name, sizeof name);
  }

  bool send(std::string_view bytes) {
    if (tls_) return SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  /// With `to_head`, the reply belongs to a HEAD request and has no body.
  HttpReply reply(bool to_head = false) {
    HttpReply found;
    found.head = text_before("\r\n\r\n");
    if (found.head.empty()) return found;
    if (found.head.size() > 12) found.status = std::atoi(found.head.c_str() + 9);
    if (to_head || found.status == 204 || found.status == 304 || found.status == 100) {
      found.is_complete = true;
    } else if (found.header("Transfer-Encoding") == "chunked") {
      found.is_complete = read_chunks(found.body);
    } else if (const std::string length = found.header("Content-Length"); !length.empty()) {
      found.is_complete = read_exactly(static_cast<std::size_t>(std::atoll(length.c_str())), found.body);
    } else {
      while (receive()) {
      }
      found.body = std::exchange(read_, {});
      found.is_complete = true;
    }
    return found;
  }

  HttpReply head() { return reply(true); }

  /// Returns the content of a chunk. The content is empty for the last chunk, or if the connection ended.
  std::string chunk() {
    std::string content;
    std::string line_end;
    const std::size_t size = std::strtoul(text_before("\r\n").c_str(), nullptr, 16);
    if (read_exactly(size, content)) read_exactly(2, line_end);
    return content;
  }

  std::string bytes(std::size_t size) {
    while (read_.size() < size && receive()) {
    }
    std::string found = read_.substr(0, size);
    read_.erase(0, found.size());
    return found;
  }

  HttpReply request(std::string_view bytes) {
    send(bytes);
    return reply();
  }

  /// Returns false if the connection is still open after `time`. Ignores received bytes.
  bool closed_within(milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    for (;;) {
      const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
      if (left <= milliseconds(0)) return false;
      pollfd event = {fd_.get(), POLLIN, 0};
      if (::poll(&event, 1, static_cast<int>(left.count())) == 1 && !receive()) return true;
    }
  }

  void half_close() { ::shutdown(fd_.get(), SHUT_WR); }
  void close() {
    tls_.reset();
    fd_.reset();
  }

 private:
  void begin_tls(int version) {
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                    &SSL_CTX_free);
    if (version != 0) {
      SSL_CTX_set_min_proto_version(context.get(), version);
      SSL_CTX_set_max_proto_version(context.get(), version);
    }
    tls_.reset(SSL_new(context.get()));
    SSL_set_fd(tls_.get(), fd_.get());
    if (SSL_connect(tls_.get()) != 1) close();
  }

  bool receive() {
    char buffer[65536];
    const auto got =
        tls_ ? SSL_read(tls_.get(), buffer, sizeof buffer) : ::recv(fd_.get(), buffer, sizeof buffer, 0);
    if (got > 0) read_.append(buffer, static_cast<std::size_t>(got));
    return got > 0;
  }

  bool read_exactly(std::size_t size, std::string& body) {
    while (read_.size() < size) {
      if (!receive()) return false;
    }
    body += read_.substr(0, size);
    read_.erase(0, size);
    return true;
  }

  /// Reads and removes everything up to `mark`. Returns the text before `mark`, or an empty text if the
  /// connection ends.
  std::string text_before(std::string_view mark) {
    std::size_t end = std::string::npos;
    while ((end = read_.find(mark)) == std::string::npos) {
      if (!receive()) return {};
    }
    std::string found = read_.substr(0, end);
    read_.erase(0, end + mark.size());
    return found;
  }

  bool read_chunks(std::string& body) {
    for (;;) {
      const std::string size_line = text_before("\r\n");
      if (size_line.empty()) return false;
      const std::size_t size = std::stoul(size_line, nullptr, 16);
      std::string line_end;
      if (!read_exactly(size, body) || !read_exactly(2, line_end)) return false;
      if (size == 0) return true;
    }
  }

  struct Free {
    void operator()(SSL* tls) const noexcept { SSL_free(tls); }
  };
  UniqueFd fd_;
  std::unique_ptr<SSL, Free> tls_;
  std::string read_;
};

inline std::string http_get(std::string_view path = "/", std::string_view headers = {}) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(headers) + "\r\n";
}

inline std::string http_post(std::string_view body, std::string_view headers = {}) {
  return "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(headers) + "\r\n" + std::string(body);
}

inline Options with_http(std::size_t threads = 4, HttpOptions http = {}) {
  Options options;
  options.min_threads = 1;
  options.max_threads = threads;
  http.name = "rest_cherrypy";
  http.host = "127.0.0.1";
  http.port = unused_port();
  options.http.push_back(http);
  return options;
}

}  // namespace rest_fcgi::gateway::test
