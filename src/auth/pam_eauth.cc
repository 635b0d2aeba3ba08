// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "auth/eauth.h"
#include "auth/pam_pool.h"
#include "rest_fcgi/auth/pam_wire.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

#ifndef REST_FCGI_PAM_HELPER  // the Makefile says where it is installed
#define REST_FCGI_PAM_HELPER "/usr/local/lib/rest_fcgi/rest_fcgi_pam"
#endif

namespace rest_fcgi::auth {
namespace {

constexpr std::chrono::seconds kCheckTimeout{5};

Error failed(ErrorKind kind, std::string_view cause) {
  log::error(format("external_auth: pam: {}", cause));
  return {kind, "The eauth back end failed; the log has the cause."};
}

bool fits_on_a_line(std::string_view text) {
  return text.size() <= pam::kMaxField && text.find_first_of(std::string_view("\0\n\r", 3)) == text.npos;
}

Result<Verdict> ask_pam(PamPool& pool, const std::string& service, const Login& login) {
  if (!pam::is_username(login.username)) return Verdict{};
  const std::string_view remote = fits_on_a_line(login.remote) ? login.remote : std::string_view();
  Result<pam::Answer> answer = pool.ask({pam::Ask::verify, service, login.username, login.password, remote});
  if (!answer) {
    const bool is_ours =
        answer.error().kind == ErrorKind::internal || answer.error().kind == ErrorKind::not_found;
    return failed(is_ours ? ErrorKind::internal : ErrorKind::unavailable, answer.error().message);
  }
  switch (answer->outcome) {
    case pam::Outcome::good:
      return Verdict{true, std::move(answer->groups)};
    case pam::Outcome::refused:
      log::info(format("external_auth: pam: service {}: {}", service, answer->text));
      return Verdict{};
    case pam::Outcome::unavailable:
      return failed(ErrorKind::unavailable, format("service {}: {}", service, answer->text));
    case pam::Outcome::failed:
      break;
  }
  return failed(ErrorKind::internal, format("service {}: {}", service, answer->text));
}

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
  const auto pool = std::make_shared<PamPool>(chosen);
  return Eauth{
      "pam", [pool, service = chosen.service](const Login& login) { return ask_pam(*pool, service, login); }};
}

}  // namespace rest_fcgi::auth
