// SPDX-License-Identifier: MIT
// Many listeners of event streams on loopback, and sources of events. Counts the received events and measures
// their delay. Prints `ready` when all listeners are connected, waits for a line on standard input, fires the
// events, and prints the counts as JSON.
//
// Usage: stream_listeners KEY=VALUE...
// - port=P token=T: the server and a token.
// - sse=N ws=N: listeners of /events, and of /ws.
// - rate=R seconds=S: events a second of all sources together, and the duration. The sources POST them to
//   /hook/bench over 16 connections.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>
#include <vector>

#include "listeners.h"

namespace {

using namespace bench;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

std::map<std::string, std::string> options;

std::string option(const std::string& key, const std::string& otherwise = "") {
  const auto found = options.find(key);
  return found == options.end() ? otherwise : found->second;
}

std::uint64_t count(const std::string& key, std::uint64_t otherwise = 0) {
  const auto text = option(key);
  return text.empty() ? otherwise : std::stoull(text);
}

[[noreturn]] void fail(const std::string& why) {
  throw std::runtime_error(why);
}

int connected() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<in_port_t>(count("port")));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const void* untyped = &address;
  if (::connect(fd, static_cast<const sockaddr*>(untyped), sizeof address) != 0)
    fail("connect: errno " + std::to_string(errno));
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

void send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) fail("a server takes nothing: errno " + std::to_string(errno));
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

/// Returns a short client frame. The masking key is zero, which leaves the payload unchanged.
std::string frame(char opcode, std::string_view text) {
  return std::string{static_cast<char>(0x80 | opcode), static_cast<char>(0x80 | text.size()), 0, 0, 0, 0} +
         std::string(text);
}

class Listener {
 public:
  enum class Kind { sse, ws };

  Listener(Kind kind, Times& times)
      : kind_(kind),
        times_(times),
        unframed_(kind == Kind::sse ? Unframed::Form::chunks : Unframed::Form::frames) {
    const bool sse = kind == Kind::sse;
    send_all(fd_, std::string("GET ") + (sse ? "/events" : "/ws") + " HTTP/1.1\r\nHost: 127.0.0.1:" +
                      option("port") + "\r\nX-Auth-Token: " + option("token") +
                      (sse ? "\r\n\r\n"
                           : "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"));
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() { ::close(fd_); }

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] std::uint64_t heard() const { return tally_.heard(); }

  /// Reads what is available. Returns whether more may come.
  bool read(std::string& room) {
    const auto size = ::recv(fd_, room.data(), room.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (size <= 0) return false;
    const std::string_view bytes(room.data(), static_cast<std::size_t>(size));
    if (in_body_) {
      take(bytes);
    } else {
      take_head(bytes);
    }
    return !ended_;
  }

 private:
  void take_head(std::string_view bytes) {
    head_ += bytes;
    const auto end = head_.find("\r\n\r\n");
    if (end == std::string::npos) return;
    if (head_.compare(9, 3, kind_ == Kind::sse ? "200" : "101") != 0)
      fail("no stream: " + head_.substr(0, 1000));
    in_body_ = true;
    if (kind_ == Kind::ws) send_all(fd_, frame(1, "websocket client ready"));
    take(std::string_view(head_).substr(end + 4));
    head_.clear();
  }

  void take(std::string_view bytes) {
    const std::uint64_t now = nanoseconds();
    unframed_.add(bytes, [&](std::string_view payload, int opcode) {
      ready_ = true;
      if (opcode == 9) send_all(fd_, frame(10, payload));
      if (opcode == 8) ended_ = true;
      if (opcode != 1) return;
      marks_.add(payload, [&](unsigned source, std::uint64_t number, std::uint64_t fired) {
        tally_.hear(source, number);
        times_.add((now - fired) / 1000);
      });
    });
  }

  const Kind kind_;
  Times& times_;
  const int fd_ = connected();
  Unframed unframed_;
  Marks marks_{"\"mark\": \""};
  Tally tally_;
  std::string head_;
  bool in_body_ = false, ready_ = false, ended_ = false;
};

std::string posted(const std::string& mark) {
  const std::string body = "{\"mark\": \"" + mark + "\"}";
  return "POST /hook/bench HTTP/1.1\r\nHost: 127.0.0.1:" + option("port") +
         "\r\nX-Auth-Token: " + option("token") +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

/// Reads one reply, which arrives in nearly one piece.
void expect_ok(int fd, std::string& room) {
  std::size_t size = 0;
  while (size == 0 || room.find('}') >= size) {
    const auto more = ::recv(fd, room.data() + size, room.size() - size, 0);
    if (more <= 0) fail("no answer to an event");
    size += static_cast<std::size_t>(more);
    if (room.compare(0, 12, "HTTP/1.1 200") != 0) fail("an event is refused: " + room.substr(0, size));
  }
}

/// Sources of events, each on its own thread.
class Sources {
 public:
  Sources() : total_(count("rate") * count("seconds")) {
    for (unsigned i = 0; i < kSources; ++i) {
      const std::uint64_t share = total_ / kSources + (i < total_ % kSources ? 1 : 0);
      const auto every = std::chrono::nanoseconds(1s) * kSources / count("rate");
      threads_.emplace_back([=, this] { fire(connected(), i, share, every); });
    }
  }

  [[nodiscard]] bool done() const { return ended_ == kSources; }
  [[nodiscard]] std::uint64_t fired() const { return fired_; }

 private:
  static constexpr unsigned kSources = 16;

  void fire(int fd, unsigned source, std::uint64_t share, std::chrono::nanoseconds every) try {
    std::string room(4096, ' ');
    auto due = Clock::now();
    for (std::uint64_t number = 0; number < share; ++number, ++fired_, due += every) {
      std::this_thread::sleep_until(due);
      send_all(fd, posted(mark_of(source, number)));
      expect_ok(fd, room);
    }
    ++ended_;
    ::close(fd);
  } catch (const std::exception& error) {
    std::cerr << "stream_listeners: " << error.what() << std::endl;
    std::_Exit(EXIT_FAILURE);
  }

  const std::uint64_t total_;
  std::atomic<std::uint64_t> fired_ = 0, ended_ = 0;
  std::vector<std::jthread> threads_;
};

class Loop {
 public:
  Loop() {
    for (const auto kind : {Listener::Kind::sse, Listener::Kind::ws}) {
      const std::uint64_t wanted = count(kind == Listener::Kind::sse ? "sse" : "ws");
      for (std::uint64_t i = 0; i < wanted; ++i) add(kind);
    }
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() { ::close(epoll_); }

  void await_ready() {
    const auto end = Clock::now() + 60s;
    const auto ready = [](const auto& one) { return one->ready(); };
    while (!std::all_of(all_.begin(), all_.end(), ready)) {
      if (Clock::now() > end) fail("not all got their stream");
      step(100);
    }
  }

  /// Waits for a line on standard input. Returns false at its end.
  bool await_line() {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = kInput}};
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, STDIN_FILENO, &event) != 0) fail("standard input is no pipe");
    while (!input_) step(1000);
    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, STDIN_FILENO, nullptr);
    char line[64];
    return ::read(STDIN_FILENO, line, sizeof line) > 0;
  }

  void run() {
    const Sources sources;
    while (!sources.done()) step(10);
    fired_ = sources.fired();
    last_ = Clock::now();
    while (heard() < fired_ * all_.size() && Clock::now() - last_ < 3s) step(100);
  }

  void report() const {
    std::cout << "{\"heard\": " << heard() << ", \"p99\": " << times_.at(0.99) << "}" << std::endl;
  }

 private:
  static constexpr std::uint64_t kInput = ~std::uint64_t{0};

  void add(Listener::Kind kind) {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = all_.size()}};
    all_.push_back(std::make_unique<Listener>(kind, times_));
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, all_.back()->fd(), &event) != 0)
      fail("epoll: errno " + std::to_string(errno));
  }

  void step(int milliseconds) {
    epoll_event events[256];
    const int count = ::epoll_wait(epoll_, events, 256, milliseconds);
    for (int i = 0; i < count; ++i) {
      const auto at = events[i].data.u64;
      if (at == kInput) {
        input_ = true;
      } else if (!all_[at]->read(room_)) {
        ::epoll_ctl(epoll_, EPOLL_CTL_DEL, all_[at]->fd(), nullptr);
      }
    }
    if (count > 0) last_ = Clock::now();
  }

  [[nodiscard]] std::uint64_t heard() const {
    std::uint64_t found = 0;
    for (const auto& one : all_) found += one->heard();
    return found;
  }

  const int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  Times times_;
  std::vector<std::unique_ptr<Listener>> all_;
  std::string room_ = std::string(1 << 18, ' ');
  bool input_ = false;
  Clock::time_point last_{};
  std::uint64_t fired_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    options[word.substr(0, word.find('='))] = word.substr(std::min(word.size(), word.find('=') + 1));
  }
  try {
    Loop loop;
    loop.await_ready();
    std::cout << "ready" << std::endl;
    if (!loop.await_line()) return EXIT_SUCCESS;
    loop.run();
    loop.report();
  } catch (const std::exception& error) {
    std::cerr << "stream_listeners: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
