// SPDX-License-Identifier: MIT
#include "gateway/listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <string_view>
#include <utility>

#include "gateway/tcp_socket.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::gateway {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::string_view kTcp = "tcp:";
constexpr std::string_view kAccepted =
    "accepted are unix:PATH, tcp:HOST:PORT, and fd:0 for a listening socket on file descriptor 0";

Error failure(std::string why) {
  return {ErrorKind::configuration, std::move(why), {}};
}

Error failure(const Options& options, const Error& why) {
  return failure(format("cannot listen on {}: {}", options.listen, why.message));
}

bool is_listening_stream(int fd) {
  int listening = 0;
  int type = 0;
  socklen_t size = sizeof listening;
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 || listening == 0) return false;
  size = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

}  // namespace

Result<UniqueFd> take_inherited_socket(int fd) {
  if (!is_listening_stream(fd)) {
    return failure(format("file descriptor {} is not a listening stream socket", fd));
  }
  UniqueFd taken(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!taken) return failure(errno_text());
  const int flags = ::fcntl(taken.get(), F_GETFL);
  if (flags < 0 || ::fcntl(taken.get(), F_SETFL, flags | O_NONBLOCK) != 0) return failure(errno_text());
  // Children must not inherit it, and nobody should take it for the standard input.
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null || ::dup2(null.get(), fd) < 0) return failure(format("/dev/null: {}", errno_text()));
  return taken;
}

Listener::Listener(Kind kind, UniqueFd fd, SocketFile file)
    : kind_(kind), fd_(std::move(fd)), file_(std::move(file)) {
  // Accepted connections inherit it; a reply is complete when it is written. Unix sockets refuse it and need
  // none.
  set_option(fd_.get(), IPPROTO_TCP, TCP_NODELAY, 1);
}

Result<std::unique_ptr<Listener>> Listener::open(const Options& options) {
  const std::string_view listen = options.listen;
  if (listen.substr(0, kUnix.size()) == kUnix) {
    auto made = open_unix_socket(std::string(listen.substr(kUnix.size())), options);
    if (!made) return failure(options, made.error());
    return std::make_unique<Listener>(Kind::unix_socket, std::move(made->fd), std::move(made->file));
  }
  if (listen.substr(0, kTcp.size()) == kTcp) {
    auto made = open_tcp_socket(listen.substr(kTcp.size()), options.allow_remote);
    if (!made) return failure(options, made.error());
    return std::make_unique<Listener>(Kind::tcp, *std::move(made), SocketFile());
  }
  if (listen.empty() && !is_listening_stream(0)) {
    return failure(
        format("there is nothing to listen on: no --listen, and file descriptor 0 is not a listening "
               "socket; {}",
               kAccepted));
  }
  if (!listen.empty() && listen != "fd:0") {
    return failure(format("cannot listen on '{}'; {}", options.listen, kAccepted));
  }
  auto taken = take_inherited_socket(0);
  if (!taken) return failure(format("cannot listen on fd:0: {}", taken.error().message));
  return std::make_unique<Listener>(Kind::inherited, *std::move(taken), SocketFile());
}

UniqueFd Listener::accept() const noexcept {
  return UniqueFd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
}

std::vector<UniqueFd> Listener::close() {
  closed_ = true;
  file_.remove();
  std::vector<UniqueFd> waiting;
  // Refuses who comes from now on and keeps who waits. On TCP this would reset those, and on an inherited
  // socket it would end the service of everybody who shares it.
  if (kind_ == Kind::unix_socket) ::shutdown(fd_.get(), SHUT_RD);
  if (kind_ != Kind::inherited) {
    while (UniqueFd connection = accept()) waiting.push_back(std::move(connection));
  }
  // Replaced instead of closed: threads may be about to use the number, which must not come to mean another
  // file.
  const UniqueFd nothing(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  ::dup3(nothing.get(), fd_.get(), O_CLOEXEC);
  return waiting;
}

}  // namespace rest_fcgi::gateway
