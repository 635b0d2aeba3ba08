// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::test {

/// Stands for the socket at which a master receives events. The object has no thread, so events stay in the
/// socket until a test calls `received`. Not synchronized.
class FakeEventPull {
 public:
  explicit FakeEventPull(std::string path) : path_(std::move(path)) { start(); }
  ~FakeEventPull() { ::unlink(path_.c_str()); }
  FakeEventPull(const FakeEventPull&) = delete;
  FakeEventPull& operator=(const FakeEventPull&) = delete;

  void start() {
    sockaddr_un address{AF_UNIX, {}};
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    ::unlink(path_.c_str());
    listener_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_.get(), 8) != 0) {
      throw std::system_error(errno, std::generic_category(), path_);
    }
  }

  /// Closes all connections and stops listening, like a master that ends. The file of the socket stays.
  void stop() {
    accept_all();
    writers_.clear();
    listener_.reset();
  }

  void close_all() {
    accept_all();
    writers_.clear();
  }

  /// Returns all bytes that arrived since the last call: first those of the first connection, then those of
  /// the next.
  [[nodiscard]] std::string received() {
    accept_all();
    std::string bytes;
    std::array<char, 65536> room{};
    for (const UniqueFd& writer : writers_) {
      for (ssize_t count = 1; count > 0;) {
        count = ::recv(writer.get(), room.data(), room.size(), MSG_DONTWAIT);
        if (count > 0) bytes.append(room.data(), static_cast<std::size_t>(count));
      }
    }
    return bytes;
  }

  [[nodiscard]] std::size_t connections() {
    accept_all();
    return writers_.size();
  }

 private:
  void accept_all() {
    while (listener_.is_open()) {
      UniqueFd writer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!writer) return;
      writers_.push_back(std::move(writer));
    }
  }

  const std::string path_;
  UniqueFd listener_;
  std::vector<UniqueFd> writers_;
};

}  // namespace rest_fcgi::test
