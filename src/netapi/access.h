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

/// Checks where a request comes from. The checks concern the client's address, the origin of the page, and
/// the token of the session.
namespace rest_fcgi::netapi {

/// Salt's `api_acl`. Immutable; thread-safe.
class Acl {
 public:
  /// Makes the rules of the option `api_acl`. Errors: those of `http::Addresses::make`.
  [[nodiscard]] static Result<Acl> make(const std::optional<ApiAcl>& options);

  /// Checks that the user may send requests from this address. Errors: authentication, with the reason
  /// `api_acl`. Also logs a warning for that error.
  [[nodiscard]] Result<void> check(std::string_view user, std::string_view address) const;

  /// Returns whether this user may send requests from this address.
  [[nodiscard]] bool allows(std::string_view user, std::string_view address) const;

 private:
  bool everybody_ = true;
  std::map<std::string, http::Addresses, std::less<>> users_;
};

/// The token that a request presents.
struct PresentedToken {
  SecretView token;        ///< The token; empty if the request has no token.
  bool is_cookie = false;  ///< Whether the token is from a cookie. Browsers add a cookie also to requests of
                           ///< other pages.
};

/// Returns the token of the header X-Auth-Token. Without that header, returns the token of the cookie
/// `session_id`. Borrows from the Environ.
[[nodiscard]] PresentedToken presented_token(const http::Environ& environ);

/// Returns whether the text consists of hexadecimal digits, as all tokens do.
[[nodiscard]] bool looks_like_token(std::string_view text);

/// The origins of other pages that may use replies (the Fetch standard, "CORS protocol"). Immutable;
/// thread-safe.
class Origins {
 public:
  /// `listed` holds origins, or `*`. If `open` is true, pages of all origins may read replies that need no
  /// cookie. Errors: configuration, for a malformed origin.
  [[nodiscard]] static Result<Origins> make(const std::vector<std::string>& listed, bool open);

  /// Returns whether a page of another origin sent this request and that origin is not listed.
  [[nodiscard]] bool is_foreign(const http::Environ& environ) const;

  /// Adds the CORS headers to the response.
  void add_headers(const http::Environ& environ, http::Response& response) const;

  /// Returns whether pages of all origins may read replies.
  [[nodiscard]] bool allow_all() const noexcept { return open_; }
  /// Returns whether pages of at least one other origin may read replies.
  [[nodiscard]] bool allow_any() const noexcept { return open_ || !listed_.empty(); }
  /// Returns whether the response depends on the header Origin.
  [[nodiscard]] bool differ_by_origin() const noexcept { return !listed_.empty(); }

 private:
  [[nodiscard]] bool lists(std::string_view origin) const;

  bool open_ = false;
  std::vector<std::string> listed_;
};

/// Returns the error for a page of another origin that sent a cookie. See `Origins::is_foreign`.
[[nodiscard]] Error foreign_page_error(const http::Environ& environ);

/// Returns whether the client uses HTTPS, according to the front end.
[[nodiscard]] bool is_encrypted(const http::Environ& environ);

}  // namespace rest_fcgi::netapi
