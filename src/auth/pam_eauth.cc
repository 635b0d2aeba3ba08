// SPDX-License-Identifier: MIT
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
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
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/waiting.h"

namespace rest_fcgi::auth {
namespace {

struct Answer {
  pam::Outcome outcome = pam::Outcome::failed;
  std::vector<std::string> lines{};  ///< The user's groups, if the outcome is good, and else the reason.
};

Error socket_error() {
  if (errno == EAGAIN) return {ErrorKind::timeout, "the helper did not answer in time"};
  // The helper closed the socket before it read the whole request, so PAM has not seen the password.
  if (errno == EPIPE || errno == ECONNRESET)
    return {ErrorKind::unavailable, "the helper process ended before it read the request"};
  return {ErrorKind::internal, format("the conversation with the helper failed: {}", errno_text())};
}

/// Starts a helper, sends a request and waits for the answer, at most `options.timeout`. Then kills the
/// helper. Errors: unavailable, if no helper can be started or the helper did not read the request; timeout;
/// internal.
Result<Answer> ask_helper(const PamOptions& options, const pam::LoginRequest& request) {
  const std::string bytes =
      format("{}\n{}\n{}\n{}", request.service, request.username, request.remote, request.password.reveal());
  if (bytes.size() > pam::kMaxRequest) return Answer{pam::Outcome::refused, {"the password is too long"}};
  const auto helper = HelperProcess::start(options.helper, options.timeout);
  if (!helper) return helper.error();
  const timeval limit{options.timeout.count() / 1000, options.timeout.count() % 1000 * 1000};
  ::setsockopt(helper->socket(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const ssize_t sent = ::send(helper->socket(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(bytes.size())) return socket_error();
  ::shutdown(helper->socket(), SHUT_WR);
  const auto reply = read_to_end(helper->socket(), pam::kMaxReply);
  if (!reply) return socket_error();
  if (reply->empty()) return Error{ErrorKind::internal, "the helper process ended without an answer"};
  const auto outcome = static_cast<pam::Outcome>(reply->front());
  std::string_view text(reply->data() + 1, reply->size() - 1);
  const bool is_known = outcome == pam::Outcome::good || outcome == pam::Outcome::refused ||
                        outcome == pam::Outcome::failed || outcome == pam::Outcome::unavailable;
  if (!is_known || (!text.empty() && text.back() != '\n')) {
    return Error{ErrorKind::internal,
                 "the helper's answer is malformed, or the helper has another version than rest_fcgi"};
  }
  Answer answer{outcome};
  while (!text.empty()) answer.lines.emplace_back(next_token(text, '\n'));
  return answer;
}

constexpr std::chrono::seconds kCheckTimeout{5};
// How long a good login is remembered. The time is short, because PAM does not report password changes.
constexpr std::chrono::seconds kKeep{5};

Error failed(ErrorKind kind, std::string_view cause, bool counts_as_guess = false) {
  log::error(format("external_auth: pam: {}", cause));
  Error error{kind, "The eauth back end failed; the log has the cause."};
  error.counts_as_guess = counts_as_guess;
  return error;
}

class PamEauth {
 public:
  explicit PamEauth(const PamOptions& options)
      : options_(options),
        // Requests from one network can occupy all helpers except one. If PAM hangs for these requests, other
        // networks can still log in.
        limiter_({.at_once = options.max_helpers,
                  .of_one = std::max<std::size_t>(options.max_helpers, 2) - 1,
                  .waiting = options.max_waiting}) {}

  Result<Verdict> verify(const Login& login) {
    if (!pam::is_username(login.username)) return Verdict{};
    const Waiting waiting;
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
    const bool has_one_line = login.remote.find_first_of(std::string_view("\0\n\r", 3)) == login.remote.npos;
    const std::string_view remote = has_one_line ? login.remote : std::string_view();
    asked = std::chrono::steady_clock::now();
    return verdict_of(ask_helper(options_, {options_.service, login.username, login.password, remote}));
  }

  Result<Verdict> verdict_of(const Result<Answer>& answer) const {
    if (!answer) {
      const bool is_timeout = answer.error().kind == ErrorKind::timeout;
      return failed(is_timeout ? ErrorKind::unavailable : answer.error().kind, answer.error().message,
                    is_timeout);
    }
    if (answer->outcome == pam::Outcome::good) return Verdict{true, answer->lines, kKeep};
    const std::string cause = format("service {}: {}", options_.service, joined(answer->lines));
    if (answer->outcome == pam::Outcome::refused) {
      log::info(format("external_auth: pam: {}", cause));
      return Verdict{};
    }
    const bool is_away = answer->outcome == pam::Outcome::unavailable;
    return failed(is_away ? ErrorKind::unavailable : ErrorKind::internal, cause, is_away);
  }

  const PamOptions options_;
  PasswordHashLimiter limiter_;
  RefusalTime refusals_{std::chrono::milliseconds(250)};
};

}  // namespace

Result<Eauth> make_pam_eauth(const PamOptions& options) {
  PamOptions chosen = options;
  if (chosen.helper.empty()) chosen.helper = shipped("rest_fcgi_pam");
  if (!pam::is_service(chosen.service)) {
    return wrong_setting("auth.pam.service",
                         format("found \"{}\", expected the name of a file in /etc/pam.d", chosen.service));
  }
  PamOptions check = chosen;
  check.timeout = std::min<std::chrono::milliseconds>(check.timeout, kCheckTimeout);
  const auto answer = ask_helper(check, {check.service});
  const std::string cause = answer ? joined(answer->lines) : answer.error().message;
  // Only logs a warning, because the administrator may install the missing file or program later.
  if (!cause.empty()) log::warning(format("external_auth: pam: {}", cause));
  return Eauth{"pam", [parts = std::make_shared<PamEauth>(chosen)](const Login& login) {
                 return parts->verify(login);
               }};
}

}  // namespace rest_fcgi::auth
