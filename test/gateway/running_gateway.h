// SPDX-License-Identifier: MIT
#pragma once

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/door.h"
#include "../support/eventually.h"
#include "../support/fcgi_client.h"
#include "../support/loopback_http.h"
#include "../support/temp_dir.h"
#include "rest_fcgi/gateway/gateway.h"

namespace rest_fcgi::gateway::test {

using rest_fcgi::test::CapturedLog;
using rest_fcgi::test::Door;
using rest_fcgi::test::FcgiClient;
using rest_fcgi::test::FcgiReply;
using rest_fcgi::test::TempDir;
using rest_fcgi::test::unused_port;
using std::chrono::milliseconds;

inline Result<Applications> no_reload() {
  return Error{ErrorKind::configuration, "no reload here", {}};
}

inline http::Response echo(const http::Environ& environ) {
  if (!environ.body) return {http::Status::bad_request, {}, environ.body.error().message};
  return {http::Status::ok, {{"Content-Type", "text/plain"}}, std::string(*environ.body)};
}

inline http::Application reply_with(const std::string& text) {
  return [text](const http::Environ&) { return http::Response{http::Status::ok, {}, text}; };
}

inline http::Application block_slow_requests_at(Door& door) {
  return [&door](const http::Environ& request) {
    if (request.body && *request.body == "slow") door.pass();
    return echo(request);
  };
}

class StreamOfParts final : public http::Stream {
 public:
  explicit StreamOfParts(std::vector<std::string> parts, std::string error = {})
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

using rest_fcgi::test::eventually;

inline std::ptrdiff_t open_files() {
  const std::filesystem::directory_iterator begin("/proc/self/fd");
  return std::distance(begin, std::filesystem::directory_iterator());
}

/// Waits until two counts of the open descriptors are equal, and returns this number.
inline std::ptrdiff_t settled_open_files() {
  std::ptrdiff_t files = 0;
  REQUIRE(eventually([&] { return std::exchange(files, open_files()) == open_files(); }));
  return files;
}

/// Returns the number of threads of the pool, including ending threads.
inline std::size_t worker_threads() {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    count += name.rfind("worker-", 0) == 0;
  }
  return count;
}

/// A gateway on a thread of this process. Signals are sent to this thread only. The gateway captures the log,
/// so only one object may exist at a time.
class RunningGateway {
 public:
  /// `application` answers on all front ends. After SIGHUP, the result of `reload` replaces the application.
  /// Without `reload`, each SIGHUP fails.
  explicit RunningGateway(http::Application application, Options options = {},
                          std::function<Result<http::Application>()> reload = {}) {
    if (options.listen.empty()) options.listen = "unix:" + path();
    ::signal(SIGPIPE, SIG_IGN);
    auto gateway = Gateway::open(options);
    REQUIRE_MESSAGE(gateway, gateway.error().message);
    sigset_t old_mask;
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int signal : {SIGHUP, SIGTERM, SIGINT, SIGUSR1, SIGUSR2}) ::sigaddset(&signals, signal);
    ::pthread_sigmask(SIG_BLOCK, &signals, &old_mask);
    const auto for_all_ports = [ports = options.http.size()](const http::Application& same) {
      return Applications{same, std::vector<http::Application>(ports, same)};
    };
    thread_ = std::thread([this, gateway = *std::move(gateway), first = for_all_ports(application),
                           for_all_ports, reload = std::move(reload)]() mutable {
      ended_ = *gateway->serve(std::move(first), {.read = [&]() -> Result<Applications> {
                                 if (!reload) return no_reload();
                                 auto next = reload();
                                 if (!next) return std::move(next).error();
                                 return for_all_ports(*next);
                               }});
      gateway.reset();
    });
    ::pthread_sigmask(SIG_SETMASK, &old_mask, nullptr);
  }
  ~RunningGateway() {
    if (thread_.joinable()) stop();
  }
  RunningGateway(const RunningGateway&) = delete;
  RunningGateway& operator=(const RunningGateway&) = delete;

  [[nodiscard]] std::string path() const { return dir_ / "fcgi.sock"; }
  [[nodiscard]] FcgiClient connect() const { return FcgiClient::unix_socket(path()); }

  [[nodiscard]] const CapturedLog& log() const noexcept { return log_; }

  void signal(int number) { ::pthread_kill(thread_.native_handle(), number); }

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
