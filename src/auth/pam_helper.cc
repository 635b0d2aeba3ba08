// SPDX-License-Identifier: MIT
#include "auth/pam_helper.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "rest_fcgi/core/format.h"

// What is said to a helper that stands.

namespace rest_fcgi::auth {
namespace {

int milliseconds_until(SteadyTime deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3600 * 1000));
}

bool is_passing(int error) {
  return error == EINTR || error == EAGAIN;
}

Error ended(ErrorKind kind) {
  return {kind, "the helper has ended"};
}

/// A socket whose other end goes with bytes unread is reset; where all was read it just comes to its end.
Error failed() {
  if (errno == EPIPE || errno == ECONNRESET) return ended(ErrorKind::not_found);
  return {ErrorKind::internal, format("the helper cannot be reached: {}", errno_text())};
}

}  // namespace

Result<void> PamHelper::wait_for(short event, SteadyTime deadline) const {
  pollfd wanted{socket_.get(), event, 0};
  for (;;) {
    const int ready = ::poll(&wanted, 1, milliseconds_until(deadline));
    if (ready > 0) return {};
    if (ready == 0) return Error{ErrorKind::timeout, "the helper did not answer in time"};
    if (errno != EINTR) return failed();
  }
}

Result<void> PamHelper::send(std::string_view bytes, SteadyTime deadline) const {
  while (!bytes.empty()) {
    if (auto ready = wait_for(POLLOUT, deadline); !ready) return ready;
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && !is_passing(errno)) return failed();
    if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Result<WipedBytes> PamHelper::receive(std::size_t size, SteadyTime deadline) const {
  WipedBytes bytes(size);
  for (std::size_t got = 0; got < size;) {
    if (auto ready = wait_for(POLLIN, deadline); !ready) return std::move(ready).error();
    const ssize_t more = ::recv(socket_.get(), bytes.data() + got, size - got, MSG_DONTWAIT);
    if (more == 0) return ended(ErrorKind::internal);
    if (more < 0 && !is_passing(errno)) return failed();
    if (more > 0) got += static_cast<std::size_t>(more);
  }
  return bytes;
}

Result<pam::Answer> PamHelper::ask(const WipedBytes& frame, SteadyTime deadline) {
  if (auto sent = send({frame.data(), frame.size()}, deadline); !sent) return std::move(sent).error();
  const auto header = receive(pam::kHeader, deadline);
  if (!header) return header.error();
  const auto size = pam::body_size({header->data(), header->size()});
  if (!size) return Error{ErrorKind::internal, "the helper's answer is longer than any can be"};
  const auto body = receive(*size, deadline);
  if (!body) return body.error();
  auto answer = pam::read_answer({body->data(), body->size()});
  if (!answer) return Error{ErrorKind::internal, "the helper's answer is none of this version"};
  return *std::move(answer);
}

}  // namespace rest_fcgi::auth
