// SPDX-License-Identifier: MIT
// The rival of event streams: writes the same bytes to as many sockets. A posted body becomes the mark of an
// event; it replaces the marks of a sample event. Usage: bare_streams PORT SAMPLE_FILE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <vector>

#include "listeners.h"

namespace {

using bench::kMark;
using bench::kMarkSize;

constexpr std::string_view kStream =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nretry: "
    "400\n\r\n";
constexpr std::string_view kSocket =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
constexpr std::string_view kReady = "\x81\x02ok";
constexpr std::string_view kTaken = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

/// The bytes of all events for one kind of listener. Bytes that all listeners have are dropped now and then.
struct Log {
  std::string bytes;
  std::uint64_t begins = 0;  // number of dropped bytes

  [[nodiscard]] std::uint64_t end() const { return begins + bytes.size(); }
};

enum Kind { sse, ws, none };

struct Peer {
  int fd;
  Kind kind = none;
  bool listens = false, full = false;
  std::uint64_t sent = 0;
  std::string input{};
};

class Server {
 public:
  Server(int listener, std::string sample) : listener_(listener), sample_(std::move(sample)) {
    watch(EPOLL_CTL_ADD, listener_, nullptr, EPOLLIN);
    data_at_ = sample_.find("data: ");
    for (auto at = sample_.find(kMark); at != std::string::npos; at = sample_.find(kMark, at + 1))
      marks_.push_back(at);
  }

  [[noreturn]] void run() {
    for (;;) {
      std::array<epoll_event, 256> events{};
      const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
      const auto before = logs_[sse].end();
      for (int i = 0; i < count; ++i) {
        auto* peer = static_cast<Peer*>(events[static_cast<std::size_t>(i)].data.ptr);
        if (peer == nullptr) {
          accept();
        } else {
          serve(*peer, events[static_cast<std::size_t>(i)].events);
        }
      }
      if (logs_[sse].end() != before) write_to_all();
    }
  }

 private:
  void watch(int what, int fd, Peer* peer, std::uint32_t events) const {
    epoll_event event{.events = events, .data = {.ptr = peer}};
    ::epoll_ctl(epoll_, what, fd, &event);
  }

  void accept() {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    peers_.push_back(std::make_unique<Peer>(Peer{.fd = fd}));
    watch(EPOLL_CTL_ADD, fd, peers_.back().get(), EPOLLIN);
  }

  void serve(Peer& peer, std::uint32_t ready) {
    if ((ready & EPOLLOUT) != 0) write(peer);
    if ((ready & EPOLLIN) == 0) return;
    char room[4096];
    const auto size = ::recv(peer.fd, room, sizeof room, 0);
    if (size <= 0) return gone(peer);
    peer.input.append(room, static_cast<std::size_t>(size));
    if (peer.kind == ws) return listen(peer, kReady);  // the request is ignored
    const auto end = peer.input.find("\r\n\r\n");
    if (end == std::string::npos) return;
    if (peer.input.starts_with("POST")) {
      const auto at = peer.input.find(kMark, end);
      if (at == std::string::npos || at + kMarkSize + 2 > peer.input.size()) return;
      add(peer.input.substr(at, kMarkSize));
      say(peer, kTaken);
    } else if (peer.input.find("Upgrade: ") != std::string::npos) {
      peer.kind = ws;
      say(peer, kSocket);
    } else {
      peer.kind = sse;
      listen(peer, kStream);
    }
    peer.input.clear();
  }

  void listen(Peer& peer, std::string_view first) {
    peer.input.clear();
    if (peer.listens) return;
    say(peer, first);
    peer.listens = true;
    peer.sent = logs_[peer.kind].end();
  }

  static void say(const Peer& peer, std::string_view text) {
    static_cast<void>(::send(peer.fd, text.data(), text.size(), MSG_NOSIGNAL));
  }

  void gone(const Peer& peer) {
    ::close(peer.fd);
    std::erase_if(peers_, [&](const auto& one) { return one.get() == &peer; });
  }

  void add(const std::string& mark) {
    for (const auto at : marks_) sample_.replace(at, kMarkSize, mark);
    char head[16];
    logs_[sse].bytes.append(
        head, static_cast<std::size_t>(std::snprintf(head, sizeof head, "%zx\r\n", sample_.size())));
    logs_[sse].bytes.append(sample_).append("\r\n");
    const std::string_view data = std::string_view(sample_).substr(data_at_);
    const char size[] = {static_cast<char>(0x81), 126, static_cast<char>(data.size() >> 8),
                         static_cast<char>(data.size() & 255)};
    logs_[ws].bytes.append(size, sizeof size).append(data);
  }

  void write_to_all() {
    std::array<std::uint64_t, 2> least{logs_[sse].end(), logs_[ws].end()};
    for (const auto& peer : peers_) {
      if (!peer->listens) continue;
      if (!peer->full) write(*peer);
      least[peer->kind] = std::min(least[peer->kind], peer->sent);
    }
    for (const Kind kind : {sse, ws}) {
      auto& log = logs_[kind];
      if (least[kind] - log.begins < 1 << 20) continue;
      log.bytes.erase(0, least[kind] - log.begins);
      log.begins = least[kind];
    }
  }

  void write(Peer& peer) {
    const Log& log = logs_[peer.kind];
    const auto rest = std::string_view(log.bytes).substr(peer.sent - log.begins);
    const auto sent = ::send(peer.fd, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) peer.sent += static_cast<std::uint64_t>(sent);
    const bool full = peer.sent != log.end();
    if (full != peer.full) watch(EPOLL_CTL_MOD, peer.fd, &peer, full ? EPOLLIN | EPOLLOUT : EPOLLIN);
    peer.full = full;
  }

  const int listener_;
  const int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  std::string sample_;
  std::size_t data_at_ = 0;
  std::vector<std::size_t> marks_;
  std::array<Log, 2> logs_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

int listening(const char* port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<in_port_t>(std::atoi(port)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const void* untyped = &address;
  const bool good =
      ::bind(fd, static_cast<const sockaddr*>(untyped), sizeof address) == 0 && ::listen(fd, 4096) == 0;
  return good ? fd : -1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: bare_streams PORT SAMPLE_FILE\n";
    return EXIT_FAILURE;
  }
  std::ifstream file(argv[2]);
  const int listener = listening(argv[1]);
  if (listener < 0 || !file) return EXIT_FAILURE;
  Server(listener, std::string(std::istreambuf_iterator<char>(file), {})).run();
}
