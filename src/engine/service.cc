// SPDX-License-Identifier: MIT
#include "rest_fcgi/engine/service.h"

#include <netdb.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <systemd/sd-daemon.h>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::engine {
namespace {

constexpr timeval kTimeout{5, 0};

constexpr std::chrono::seconds kStatusPause{5};

std::atomic<bool> is_notifying = true;

Error unreachable(const gateway::HttpOptions& port, std::string_view why) {
  const std::string where = port.unix_path.empty() ? format("{}, port {}", port.host, port.port)
                                                   : format("unix:{}", port.unix_path);
  return {ErrorKind::unavailable,
          format("the service does not answer on {} (rest_fcgi: metrics: listen): {}", where, why)};
}

UniqueFd new_socket(int family) {
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO})
    ::setsockopt(fd.get(), SOL_SOCKET, option, &kTimeout, sizeof kTimeout);
  return fd;
}

Result<UniqueFd> connect_to(const gateway::HttpOptions& port) {
  if (!port.unix_path.empty()) {
    sockaddr_un address = {AF_UNIX, {}};
    port.unix_path.copy(address.sun_path, sizeof address.sun_path - 1);
    UniqueFd fd = new_socket(AF_UNIX);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
    return unreachable(port, errno_text());
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(port.host.c_str(), std::to_string(port.port).c_str(), &hints, &found);
  if (error != 0) return unreachable(port, ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  std::string why = "the host name has no address";
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    UniqueFd fd = new_socket(one->ai_family);
    if (::connect(fd.get(), one->ai_addr, one->ai_addrlen) == 0) return fd;
    why = errno_text();
  }
  return unreachable(port, why);
}

/// The socket on which `request_reload` waits. It is in the service's own folder, so that no other user can
/// answer. The answer is `+`, or `-` with the reason of the failure.
std::optional<sockaddr_un> reload_address() {
  const char* const folders = std::getenv("STATE_DIRECTORY");
  if (folders == nullptr || *folders != '/') return std::nullopt;
  const std::string_view all = folders;
  const std::string path = format("{}/reload.sock", all.substr(0, all.find(':')));
  sockaddr_un address = {AF_UNIX, {}};
  if (path.size() >= sizeof address.sun_path) return std::nullopt;
  path.copy(address.sun_path, path.size());
  return address;
}

constexpr std::size_t kLongestReason = 4096;

}  // namespace

bool has_service_manager() {
  return std::getenv("NOTIFY_SOCKET") != nullptr;
}

void report_reload(const Result<void>& ended) {
  const auto address = reload_address();
  if (!address) return;
  const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const std::string text = ended ? "+" : "-" + ended.error().message.substr(0, kLongestReason - 1);
  ::sendto(fd.get(), text.data(), text.size(), 0, reinterpret_cast<const sockaddr*>(&*address),
           sizeof *address);
}

Result<void> request_reload() {
  const char* const main_pid = std::getenv("MAINPID");
  const auto pid = main_pid == nullptr ? std::nullopt : parse_number<pid_t>(main_pid);
  const auto address = reload_address();
  if (!pid || *pid <= 1 || !address) {
    return Error{
        ErrorKind::configuration,
        "--reload: found no $MAINPID and $STATE_DIRECTORY, expected both from systemd: run systemctl "
        "reload with the name of the service"};
  }
  const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ::unlink(address->sun_path);
  constexpr timeval kStep{1, 0};
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
      ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &kStep, sizeof kStep) != 0 ||
      ::kill(*pid, SIGHUP) != 0) {
    Error failed{ErrorKind::unavailable,
                 format("--reload: cannot ask the process {}: {}", *pid, errno_text())};
    ::unlink(address->sun_path);
    return failed;
  }
  // systemd ends this process after 90 s.
  constexpr int kMostSteps = 80;
  char answer[kLongestReason];
  ssize_t size = -1;
  for (int step = 0; size < 0 && step < kMostSteps && ::kill(*pid, 0) == 0; ++step)
    size = ::recv(fd.get(), answer, sizeof answer, 0);
  ::unlink(address->sun_path);
  if (size < 1) {
    return Error{ErrorKind::unavailable,
                 format("--reload: found no answer of the process {}, expected the end of its reload", *pid)};
  }
  if (answer[0] == '+') return {};
  return Error{ErrorKind::configuration, "the reload failed; the old configuration stays in use: " +
                                             std::string(answer + 1, static_cast<std::size_t>(size) - 1)};
}

void notify_systemd(const std::string& lines) {
  if (is_notifying) ::sd_notify(0, lines.c_str());
}

void end_notifications() noexcept {
  is_notifying = false;
}

StatusLine::StatusLine(metrics::Health& health) : health_(health) {
  if (auto started = Thread::start(
          "status", [this] { run(); }, kSmallStack))
    thread_ = *std::move(started);
}

StatusLine::~StatusLine() {
  end();
  thread_.join();
}

void StatusLine::note(std::string text) {
  const MutexLock lock(mutex_);
  note_ = std::move(text);
  show();
}

void StatusLine::end() {
  const MutexLock lock(mutex_);
  is_stopping_ = true;
  changed_.notify_all();
}

void StatusLine::run() {
  for (MutexLock lock(mutex_); !is_stopping_;) {
    lock.unlock();
    std::string readiness = metrics::summary_of(health_.checks());
    // A line end would end the value of STATUS=.
    std::replace(readiness.begin(), readiness.end(), '\n', ' ');
    lock.lock();
    if (is_stopping_) return;
    if (std::exchange(readiness_, readiness) != readiness) show();
    changed_.wait_for(lock, kStatusPause, [this]() REQUIRES(mutex_) { return is_stopping_; });
  }
}

void StatusLine::show() {
  if (readiness_.empty()) return;
  notify_systemd(format("STATUS={}{}{}", readiness_, note_.empty() ? "" : "; ", note_));
}

Watchdog::Watchdog(store::Store& store) {
  std::uint64_t microseconds = 0;
  if (::sd_watchdog_enabled(0, &microseconds) <= 0) return;
  const std::chrono::microseconds pause(microseconds / 3);
  ticks_ = store.every_second([this, pause] {
    const auto now = std::chrono::steady_clock::now();
    if (now - sent_ < pause) return;
    sent_ = now;
    notify_systemd("WATCHDOG=1");
  });
}

Result<Readiness> ask_readiness(const gateway::HttpOptions& port) {
  auto connection = connect_to(port);
  if (!connection) return std::move(connection).error();
  constexpr std::string_view kRequest = "GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  if (auto sent = write_all(connection->get(), kRequest); !sent)
    return unreachable(port, sent.error().message);
  std::string reply;
  char part[4096];
  for (ssize_t got = 0; (got = ::read(connection->get(), part, sizeof part)) > 0;) {
    reply.append(part, static_cast<std::size_t>(got));
  }
  const std::size_t body = reply.find("\r\n\r\n");
  if (!reply.starts_with("HTTP/1.1 ") || body == std::string::npos)
    return unreachable(port, "the reply is not an HTTP reply");
  return Readiness{reply.starts_with("HTTP/1.1 200 "), reply.substr(body + 4)};
}

}  // namespace rest_fcgi::engine
