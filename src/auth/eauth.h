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

/// One of Salt's external authentication back ends: says whether a password is somebody's. Abstract so that
/// the `Authenticator` knows none of them; `file`, `sharedsecret` and `auto` are the real ones. Thread-safe.
class Eauth {
 public:
  virtual ~Eauth() = default;

  /// As it stands in `external_auth`.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// Are they good? Takes as long for a user that does not exist as for a wrong password.
  /// Errors: internal, where the back end itself failed; it has then logged the cause.
  [[nodiscard]] virtual Result<bool> verify(std::string_view username, SecretView password) const = 0;

  /// The groups that somebody is in, for `group%` in `external_auth`.
  [[nodiscard]] virtual std::vector<std::string> groups(std::string_view username) const = 0;
};

/// Users in a file of their own: text, htpasswd or htdigest. Errors: configuration, naming the setting.
Result<std::unique_ptr<Eauth>> make_file_eauth(const EauthOptions& options);

/// One secret for all users. Errors: configuration, where the secret is not set.
Result<std::unique_ptr<Eauth>> make_sharedsecret_eauth(const Secret& sharedsecret);

/// Takes any password.
std::unique_ptr<Eauth> make_auto_eauth();

/// Those of `external_auth` that can be on; the log says which ones are left off, and why.
/// Errors: configuration, for a back end that cannot work as it is configured.
Result<std::vector<std::unique_ptr<Eauth>>> make_eauths(const Options& options);

}  // namespace rest_fcgi::auth
