// SPDX-License-Identifier: MIT
#include "fake_event_bus.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace rest_fcgi::test {
namespace {

std::string number(std::size_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

void check(bool good, const char* what) {
  if (!good) throw std::system_error(errno, std::generic_category(), what);
}

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

UniqueFd listen_on(const sockaddr& address, socklen_t size) {
  UniqueFd fd(::socket(address.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  check(::bind(fd.get(), &address, size) == 0, "bind");
  check(::listen(fd.get(), 64) == 0, "listen");
  return fd;
}

UniqueFd listen_on_path(const std::string& path) {
  sockaddr_un address{AF_UNIX, {}};
  if (path.size() >= sizeof address.sun_path) throw std::length_error(path);
  path.copy(address.sun_path, path.size());
  ::unlink(path.c_str());
  return listen_on(reinterpret_cast<const sockaddr&>(address), sizeof address);
}

UniqueFd listen_on_port(unsigned& port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<in_port_t>(port));
  UniqueFd fd = listen_on(reinterpret_cast<const sockaddr&>(address), sizeof address);
  socklen_t size = sizeof address;
  check(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0, "getsockname");
  port = ntohs(address.sin_port);
  return fd;
}

}  // namespace

std::string event_frame(std::string_view tag, std::string_view data, salt::Framing framing) {
  std::string frame =
      "\x82\xa4head\x80\xa4"
      "body\xc6" +
      number(tag.size() + 2 + data.size());
  frame.append(tag).append("\n\n").append(data);
  return framing == salt::Framing::bare ? frame : number(frame.size()) + frame;
}

FakeMasterSocket::FakeMasterSocket(std::string path) : path_(std::move(path)) {
  start();
}

FakeMasterSocket::~FakeMasterSocket() {
  stop();
}

void FakeMasterSocket::start() {
  const std::lock_guard lock(mutex_);
  listener_ = path_.empty() ? listen_on_port(port_) : listen_on_path(path_);
}

void FakeMasterSocket::stop() {
  close_all();
  const std::lock_guard lock(mutex_);
  listener_.reset();
  if (!path_.empty()) ::unlink(path_.c_str());
}

void FakeMasterSocket::close_all() {
  const std::lock_guard lock(mutex_);
  accept_all();
  peers_.clear();
}

std::size_t FakeMasterSocket::connections() {
  const std::lock_guard lock(mutex_);
  accept_all();
  return peers_.size();
}

void FakeMasterSocket::accept_all() {
  while (true) {
    UniqueFd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!peer) return;
    peers_.push_back(std::move(peer));
  }
}

void FakeEventBus::send(std::string_view tag, std::string_view data) {
  send_bytes(event_frame(tag, data, framing_));
}

void FakeEventBus::send_bytes(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  accept_all();
  std::erase_if(peers_, [&](const UniqueFd& reader) { return !send_all(reader.get(), bytes); });
}

}  // namespace rest_fcgi::test
