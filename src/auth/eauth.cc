// SPDX-License-Identifier: MIT
#include "auth/eauth.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "auth/digest.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::auth {
namespace {

std::optional<Result<Eauth>> make_eauth(const EauthOptions& one, const Options& options,
                                        const std::shared_ptr<PasswordHashLimiter>& limiter) {
  if (one.name == "file") return make_file_eauth(one, limiter);
  if (one.name == "pam") return make_pam_eauth(options.pam);
  if (one.name == "sharedsecret") return make_sharedsecret_eauth(options.sharedsecret);
  if (one.name == "auto" && options.allow_auto_eauth) {
    return Eauth{"auto", [](const Login&) -> Result<Verdict> { return Verdict{true}; }};
  }
  const std::string_view why = one.name == "auto"
                                   ? "it accepts any password; `rest_fcgi: allow_auto_eauth: true` enables it"
                                   : "unknown back end, expected file, pam, sharedsecret or auto";
  log::warning(format("external_auth: {}: not enabled: {}", one.name, why));
  return std::nullopt;
}

}  // namespace

SteadyTime::duration RefusalTime::of(SteadyTime::duration passed) {
  constexpr std::int64_t kMostKept = 16;
  const std::int64_t steps = passed / step_ + 1;
  if (steps > kMostKept) return (steps + kMostKept - 1) / kMostKept * kMostKept * step_;
  std::int64_t longest = longest_.load();
  while (longest < steps && !longest_.compare_exchange_weak(longest, steps)) {
  }
  return std::max(longest, steps) * step_;
}

void RefusalTime::wait(SteadyTime begun) {
  std::this_thread::sleep_until(begun + of(std::chrono::steady_clock::now() - begun));
}

Result<Eauth> make_sharedsecret_eauth(const Secret& sharedsecret) {
  if (sharedsecret.empty()) {
    return wrong_setting(
        "external_auth: sharedsecret",
        "found no key `sharedsecret` at the top level, expected the password of this back end");
  }
  // Compares digests of the same size, so that the time does not show the length of the secret.
  const auto digest = std::make_shared<const KeyedDigest>();
  const auto verify =
      [digest, expected = digest->of({sharedsecret.reveal().text})](const Login& login) -> Result<Verdict> {
    const auto found = digest->of({login.password.reveal()});
    return Verdict{equal_in_constant_time({found.data(), found.size()}, {expected.data(), expected.size()})};
  };
  return Eauth{"sharedsecret", verify};
}

Result<std::vector<Eauth>> make_eauths(const Options& options,
                                       const std::shared_ptr<PasswordHashLimiter>& limiter) {
  std::vector<Eauth> eauths;
  for (const EauthOptions& one : options.external_auth) {
    auto eauth = make_eauth(one, options, limiter);
    if (!eauth) continue;
    if (!*eauth) return std::move(*eauth).error();
    eauths.push_back(**std::move(eauth));
  }
  return eauths;
}

}  // namespace rest_fcgi::auth
