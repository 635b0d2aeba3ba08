// SPDX-License-Identifier: MIT
// Many listeners of event streams on loopback, and sources of events. Counts the received events and measures
// their delay. Prints `ready` when all listeners are connected, waits for a line on standard input, fires the
// events, and prints the counts as JSON.
//
// Usage: stream_listeners KEY=VALUE...
// - port=P token=T: the server and a token.
// - sse=N ws=N: listeners of each kind; sse_path=/events, ws_path=/ws, and ack=0 for a path without an answer
//   to the ready message.
// - bus=PATH: another listener on the event bus of a master.
// - deaf=N vanish=N: listeners that do not read, and listeners that disconnect and reconnect.
// - fire=PATH sources=N: POSTs events to that path over N connections; pull=PATH fires them through the event
//   socket of a master instead.
// - rate=R seconds=S: events a second of all sources together, and the duration.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
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

template <class Address>
int connected(int family, const Address& address, int room = 0) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (room != 0) ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  const void* untyped = &address;
  if (::connect(fd, static_cast<const sockaddr*>(untyped), sizeof address) != 0)
    fail("connect: errno " + std::to_string(errno));
  const int on = 1;
  if (family == AF_INET) ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

int connected_to_port(int room = 0) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<in_port_t>(count("port")));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connected(AF_INET, address, room);
}

int connected_to_path(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof address.sun_path) fail(path + " is too long");
  path.copy(address.sun_path, path.size());
  return connected(AF_UNIX, address);
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

struct All {  // shared by all listeners
  Times streams, bus;
  std::string why_ended;
};

class Listener {
 public:
  enum class Kind { sse, ws, bus };

  Listener(Kind kind, All& all, bool deaf)
      : kind_(kind),
        all_(all),
        deaf_(deaf),
        fd_(kind == Kind::bus ? connected_to_path(option("bus")) : connected_to_port(deaf ? 4096 : 0)),
        unframed_(kind == Kind::sse  ? Unframed::Form::chunks
                  : kind == Kind::ws ? Unframed::Form::frames
                                     : Unframed::Form::none),
        marks_(kind == Kind::bus ? "mark\xd9#" : "\"mark\": \""),
        ready_(kind == Kind::bus) {
    if (kind == Kind::bus) return;
    const bool sse = kind == Kind::sse;
    const auto path = sse ? option("sse_path", "/events") : option("ws_path", "/ws");
    send_all(fd_, "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1:" + option("port") +
                      "\r\nX-Auth-Token: " + option("token") +
                      (sse ? "\r\n\r\n"
                           : "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"));
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() { ::close(fd_); }

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] bool deaf() const { return deaf_; }
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] const Tally& tally() const { return tally_; }
  [[nodiscard]] bool on_bus() const { return kind_ == Kind::bus; }

  /// Reads what is available. Returns whether more may come.
  bool read(std::string& room) {
    const auto size = ::recv(fd_, room.data(), room.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (size <= 0) return end("its connection");
    const std::string_view bytes(room.data(), static_cast<std::size_t>(size));
    if (in_body_ || kind_ == Kind::bus) {
      take(bytes);
    } else {
      take_head(bytes);
    }
    return !ended_;
  }

  /// Returns whether the server dropped a deaf listener.
  [[nodiscard]] bool dropped(std::string& room) const {
    for (;;) {
      const auto size = ::recv(fd_, room.data(), room.size(), MSG_DONTWAIT);
      if (size <= 0) return size == 0 || errno != EAGAIN;
    }
  }

 private:
  bool end(std::string_view by) {
    if (!ended_ && all_.why_ended.empty()) all_.why_ended = by;
    ended_ = true;
    return false;
  }

  void take_head(std::string_view bytes) {
    head_ += bytes;
    const auto end = head_.find("\r\n\r\n");
    if (end == std::string::npos) return;
    if (head_.compare(9, 3, kind_ == Kind::sse ? "200" : "101") != 0)
      fail("no stream: " + head_.substr(0, 1000));
    in_body_ = true;
    if (kind_ == Kind::ws) {
      send_all(fd_, frame(1, "websocket client ready"));
      ready_ = option("ack") == "0";
    }
    take(std::string_view(head_).substr(end + 4));
    head_.clear();
  }

  void take(std::string_view bytes) {
    const std::uint64_t now = nanoseconds();
    unframed_.add(bytes, [&](std::string_view payload, int opcode) {
      ready_ = true;
      if (opcode == 9) send_all(fd_, frame(10, payload));
      if (opcode == 8)
        end(kind_ == Kind::ws && payload.size() > 2 ? payload.substr(2) : "the server, in order");
      if (opcode != 1) return;
      marks_.add(payload, [&](unsigned source, std::uint64_t number, std::uint64_t fired) {
        tally_.hear(source, number);
        (kind_ == Kind::bus ? all_.bus : all_.streams).add((now - fired) / 1000);
      });
    });
  }

  const Kind kind_;
  All& all_;
  const bool deaf_;
  const int fd_;
  Unframed unframed_;
  Marks marks_;
  Tally tally_;
  std::string head_;
  bool in_body_ = false, ready_, ended_ = false;
};

/// Returns an event in the format of a master's bus: a length, and a map with tag and data.
std::string pushed(const std::string& mark) {
  const auto text = [](const std::string& value) {
    return std::string("\xd9") + static_cast<char>(value.size()) + value;
  };
  const std::string data = "\x83" + text("mark").replace(0, 2, "\xa4") + text(mark) + text("_stamp") +
                           text("2026-11-22T12:00:00.000000+00:00") + text("more") +
                           text(std::string(200, 'x'));
  const std::string body = "bench/tick\n\n" + data;
  const auto wide = [](std::size_t size) {
    return std::string{static_cast<char>(size >> 8), static_cast<char>(size & 255)};
  };
  const std::string map = std::string("\x82\xa4head\x80\xa4") + "body\xc5" + wide(body.size()) + body;
  return std::string(2, '\0') + wide(map.size()) + map;
}

std::string posted(const std::string& mark) {
  const std::string body = "{\"mark\": \"" + mark + "\"}";
  return "POST " + option("fire") + " HTTP/1.1\r\nHost: 127.0.0.1:" + option("port") +
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
    const bool pulled = !option("pull").empty();
    const auto sources = static_cast<unsigned>(pulled ? 1 : count("sources", 16));
    for (unsigned i = 0; i < sources && total_ != 0; ++i) {
      const std::uint64_t share = total_ / sources + (i < total_ % sources ? 1 : 0);
      const auto every = std::chrono::nanoseconds(1s) * sources / count("rate");
      threads_.emplace_back([=, this] {
        fire(pulled ? connected_to_path(option("pull")) : connected_to_port(), pulled, i, share, every);
      });
    }
    running_ = threads_.size();
  }

  [[nodiscard]] bool done() const { return ended_ == running_; }
  [[nodiscard]] std::uint64_t fired() const { return fired_; }

 private:
  void fire(int fd, bool pulled, unsigned source, std::uint64_t share, std::chrono::nanoseconds every) try {
    std::string room(4096, ' ');
    auto due = Clock::now();
    for (std::uint64_t number = 0; number < share; ++number, ++fired_, due += every) {
      std::this_thread::sleep_until(due);
      const auto mark = mark_of(source, number);
      send_all(fd, pulled ? pushed(mark) : posted(mark));
      if (!pulled) expect_ok(fd, room);
    }
    ++ended_;
    ::close(fd);
  } catch (const std::exception& error) {
    std::cerr << "stream_listeners: " << error.what() << std::endl;
    std::_Exit(EXIT_FAILURE);
  }

  const std::uint64_t total_;
  std::atomic<std::uint64_t> fired_ = 0, ended_ = 0;
  std::uint64_t running_ = 0;
  std::vector<std::jthread> threads_;
};

class Loop {
 public:
  Loop() {
    for (const auto kind : {Listener::Kind::sse, Listener::Kind::ws}) {
      const std::uint64_t wanted = count(kind == Listener::Kind::sse ? "sse" : "ws");
      for (std::uint64_t i = 0; i < wanted; ++i) {
        if (i >= count("deaf") / 2 && i < (count("deaf") + count("vanish")) / 2)
          vanishing_.emplace_back(all_.size(), kind);
        add(all_.size(), kind, i < count("deaf") / 2);
      }
    }
    if (!option("bus").empty()) add(all_.size(), Listener::Kind::bus, false);
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
    for (const auto& one : all_) {
      if (one->deaf()) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, one->fd(), nullptr);
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
    plan_vanishing();
    const Sources sources;
    const auto begin = Clock::now();
    while (!sources.done()) {
      step(10);
      while (!plan_.empty() && plan_.begin()->first < Clock::now()) vanish();
    }
    took_ = std::chrono::duration<double>(Clock::now() - begin).count();
    fired_ = sources.fired();
    last_ = Clock::now();
    while (lost() != 0 && Clock::now() - last_ < 3s) step(100);
  }

  void report() const {
    std::uint64_t heard = 0, twice = 0, late = 0, ended = 0, deaf = 0, dropped = 0;
    std::string room(1 << 16, ' ');
    for (const auto& one : all_) {
      if (one->deaf()) {
        ++deaf;
        dropped += one->dropped(room) ? 1U : 0U;
      } else if (!one->on_bus()) {
        heard += one->tally().heard();
        twice += one->tally().twice();
        late += one->tally().late();
        ended += one->ended() ? 1U : 0U;
      }
    }
    std::cout << "{\"fired\": " << fired_ << ", \"seconds\": " << took_ << ", \"counted\": " << counted()
              << ", \"heard\": " << heard << ", \"lost\": " << lost() << ", \"twice\": " << twice
              << ", \"out_of_order\": " << late << ", \"ended\": " << ended << ", \"why\": \""
              << common_.why_ended << "\", \"deaf\": " << deaf << ", \"dropped\": " << dropped
              << ", \"vanished\": " << vanished_ << ", \"p50\": " << common_.streams.at(0.5)
              << ", \"p99\": " << common_.streams.at(0.99) << ", \"most\": " << common_.streams.most()
              << ", \"bus_p50\": " << common_.bus.at(0.5) << ", \"bus_p99\": " << common_.bus.at(0.99) << "}"
              << std::endl;
  }

 private:
  static constexpr std::uint64_t kInput = ~std::uint64_t{0};

  void add(std::size_t at, Listener::Kind kind, bool deaf) {
    if (at == all_.size()) all_.emplace_back();
    all_[at] = std::make_unique<Listener>(kind, common_, deaf);
    epoll_event event{.events = EPOLLIN, .data = {.u64 = at}};
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, all_[at]->fd(), &event) != 0)
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

  void plan_vanishing() {
    std::mt19937 random(1);
    const auto most = static_cast<int>(count("seconds") * 1000);
    for (const auto& one : vanishing_) {
      plan_.emplace(Clock::now() + std::chrono::milliseconds(static_cast<int>(random() % 1000) * most / 1000),
                    one);
    }
  }

  /// Replaces one listener by a new one of the same kind.
  void vanish() {
    const auto [at, kind] = plan_.begin()->second;
    plan_.erase(plan_.begin());
    add(at, kind, false);
    ++vanished_;
  }

  /// Returns whether the listener must receive every event.
  [[nodiscard]] bool counts(std::size_t at) const {
    const auto same = [at](const auto& one) { return one.first == at; };
    return !all_[at]->deaf() && !all_[at]->on_bus() &&
           std::none_of(vanishing_.begin(), vanishing_.end(), same);
  }

  [[nodiscard]] std::uint64_t counted() const {
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < all_.size(); ++i) found += counts(i) ? 1U : 0U;
    return found;
  }

  [[nodiscard]] std::uint64_t lost() const {
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < all_.size(); ++i) found += counts(i) ? fired_ - all_[i]->tally().heard() : 0;
    return found;
  }

  const int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  All common_;
  std::vector<std::unique_ptr<Listener>> all_;
  std::vector<std::pair<std::size_t, Listener::Kind>> vanishing_;
  std::multimap<Clock::time_point, std::pair<std::size_t, Listener::Kind>> plan_;
  std::string room_ = std::string(1 << 18, ' ');
  bool input_ = false;
  Clock::time_point last_{};
  double took_ = 0;
  std::uint64_t fired_ = 0, vanished_ = 0;
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
