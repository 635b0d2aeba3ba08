// SPDX-License-Identifier: MIT
#include "auth/eauth.h"

#include <utility>

#include "auth/digest.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::auth {
namespace {

/// Salt's `auto`: whoever says a name has it. For tests. Thread-safe.
class AutoEauth final : public Eauth {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "auto"; }
  [[nodiscard]] Result<Verdict> verify(const Login&) const override { return Verdict{true}; }
};

/// Salt's `sharedsecret`: for a front end that has checked the user by its own means and shows that it is
/// itself. Keeps a keyed digest of the secret, and compares digests, so that not even a length shows.
/// Thread-safe.
class SharedsecretEauth final : public Eauth {
 public:
  SharedsecretEauth(KeyedDigest digest, const Secret& secret)
      : digest_(std::move(digest)), expected_(digest_.of(secret.reveal().text)) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "sharedsecret"; }

  [[nodiscard]] Result<Verdict> verify(const Login& login) const override {
    const auto found = digest_.of(login.password.reveal());
    return Verdict{
        equal_in_constant_time({found.data(), found.size()}, {expected_.data(), expected_.size()})};
  }

 private:
  KeyedDigest digest_;
  KeyedDigest::Value expected_;
};

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

std::unique_ptr<Eauth> make_auto_eauth() {
  return std::make_unique<AutoEauth>();
}

Result<std::unique_ptr<Eauth>> make_sharedsecret_eauth(const Secret& sharedsecret) {
  if (sharedsecret.empty()) {
    return Error{
        ErrorKind::configuration,
        "external_auth: sharedsecret: the setting `sharedsecret` has no value; it is the password that this "
        "back end takes"};
  }
  auto digest = KeyedDigest::make();
  if (!digest) return std::move(digest).error();
  return std::unique_ptr<Eauth>(std::make_unique<SharedsecretEauth>(*std::move(digest), sharedsecret));
}

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
