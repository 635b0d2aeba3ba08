// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/http/addresses.h"
#include "rest_fcgi/http/application.h"
#include "rest_fcgi/netapi/options.h"

/// Checks of the client's address, the page's origin and the session's token.
namespace rest_fcgi::netapi {

/// Salt's `api_acl`. Immutable; thread-safe.
class Acl {
 public:
  /// Makes the rules of `api_acl`. Errors: the errors of `http::Addresses::make`.
  static Result<Acl> make(const std::optional<ApiAcl>& options);

  /// Checks that the user may send requests from this address. Logs a refusal. Errors: authentication, with
  /// the reason `api_acl`, if the address is not allowed for the user.
  Result<void> check(std::string_view user, std::string_view address) const;

  [[nodiscard]] bool allows(std::string_view user, std::string_view address) const;

 private:
  bool everybody_ = true;
  std::map<std::string, http::Addresses, std::less<>> users_;
};

struct PresentedToken {
  SecretView token;  ///< `token` is the token. Empty if the request has no token.
  /// `is_cookie` means that the token is from a cookie. Browsers also send a cookie for pages of other
  /// origins.
  bool is_cookie = false;
};

/// Returns the token of X-Auth-Token or of the cookie `session_id`. Borrows from the Environ.
[[nodiscard]] PresentedToken presented_token(const http::Environ& environ);

[[nodiscard]] bool looks_like_token(std::string_view text);

/// The origins whose pages may read replies (Fetch standard, "CORS protocol"). Immutable; thread-safe.
class Origins {
 public:
  /// `listed` has origins or `*`. If `open` is true, pages of all origins may read replies that need no
  /// cookie. Errors: configuration, for a malformed origin.
  static Result<Origins> make(const std::vector<std::string>& listed, bool open);

  /// Returns whether the request came from a page of another origin that is not listed.
  [[nodiscard]] bool is_foreign(const http::Environ& environ) const;

  void add_headers(const http::Environ& environ, http::Response& response) const;

  [[nodiscard]] bool allow_all() const noexcept { return open_; }
  [[nodiscard]] bool allow_any() const noexcept { return open_ || !listed_.empty(); }
  [[nodiscard]] bool differ_by_origin() const noexcept { return !listed_.empty(); }

 private:
  [[nodiscard]] bool lists(std::string_view origin) const;

  bool open_ = false;
  std::vector<std::string> listed_;
};

/// Returns the error for a request with a cookie from a page of another origin.
[[nodiscard]] Error foreign_page_error(const http::Environ& environ);

/// Returns whether the front end says that the client uses HTTPS.
[[nodiscard]] bool is_encrypted(const http::Environ& environ);

}  // namespace rest_fcgi::netapi
