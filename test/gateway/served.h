// SPDX-License-Identifier: MIT
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/door.h"
#include "../support/fcgi_client.h"
#include "../support/temp_dir.h"
#include "rest_fcgi/gateway/gateway.h"

namespace rest_fcgi::gateway::test {

using rest_fcgi::test::CapturedLog;
using rest_fcgi::test::Door;
using rest_fcgi::test::FcgiClient;
using rest_fcgi::test::FcgiReply;
using rest_fcgi::test::TempDir;
using std::chrono::milliseconds;

inline Result<Applications> no_reload() {
  return Error{ErrorKind::configuration, "no reload here", {}};
}

/// Answers with the body that came, or why there is none.
inline http::Response echo(const http::Environ& environ) {
  if (!environ.body) return {http::Status::bad_request, {}, environ.body.error().message};
  return {http::Status::ok, {{"Content-Type", "text/plain"}}, std::string(*environ.body)};
}

/// A body in parts, which ends with an Error after them where that is asked for.
class Parts final : public http::Stream {
 public:
  explicit Parts(std::vector<std::string> parts, std::string error = {})
      : parts_(std::move(parts)), error_(std::move(error)) {}
  Result<std::string_view> next() override {
    if (at_ < parts_.size()) return std::string_view(parts_[at_++]);
    if (!error_.empty()) return Error{ErrorKind::internal, error_};
    return std::string_view();
  }

 private:
  std::vector<std::string> parts_;
  std::string error_;
  std::size_t at_ = 0;
};

/// Becomes true within `patience`?
inline bool eventually(const std::function<bool()>& holds, milliseconds patience = milliseconds(30000)) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

inline std::ptrdiff_t open_files() {
  const std::filesystem::directory_iterator begin("/proc/self/fd");
  return std::distance(begin, std::filesystem::directory_iterator());
}

/// The worker threads of this process, those included that are about to end.
inline std::size_t workers() {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    // One that ended meanwhile has no name any more.
    std::getline(std::ifstream(task.path() / "comm"), name);
    count += name.rfind("worker-", 0) == 0;
  }
  return count;
}

/// A port that nobody listens on.
inline int free_port() {
  // An ephemeral port that somebody just gave back is not given out again soon.
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(fd, reinterpret_cast<const sockaddr*>(&address), size);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(fd);
  return ntohs(address.sin_port);
}

/// A gateway that serves on a thread of this process until it goes; signals reach that thread alone. One at a
/// time, since it catches the log.
class Served {
 public:
  /// `application` answers on all front ends, and after a reload what `reload` gives.
  explicit Served(http::Application application, Options options = {},
                  std::function<Result<http::Application>()> reload = {}) {
    if (options.listen.empty()) options.listen = "unix:" + path();
    ::signal(SIGPIPE, SIG_IGN);
    auto gateway = Gateway::open(options);
    REQUIRE_MESSAGE(gateway, gateway.error().message);
    sigset_t old_mask;
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int signal : {SIGHUP, SIGTERM, SIGINT, SIGUSR1}) ::sigaddset(&signals, signal);
    ::pthread_sigmask(SIG_BLOCK, &signals, &old_mask);
    const auto everywhere = [ports = options.http.size()](const http::Application& one) {
      return Applications{one, std::vector<http::Application>(ports, one)};
    };
    thread_ = std::thread([this, gateway = *std::move(gateway), first = everywhere(application), everywhere,
                           reload = std::move(reload)]() mutable {
      ended_ = *gateway->serve(std::move(first), [&]() -> Result<Applications> {
        if (!reload) return no_reload();
        auto next = reload();
        if (!next) return std::move(next).error();
        return everywhere(*next);
      });
      gateway.reset();
    });
    ::pthread_sigmask(SIG_SETMASK, &old_mask, nullptr);
  }
  ~Served() {
    if (thread_.joinable()) stop();
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  [[nodiscard]] std::string path() const { return dir_ / "fcgi.sock"; }
  [[nodiscard]] FcgiClient connect() const { return FcgiClient::unix_socket(path()); }

  [[nodiscard]] const CapturedLog& log() const noexcept { return log_; }

  void signal(int number) { ::pthread_kill(thread_.native_handle(), number); }

  /// Ends it and returns what `serve` returned.
  Ended stop() {
    signal(SIGTERM);
    return wait();
  }
  Ended wait() {
    thread_.join();
    return ended_;
  }

 private:
  CapturedLog log_;
  TempDir dir_;
  Ended ended_{};
  std::thread thread_;
};

}  // namespace rest_fcgi::gateway::test
