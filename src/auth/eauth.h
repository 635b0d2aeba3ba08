// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// What somebody says to prove who they are. Borrows.
struct Login {
  std::string_view username;
  SecretView password;
  std::string_view remote;  ///< the address that they come from; empty where it is not known
};

/// What a back end says about a login.
struct Verdict {
  bool good = false;
  std::vector<std::string> groups{};  ///< for `group%` in `external_auth`
};

/// One of Salt's external authentication back ends: says whether a password is somebody's. Abstract so that
/// the `Authenticator` knows none of them; `file`, `pam`, `sharedsecret` and `auto` are the real ones.
/// Thread-safe.
class Eauth {
 public:
  virtual ~Eauth() = default;

  /// As it stands in `external_auth`.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// Are they good? Takes as long for a user that does not exist as for a wrong password.
  /// Errors: internal or unavailable, where the back end itself failed; it has then logged the cause.
  [[nodiscard]] virtual Result<Verdict> verify(const Login& login) const = 0;
};

/// Users in a file of their own: text, htpasswd or htdigest. Errors: configuration, naming the setting.
Result<std::unique_ptr<Eauth>> make_file_eauth(const EauthOptions& options);

/// One secret for all users. Errors: configuration, where the secret is not set.
Result<std::unique_ptr<Eauth>> make_sharedsecret_eauth(const Secret& sharedsecret);

/// System users, by way of a helper program; the log says where that cannot work, and why.
/// Errors: configuration, for a service that is no name of one.
Result<std::unique_ptr<Eauth>> make_pam_eauth(const PamOptions& options);

/// Takes any password.
std::unique_ptr<Eauth> make_auto_eauth();

/// Those of `external_auth` that can be on; the log says which ones are left off, and why.
/// Errors: configuration, for a back end that cannot work as it is configured.
Result<std::vector<std::unique_ptr<Eauth>>> make_eauths(const Options& options);

}  // namespace rest_fcgi::auth
