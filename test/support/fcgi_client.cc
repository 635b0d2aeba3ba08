// SPDX-License-Identifier: MIT
#include "fcgi_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace rest_fcgi::test {
namespace {

constexpr std::size_t kMaxContent = 65535;

char byte(std::size_t value) {
  return static_cast<char>(static_cast<unsigned char>(value & 0xFF));
}

std::size_t at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

std::string length(std::size_t size) {
  if (size < 128) return {byte(size)};
  return {byte((size >> 24) | 0x80), byte(size >> 16), byte(size >> 8), byte(size)};
}

std::string stream(int type, std::string_view content, int id) {
  std::string out;
  while (!content.empty()) {
    const std::size_t size = std::min(content.size(), kMaxContent);
    out += record(type, content.substr(0, size), id);
    content.remove_prefix(size);
  }
  return out + record(type, {}, id);
}

int connected_socket(int family, const void* address, socklen_t size) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience = {20, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (::connect(fd, static_cast<const sockaddr*>(address), size) == 0) return fd;
  ::close(fd);
  return -1;
}

}  // namespace

int FcgiReply::status() const {
  return std::atoi(header("Status").c_str());
}

std::string FcgiReply::header(std::string_view name) const {
  const std::string text = "\r\n" + head + "\r\n";
  const std::string start = "\r\n" + std::string(name) + ": ";
  const std::size_t found = text.find(start);
  if (found == std::string::npos) return {};
  const std::size_t value = found + start.size();
  return text.substr(value, text.find("\r\n", value) - value);
}

std::string record(int type, std::string_view content, int id) {
  const auto number = static_cast<std::size_t>(id);
  std::string out = {1,
                     byte(static_cast<std::size_t>(type)),
                     byte(number >> 8),
                     byte(number),
                     byte(content.size() >> 8),
                     byte(content.size()),
                     0,
                     0};
  return out.append(content);
}

std::string begin_request(bool keep, int role, int id) {
  const std::array<char, 8> body = {0, byte(static_cast<std::size_t>(role)), byte(keep ? 1 : 0)};
  return record(kBeginRequest, {body.data(), body.size()}, id);
}

std::string name_values(const Variables& variables) {
  std::string out;
  for (const auto& [name, value] : variables) {
    out.append(length(name.size())).append(length(value.size())).append(name).append(value);
  }
  return out;
}

std::string params(const Variables& variables, int id) {
  return stream(kParams, name_values(variables), id);
}

std::string stdin_stream(std::string_view body, int id) {
  return stream(kStdin, body, id);
}

std::string post(std::string_view body, const Variables& more, bool keep) {
  Variables variables = {{"REQUEST_METHOD", "POST"},
                         {"PATH_INFO", "/"},
                         {"CONTENT_TYPE", "application/json"},
                         {"CONTENT_LENGTH", std::to_string(body.size())}};
  variables.insert(variables.end(), more.begin(), more.end());
  return begin_request(keep) + params(variables) + stdin_stream(body);
}

FcgiClient::FcgiClient(int fd) : fd_(fd) {}

FcgiClient FcgiClient::unix_socket(const std::string& path) {
  sockaddr_un address = {AF_UNIX, {}};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return FcgiClient(connected_socket(AF_UNIX, &address, sizeof address));
}

FcgiClient FcgiClient::tcp(int port, const std::string& host) {
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<in_port_t>(port));
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    return FcgiClient(connected_socket(AF_INET, &v4, sizeof v4));
  }
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = v4.sin_port;
  ::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr);
  return FcgiClient(connected_socket(AF_INET6, &v6, sizeof v6));
}

bool FcgiClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string FcgiClient::read_some(std::size_t size) {
  std::string out(size, '\0');
  const ssize_t got = ::recv(fd_, out.data(), out.size(), 0);
  out.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return out;
}

bool FcgiClient::read_exactly(std::string& out, std::size_t size) {
  out.clear();
  while (out.size() < size) {
    const std::string some = read_some(size - out.size());
    if (some.empty()) return false;
    out += some;
  }
  return true;
}

FcgiReply FcgiClient::reply() {
  FcgiReply reply;
  std::string text;
  std::string header;
  std::string content;
  while (!reply.ended && !reply.closed) {
    reply.closed = !read_exactly(header, 8) ||
                   !read_exactly(content, (at(header, 4) << 8) + at(header, 5) + at(header, 6));
    if (reply.closed) break;
    content.resize(content.size() - at(header, 6));
    if (at(header, 1) == kStdout) text += content;
    reply.ended = at(header, 1) == kEndRequest;
  }
  const std::size_t blank = text.find("\r\n\r\n");
  reply.head = text.substr(0, blank);
  if (blank != std::string::npos) reply.body = text.substr(blank + 4);
  return reply;
}

FcgiReply FcgiClient::request(std::string_view bytes) {
  send(bytes);
  return reply();
}

bool FcgiClient::closed_within(std::chrono::milliseconds time) {
  const auto deadline = std::chrono::steady_clock::now() + time;
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd event = {fd_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&event, 1, static_cast<int>(left.count())) == 0) return false;
    if (read_some(4096).empty()) return true;
  }
}

void FcgiClient::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

}  // namespace rest_fcgi::test
