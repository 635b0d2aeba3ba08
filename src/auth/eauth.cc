// SPDX-License-Identifier: MIT
#include "auth/eauth.h"

#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::auth {
namespace {

/// None where it is left off.
Result<std::unique_ptr<Eauth>> make_eauth(const EauthOptions& one, const Options& options) {
  if (one.name == "file") return make_file_eauth(one);
  if (one.name == "pam") return make_pam_eauth(options.pam);
  if (one.name == "sharedsecret") return make_sharedsecret_eauth(options.sharedsecret);
  if (one.name == "auto" && options.allow_auto_eauth) return make_auto_eauth();
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
  return std::unique_ptr<Eauth>();
}

}  // namespace

Result<std::vector<std::unique_ptr<Eauth>>> make_eauths(const Options& options) {
  std::vector<std::unique_ptr<Eauth>> eauths;
  for (const EauthOptions& one : options.external_auth) {
    auto eauth = make_eauth(one, options);
    if (!eauth) return std::move(eauth).error();
    if (*eauth != nullptr) eauths.push_back(*std::move(eauth));
  }
  return eauths;
}

}  // namespace rest_fcgi::auth
