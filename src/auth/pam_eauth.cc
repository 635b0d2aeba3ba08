// SPDX-License-Identifier: MIT
#include "auth/pam_eauth.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "auth/eauth.h"
#include "rest_fcgi/auth/password_hash_limiter.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/secret.h"

#ifndef REST_FCGI_PAM_HELPER  // the Makefile says where it is installed
#define REST_FCGI_PAM_HELPER "/usr/local/lib/rest_fcgi/rest_fcgi_pam"
#endif

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
Error unreachable() {
  if (errno == EPIPE || errno == ECONNRESET) return ended(ErrorKind::not_found);
  return {ErrorKind::internal, format("the helper cannot be reached: {}", errno_text())};
}

Result<void> wait_for(int socket, short event, SteadyTime deadline) {
  pollfd wanted{socket, event, 0};
  for (;;) {
    const int ready = ::poll(&wanted, 1, milliseconds_until(deadline));
    if (ready > 0) return {};
    if (ready == 0) return Error{ErrorKind::timeout, "the helper did not answer in time"};
    if (errno != EINTR) return unreachable();
  }
}

Result<void> send(int socket, std::string_view bytes, SteadyTime deadline) {
  while (!bytes.empty()) {
    if (auto ready = wait_for(socket, POLLOUT, deadline); !ready) return ready;
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && !is_passing(errno)) return unreachable();
    if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Result<WipedBytes> receive(int socket, std::size_t size, SteadyTime deadline) {
  WipedBytes bytes(size);
  for (std::size_t got = 0; got < size;) {
    if (auto ready = wait_for(socket, POLLIN, deadline); !ready) return std::move(ready).error();
    const ssize_t more = ::recv(socket, bytes.data() + got, size - got, MSG_DONTWAIT);
    if (more == 0) return ended(ErrorKind::internal);
    if (more < 0 && !is_passing(errno)) return unreachable();
    if (more > 0) got += static_cast<std::size_t>(more);
  }
  return bytes;
}

/// Sends a frame and waits for the answer. After an error the helper is good for nothing more. Errors:
/// not_found, where it ended before it had all of the frame; timeout; internal.
Result<pam::Answer> ask_helper(int socket, const WipedBytes& frame, SteadyTime deadline) {
  if (auto sent = send(socket, {frame.data(), frame.size()}, deadline); !sent) return std::move(sent).error();
  const auto header = receive(socket, pam::kHeader, deadline);
  if (!header) return header.error();
  const auto size = pam::body_size({header->data(), header->size()});
  if (!size) return Error{ErrorKind::internal, "the helper's answer is longer than any can be"};
  const auto body = receive(socket, *size, deadline);
  if (!body) return body.error();
  auto answer = pam::read_answer({body->data(), body->size()});
  if (!answer) return Error{ErrorKind::internal, "the helper's answer is none of this version"};
  return *std::move(answer);
}

}  // namespace

Result<pam::Answer> PamPool::ask(const pam::Request& request) {
  const WipedBytes frame = to_frame(request);
  const SteadyTime deadline = std::chrono::steady_clock::now() + options_.timeout;
  std::optional<HelperProcess> helper;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      helper.emplace(std::move(idle_.back()));
      idle_.pop_back();
    }
  }
  // None that is kept is like one that has ended.
  Result<pam::Answer> answer =
      helper ? ask_helper(helper->socket(), frame, deadline) : ended(ErrorKind::not_found);
  // A kept helper may have ended long ago, without a look at this request: then a new one is asked. One
  // that ended after it had read the request may have tried the password, and is not replaced: modules that
  // count failures must see that password once.
  if (!answer && answer.error().kind == ErrorKind::not_found) {
    helper.reset();
    auto started =
        HelperProcess::start(options_.helper, std::chrono::milliseconds(milliseconds_until(deadline)));
    if (!started) return std::move(started).error();
    helper.emplace(*std::move(started));
    answer = ask_helper(helper->socket(), frame, deadline);
  }
  // One that failed may do so for ever: modules leave things behind.
  if (answer && answer->outcome != pam::Outcome::failed) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(*std::move(helper));
  }
  return answer;
}

SteadyTime::duration RefusalTime::of(SteadyTime::duration passed) {
  constexpr std::chrono::milliseconds kStep{250};
  constexpr std::int64_t kMostKept = 16;
  const std::int64_t steps = passed / kStep + 1;
  if (steps > kMostKept) return (steps + kMostKept - 1) / kMostKept * kMostKept * kStep;
  std::int64_t kept = kept_.load();
  while (kept < steps && !kept_.compare_exchange_weak(kept, steps)) {
  }
  return std::max(kept, steps) * kStep;
}

namespace {

constexpr std::chrono::seconds kCheckTimeout{5};
// Nothing tells when an account is locked or a password changed, so PAM is asked again soon.
constexpr std::chrono::seconds kKeep{5};
constexpr std::chrono::seconds kBusyFor{2};
constexpr std::chrono::milliseconds kBusyStep{100};

Error failed(ErrorKind kind, std::string_view cause) {
  log::error(format("external_auth: pam: {}", cause));
  return {kind, "The eauth back end failed; the log has the cause."};
}

/// It failed after it had been asked, so perhaps because of the password.
Error failed_when_asked(std::string_view cause) {
  Error error = failed(ErrorKind::unavailable, cause);
  error.counts_as_guess = true;
  return error;
}

bool fits_on_a_line(std::string_view text) {
  return text.size() <= pam::kMaxField && text.find_first_of(std::string_view("\0\n\r", 3)) == text.npos;
}

/// The back end's parts, shared by its copies.
class PamEauth {
 public:
  explicit PamEauth(const PamOptions& options)
      : options_(options),
        // One address may ask a module that never comes back: not all helpers are for it.
        limiter_({.at_once = options.max_helpers,
                  .of_one = std::max<std::size_t>(options.max_helpers, 2) - 1,
                  .waiting = options.max_waiting}),
        pool_(options) {}

  [[nodiscard]] Result<Verdict> verify(const Login& login) {
    if (!pam::is_username(login.username)) return Verdict{};
    SteadyTime asked;
    Result<Verdict> verdict = ask(login, asked);
    if (verdict && !verdict->good) {
      std::this_thread::sleep_until(asked + refusals_.of(std::chrono::steady_clock::now() - asked));
    }
    return verdict;
  }

 private:
  /// `asked`: when PAM was. Those who wait for their turn, and while too many passwords were wrong, do so
  /// whatever the name is.
  Result<Verdict> ask(const Login& login, SteadyTime& asked) {
    const SteadyTime patience = std::chrono::steady_clock::now() + options_.timeout;
    const auto pass = limiter_.enter(login.remote, 0, std::min(login.deadline, patience));
    if (!pass) return pass.error();
    asked = std::chrono::steady_clock::now();
    const std::string_view remote = fits_on_a_line(login.remote) ? login.remote : std::string_view();
    const pam::Request request{pam::Ask::verify, options_.service, login.username, login.password, remote};
    Result<pam::Answer> answer = pool_.ask(request);
    const SteadyTime give_up = std::min(login.deadline, asked + kBusyFor) - kBusyStep;
    while (answer && answer->outcome == pam::Outcome::busy && std::chrono::steady_clock::now() < give_up) {
      std::this_thread::sleep_for(kBusyStep);
      asked = std::chrono::steady_clock::now();
      answer = pool_.ask(request);
    }
    return verdict_of(std::move(answer));
  }

  [[nodiscard]] Result<Verdict> verdict_of(Result<pam::Answer> answer) const {
    if (!answer) {
      const bool is_ours =
          answer.error().kind == ErrorKind::internal || answer.error().kind == ErrorKind::not_found;
      if (answer.error().kind == ErrorKind::timeout) return failed_when_asked(answer.error().message);
      return failed(is_ours ? ErrorKind::internal : ErrorKind::unavailable, answer.error().message);
    }
    const std::string cause = format("service {}: {}", options_.service, answer->text);
    switch (answer->outcome) {
      case pam::Outcome::good:
        return Verdict{true, std::move(answer->groups), kKeep};
      case pam::Outcome::refused:
        log::info(format("external_auth: pam: {}", cause));
        return Verdict{};
      case pam::Outcome::unavailable:
        return failed_when_asked(cause);
      case pam::Outcome::busy:
        return failed(ErrorKind::unavailable, cause);
      case pam::Outcome::failed:
        break;
    }
    return failed(ErrorKind::internal, cause);
  }

  const PamOptions options_;
  PasswordHashLimiter limiter_;
  PamPool pool_;
  RefusalTime refusals_;
};

/// Why nobody can log in, as the helper itself says it; empty where nothing speaks against it.
std::string why_not(PamOptions options) {
  options.timeout = std::min<std::chrono::milliseconds>(options.timeout, kCheckTimeout);
  const auto answer = PamPool(options).ask({pam::Ask::check, options.service});
  if (!answer) return answer.error().message;
  return answer->outcome == pam::Outcome::good ? std::string() : answer->text;
}

}  // namespace

Result<Eauth> make_pam_eauth(const PamOptions& options) {
  PamOptions chosen = options;
  if (chosen.helper.empty()) chosen.helper = REST_FCGI_PAM_HELPER;
  if (!pam::is_service(chosen.service)) {
    return Error{
        ErrorKind::configuration,
        format("auth.pam.service: found \"{}\", expected the name of a file in /etc/pam.d", chosen.service)};
  }
  // No mistake: what is missing may come later. But whoever starts the service should not have to wait for a
  // login to hear of it.
  if (const std::string cause = why_not(chosen); !cause.empty()) {
    log::warning(format("external_auth: pam: nobody can log in through it: {}", cause));
  }
  return Eauth{"pam", [parts = std::make_shared<PamEauth>(chosen)](const Login& login) {
                 return parts->verify(login);
               }};
}

}  // namespace rest_fcgi::auth
