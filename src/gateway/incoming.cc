// SPDX-License-Identifier: MIT
#include "gateway/incoming.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "gateway/sys.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::gateway {
namespace {

using std::chrono::milliseconds;

thread_local Incoming* reads_of_this_thread = nullptr;

// The text for a late body says so.
static_assert(Incoming::kBodyRate == 4096);

}  // namespace

Incoming::Incoming(int connection, milliseconds receive_timeout, const Clock& clock) noexcept
    : connection_(connection),
      receive_timeout_(receive_timeout),
      clock_(clock),
      outer_(reads_of_this_thread) {
  reads_of_this_thread = this;
}

Incoming::~Incoming() {
  reads_of_this_thread = outer_;
}

Incoming* Incoming::of_this_thread() noexcept {
  return reads_of_this_thread;
}

void Incoming::begin_request() noexcept {
  filter_ = RecordFilter();
  begun_.reset();
  body_begun_.reset();
  late_ = false;
}

std::string Incoming::problem() const {
  if (!late_) return filter_.problem();
  return body_begun_ ? "a body has to come within receive_timeout and a second for each 4096 bytes"
                     : "the variables of a request have to come within receive_timeout";
}

/// When the request, as far as it came, is late. None: nothing of it came.
std::optional<SteadyTime> Incoming::deadline() const noexcept {
  if (!body_begun_) return begun_ ? std::optional(*begun_ + receive_timeout_) : std::nullopt;
  const std::chrono::seconds earned(filter_.body_size() / kBodyRate);
  return *body_begun_ + receive_timeout_ + earned;
}

int Incoming::read(char* buffer, std::size_t size) noexcept {
  std::optional<SteadyTime> until;
  for (;;) {
    // Most often all is there: one system call, and no look at the clock.
    const ssize_t got = ::recv(connection_, buffer, size, MSG_DONTWAIT);
    if (got > 0) {
      const auto came = static_cast<std::size_t>(got);
      if (accept({buffer, came})) return static_cast<int>(got);
      wipe(buffer, came);  // libfcgi's buffer, and a body may have come; errno stays
      return -1;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) return static_cast<int>(got);
    if (!until) {
      until = clock_.steady() + receive_timeout_;
      if (const auto late = deadline()) until = std::min(*until, *late);
    }
    if (!await_bytes(*until)) {
      give_up();
      return -1;
    }
  }
}

/// False: it is `until`, and nothing came.
bool Incoming::await_bytes(SteadyTime until) const noexcept {
  const auto left = std::chrono::ceil<milliseconds>(until - clock_.steady());
  if (left <= milliseconds(0)) return false;
  pollfd event = {connection_, POLLIN, 0};
  ::poll(&event, 1, poll_timeout(left));
  return true;
}

void Incoming::give_up() noexcept {
  late_ = begun_.has_value();  // a connection that was opened for later is no misdeed
  errno = ETIMEDOUT;
}

/// False: libfcgi must not have `bytes`; errno says why.
bool Incoming::accept(std::string_view bytes) noexcept {
  if (!filter_.pass(bytes)) {
    errno = EPROTO;
    return false;
  }
  if (filter_.stage() == RecordFilter::Stage::complete) return true;
  const SteadyTime now = clock_.steady();
  // Where bytes are always there nobody waits, and yet time goes by.
  if (const auto late = deadline(); late && now > *late) {
    give_up();
    return false;
  }
  if (!begun_) begun_ = now;
  if (!body_begun_ && filter_.stage() == RecordFilter::Stage::body) body_begun_ = now;
  return true;
}

}  // namespace rest_fcgi::gateway
