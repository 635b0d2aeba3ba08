// SPDX-License-Identifier: MIT
#include <utility>

#include "auth/digest.h"
#include "auth/eauth.h"

namespace rest_fcgi::auth {
namespace {

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

}  // namespace

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

}  // namespace rest_fcgi::auth
