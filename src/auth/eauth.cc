// SPDX-License-Identifier: MIT
#include "auth/eauth.h"

#include <memory>
#include <optional>
#include <utility>

#include "auth/digest.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::auth {
namespace {

/// None where it is left off.
Result<std::optional<Eauth>> make_eauth(const EauthOptions& one, const Options& options,
                                        const std::shared_ptr<PasswordHashLimiter>& limiter) {
  const auto on = [](Result<Eauth> made) -> Result<std::optional<Eauth>> {
    if (!made) return std::move(made).error();
    return std::optional(*std::move(made));
  };
  if (one.name == "file") return on(make_file_eauth(one, limiter));
  if (one.name == "pam") return on(make_pam_eauth(options.pam));
  if (one.name == "sharedsecret") return on(make_sharedsecret_eauth(options.sharedsecret));
  if (one.name == "auto" && options.allow_auto_eauth) return on(make_auto_eauth());
  if (one.name == "auto") {
    log::warning(
        "external_auth: auto: left off, since it takes any password; `rest_fcgi: allow_auto_eauth: true` "
        "turns it "
        "on");
  } else {
    log::warning(
        format("external_auth: {}: left off, since it is not there yet; file, pam, sharedsecret and auto are",
               one.name));
  }
  return std::optional<Eauth>();
}

}  // namespace

Eauth make_auto_eauth() {
  return {"auto", [](const Login&) -> Result<Verdict> { return Verdict{true}; }};
}

Result<Eauth> make_sharedsecret_eauth(const Secret& sharedsecret) {
  if (sharedsecret.empty()) {
    return Error{
        ErrorKind::configuration,
        "external_auth: sharedsecret: the setting `sharedsecret` has no value; it is the password that this "
        "back end takes"};
  }
  auto made = KeyedDigest::make();
  if (!made) return std::move(made).error();
  // What is kept and compared are digests, so that not even a length shows.
  const auto digest = std::make_shared<const KeyedDigest>(*std::move(made));
  const auto verify = [digest,
                       kept = digest->of(sharedsecret.reveal().text)](const Login& login) -> Result<Verdict> {
    const auto found = digest->of(login.password.reveal());
    return Verdict{equal_in_constant_time({found.data(), found.size()}, {kept.data(), kept.size()})};
  };
  return Eauth{"sharedsecret", verify};
}

Result<std::vector<Eauth>> make_eauths(const Options& options,
                                       const std::shared_ptr<PasswordHashLimiter>& limiter) {
  std::vector<Eauth> eauths;
  for (const EauthOptions& one : options.external_auth) {
    auto eauth = make_eauth(one, options, limiter);
    if (!eauth) return std::move(eauth).error();
    if (eauth->has_value()) eauths.push_back(**std::move(eauth));
  }
  return eauths;
}

}  // namespace rest_fcgi::auth
