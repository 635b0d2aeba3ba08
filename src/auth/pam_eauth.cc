// SPDX-License-Identifier: MIT
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "auth/eauth.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/auth/pam_wire.h"
#include "rest_fcgi/auth/password_hash_limiter.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/helper_process.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {
namespace {

Error ended(ErrorKind kind) {
  return {kind, "the helper process ended without an answer"};
}

void bound_next_call(int socket, SteadyTime deadline) {
  const auto left = std::chrono::ceil<std::chrono::microseconds>(deadline - std::chrono::steady_clock::now());
  // The time is at least 1 microsecond, because the value 0 would turn off the socket's timeout.
  const std::int64_t count = std::max<std::int64_t>(left.count(), 1);
  const timeval time{count / 1'000'000, count % 1'000'000};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

template <class Byte, class Call>
Result<void> transfer(int socket, Byte* bytes, std::size_t size, SteadyTime deadline, const Call& call) {
  while (size > 0) {
    bound_next_call(socket, deadline);
    const ssize_t done = call(socket, bytes, size, MSG_NOSIGNAL);
    if (done == 0) return ended(ErrorKind::internal);
    if (done > 0) {
      bytes += done;
      size -= static_cast<std::size_t>(done);
    } else if (errno == EAGAIN) {
      return Error{ErrorKind::timeout, "the helper did not answer in time"};
    } else if (errno == EPIPE || errno == ECONNRESET) {
      // EPIPE and ECONNRESET mean that the helper closed the socket before it read the whole request.
      return ended(ErrorKind::not_found);
    } else if (errno != EINTR) {
      return Error{ErrorKind::internal, format("the helper cannot be reached: {}", errno_text())};
    }
  }
  return {};
}

/// After an error, the helper must not be used again. Errors: not_found, if the helper ended before it read
/// the whole frame; timeout; internal.
Result<pam::Answer> ask_helper(int socket, const WipedBytes& frame, SteadyTime deadline) {
  const auto receive = [&](std::size_t size) -> Result<std::string> {
    std::string bytes(size, '\0');
    auto received = transfer(socket, bytes.data(), size, deadline, ::recv);
    return received ? Result(std::move(bytes)) : std::move(received).error();
  };
  auto sent = transfer(socket, frame.data(), frame.size(), deadline, ::send);
  if (!sent) return std::move(sent).error();
  const auto header = receive(pam::kHeader);
  if (!header) return header.error();
  const auto size = pam::body_size(*header);
  if (!size) return Error{ErrorKind::internal, "the helper's answer is too long"};
  const auto body = receive(*size);
  if (!body) return body.error();
  auto answer = pam::read_answer(*body);
  if (!answer)
    return Error{ErrorKind::internal,
                 "the helper's answer is malformed, or the helper has another version than rest_fcgi"};
  return *std::move(answer);
}

/// A pool of rest_fcgi_pam processes, one for each concurrent request. Starts processes when requests need
/// them, and keeps them. Kills a process that does not answer in time. A PamPool is thread-safe.
class PamPool {
 public:
  explicit PamPool(PamOptions options) : options_(std::move(options)) {}

  /// Sends a request to a helper and waits for the answer, at most `timeout`. Errors: unavailable, if no
  /// helper can be started; timeout; not_found, if a new helper ended before it read the request; internal.
  Result<pam::Answer> ask(const pam::Request& request);

 private:
  const PamOptions options_;
  std::mutex mutex_;
  std::vector<HelperProcess> idle_;  // `mutex_` guards this member.
};

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
  Result<pam::Answer> answer =
      helper ? ask_helper(helper->socket(), frame, deadline) : ended(ErrorKind::not_found);
  // If the first helper did not read the request, asks a new helper. After any other error, does not ask
  // again, because PAM may already have seen the password. PAM modules that count failures must not see a
  // password twice.
  if (!answer && answer.error().kind == ErrorKind::not_found) {
    helper.reset();
    auto started = HelperProcess::start(options_.helper, options_.timeout);
    if (!started) return std::move(started).error();
    helper.emplace(*std::move(started));
    answer = ask_helper(helper->socket(), frame, deadline);
  }
  // Keeps the helper for later requests. After the answer `failed`, the helper's PAM modules may be broken,
  // so the helper is not kept.
  if (answer && answer->outcome != pam::Outcome::failed) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(*std::move(helper));
  }
  return answer;
}

constexpr std::chrono::seconds kCheckTimeout{5};
// How long a good login is remembered. The time is short, because PAM does not report password changes.
constexpr std::chrono::seconds kKeep{5};
constexpr std::chrono::seconds kBusyFor{2};
constexpr std::chrono::milliseconds kBusyStep{100};

Error failed(ErrorKind kind, std::string_view cause, bool counts_as_guess = false) {
  log::error(format("external_auth: pam: {}", cause));
  Error error{kind, "The eauth back end failed; the log has the cause."};
  error.counts_as_guess = counts_as_guess;
  return error;
}

bool fits_on_a_line(std::string_view text) {
  return text.size() <= pam::kMaxField && text.find_first_of(std::string_view("\0\n\r", 3)) == text.npos;
}

class PamEauth {
 public:
  explicit PamEauth(const PamOptions& options)
      : options_(options),
        // Requests from one network can occupy all helpers except one. If PAM hangs for these requests, other
        // networks can still log in.
        limiter_({.at_once = options.max_helpers,
                  .of_one = std::max<std::size_t>(options.max_helpers, 2) - 1,
                  .waiting = options.max_waiting}),
        pool_(options) {}

  Result<Verdict> verify(const Login& login) {
    if (!pam::is_username(login.username)) return Verdict{};
    SteadyTime asked;
    Result<Verdict> verdict = ask(login, asked);
    if (verdict && !verdict->good) refusals_.wait(asked);
    return verdict;
  }

 private:
  /// Sets `asked` to the time at which the helper gets the request. The wait before `asked` does not depend
  /// on the user name, so the caller need not hide its duration.
  Result<Verdict> ask(const Login& login, SteadyTime& asked) {
    const SteadyTime latest = std::chrono::steady_clock::now() + options_.timeout;
    const auto pass = limiter_.enter(login.remote, std::min(login.deadline, latest));
    if (!pass) return pass.error();
    const std::string_view remote = fits_on_a_line(login.remote) ? login.remote : std::string_view();
    const pam::Request request{pam::Ask::verify, options_.service, login.username, login.password, remote};
    asked = std::chrono::steady_clock::now();
    const SteadyTime give_up = std::min(login.deadline, asked + kBusyFor) - kBusyStep;
    Result<pam::Answer> answer = pool_.ask(request);
    while (answer && answer->outcome == pam::Outcome::busy && std::chrono::steady_clock::now() < give_up) {
      std::this_thread::sleep_for(kBusyStep);
      asked = std::chrono::steady_clock::now();
      answer = pool_.ask(request);
    }
    return verdict_of(std::move(answer));
  }

  Result<Verdict> verdict_of(Result<pam::Answer> answer) const {
    if (!answer) {
      const ErrorKind kind = answer.error().kind;
      const bool is_timeout = kind == ErrorKind::timeout;
      const bool is_away = is_timeout || kind == ErrorKind::unavailable;
      return failed(is_away ? ErrorKind::unavailable : ErrorKind::internal, answer.error().message,
                    is_timeout);
    }
    const std::string cause = format("service {}: {}", options_.service, answer->text);
    switch (answer->outcome) {
      case pam::Outcome::good:
        return Verdict{true, std::move(answer->groups), kKeep};
      case pam::Outcome::refused:
        log::info(format("external_auth: pam: {}", cause));
        return Verdict{};
      case pam::Outcome::unavailable:
        return failed(ErrorKind::unavailable, cause, true);
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
  RefusalTime refusals_{std::chrono::milliseconds(250)};
};

/// Returns an empty text if logins with this PAM service can work.
std::string why_unusable(PamOptions options) {
  options.timeout = std::min<std::chrono::milliseconds>(options.timeout, kCheckTimeout);
  const auto answer = PamPool(options).ask({pam::Ask::check, options.service});
  if (!answer) return answer.error().message;
  return answer->outcome == pam::Outcome::good ? std::string() : answer->text;
}

}  // namespace

Result<Eauth> make_pam_eauth(const PamOptions& options) {
  PamOptions chosen = options;
  if (chosen.helper.empty()) chosen.helper = shipped("rest_fcgi_pam");
  if (!pam::is_service(chosen.service)) {
    return Error{
        ErrorKind::configuration,
        format("auth.pam.service: found \"{}\", expected the name of a file in /etc/pam.d", chosen.service)};
  }
  // Only logs a warning, because the administrator may install the missing file or program later.
  if (const std::string cause = why_unusable(chosen); !cause.empty()) {
    log::warning(format("external_auth: pam: no user can log in: {}", cause));
  }
  return Eauth{"pam", [parts = std::make_shared<PamEauth>(chosen)](const Login& login) {
                 return parts->verify(login);
               }};
}

}  // namespace rest_fcgi::auth
