// SPDX-License-Identifier: MIT
#include "gateway/request.h"

#include <fastcgi.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <utility>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::gateway {
namespace {

int init_keeping_handlers() {
  constexpr std::array kReplaced = {SIGPIPE, SIGUSR1, SIGTERM};
  std::array<struct sigaction, kReplaced.size()> ours = {};
  for (std::size_t i = 0; i < kReplaced.size(); ++i) ::sigaction(kReplaced[i], nullptr, &ours[i]);
  const int error = FCGX_Init();
  for (std::size_t i = 0; i < kReplaced.size(); ++i) ::sigaction(kReplaced[i], &ours[i], nullptr);
  return error;
}

/// Does `Incoming` refuse what libfcgi would not even read?
Result<void> check_reads() {
  std::array<int, 2> ends = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error{ErrorKind::internal, format("socketpair: {}", errno_text()), {}};
  }
  Request probe{UniqueFd(ends[0]), std::chrono::milliseconds(0)};
  const UniqueFd peer(ends[1]);
  constexpr std::array<char, 8> kNoHeader = {};
  static_cast<void>(::send(peer.get(), kNoHeader.data(), kNoHeader.size(), MSG_NOSIGNAL));
  probe.receive();
  if (!probe.problem().empty()) return {};
  return Error{
      ErrorKind::internal,
      "libfcgi does not read through this program's OS_Read, which guards it: a libfcgi that was linked "
      "without -Bsymbolic and -Bsymbolic-functions is needed",
      {}};
}

}  // namespace

Result<void> init_libfcgi() {
  static const int error = init_keeping_handlers();
  if (error != 0) return Error{ErrorKind::internal, format("libfcgi does not start: error {}", error), {}};
  return check_reads();
}

Request::Request(UniqueFd connection, std::chrono::milliseconds receive_timeout)
    : connection_(std::move(connection)), incoming_(connection_.get(), receive_timeout) {}

Request::~Request() {
  FCGX_Free(&libfcgi_, 0);
}

bool Request::receive() {
  FCGX_Free(&libfcgi_, 0);
  // No listening socket: where libfcgi gives a connection up and wants to accept another one, it fails.
  FCGX_InitRequest(&libfcgi_, -1, 0);
  libfcgi_.ipcFd = connection_.get();
  libfcgi_.keepConnection = 1;  // else FCGX_Accept_r closes the connection first
  libfcgi_.detached = 1;        // where libfcgi closes it, it does not wait for the peer
  incoming_.begin_request();
  if (FCGX_Accept_r(&libfcgi_) != 0) {
    connection_.release();  // closed by libfcgi
    return false;
  }
  keeps_connection_ = libfcgi_.keepConnection != 0;
  // libfcgi takes a connection that breaks between two variables for their end.
  return FCGX_GetError(libfcgi_.in) == 0 && libfcgi_.role == FCGI_RESPONDER;
}

void Request::copy_variables(http::Environ& environ) const {
  for (char** variable = libfcgi_.envp; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = text.find('=');
    // A name with a NUL byte inside has no equals sign either.
    if (equals == 0 || equals == std::string_view::npos) continue;
    environ.set(text.substr(0, equals), text.substr(equals + 1));
  }
}

bool Request::failed_to_write() {
  // libfcgi would send the rest again in FCGX_FClose and wait for another send time-out.
  const int error = FCGX_GetError(libfcgi_.out);
  write_error_ = error > 0 ? error : EPIPE;
  return false;
}

bool Request::write(std::string_view text) {
  while (!text.empty() && write_error_ == 0) {
    const std::size_t size = std::min<std::size_t>(text.size(), std::numeric_limits<int>::max());
    if (FCGX_PutStr(text.data(), static_cast<int>(size), libfcgi_.out) < 0) return failed_to_write();
    text.remove_prefix(size);
  }
  return write_error_ == 0;
}

bool Request::finish() {
  if (write_error_ != 0) return false;
  // In this order both streams' ends go out in one write.
  if (FCGX_FClose(libfcgi_.err) != 0 || FCGX_FClose(libfcgi_.out) != 0) return failed_to_write();
  return true;
}

}  // namespace rest_fcgi::gateway
