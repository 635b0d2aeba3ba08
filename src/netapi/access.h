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

/// From where a request may come: addresses, web pages, and which of its headers has the session.
namespace rest_fcgi::netapi {

/// Salt's `api_acl`. Immutable; thread-safe.
class Acl {
 public:
  /// Errors: those of `http::Addresses::make`.
  [[nodiscard]] static Result<Acl> make(const std::optional<ApiAcl>& options);

  /// Checks that this user may come from there. Errors: authentication, with the reason `api_acl`; the log
  /// gets one line.
  [[nodiscard]] Result<void> check(std::string_view user, std::string_view address) const;

  /// Returns whether this user may come from there.
  [[nodiscard]] bool allows(std::string_view user, std::string_view address) const;

 private:
  bool everybody_ = true;
  std::map<std::string, http::Addresses, std::less<>> users_;
};

/// What a request has to show for its session.
struct Presented {
  SecretView token;         ///< empty: nothing
  bool by_browser = false;  ///< it came in a cookie, which browsers send wherever a page asks them to
};

/// X-Auth-Token, else the cookie `session_id`. Borrows the Environ.
[[nodiscard]] Presented presented(const http::Environ& environ);

/// Could it be a token: hexadecimal digits?
[[nodiscard]] bool looks_like_token(std::string_view text);

/// Which pages of others may use what is answered (the Fetch standard, "CORS protocol"). Immutable;
/// thread-safe.
class Origins {
 public:
  /// `listed`: origins, or `*`. `open`: who is not listed may read what needs no cookie. Errors:
  /// configuration, for what is no origin.
  [[nodiscard]] static Result<Origins> make(const std::vector<std::string>& listed, bool open);

  /// Does a page of another origin, which is not listed, ask for this? An origin is scheme, host and port.
  [[nodiscard]] bool is_foreign(const http::Environ& environ) const;

  /// Adds the headers that say who may read the response.
  void add_headers(const http::Environ& environ, http::Response& response) const;

  /// May anybody's page come?
  [[nodiscard]] bool are_open() const noexcept { return open_; }
  /// Would some page of others be let in?
  [[nodiscard]] bool are_on() const noexcept { return open_ || !listed_.empty(); }
  /// Does the answer depend on the request's Origin?
  [[nodiscard]] bool vary() const noexcept { return !listed_.empty(); }

 private:
  [[nodiscard]] bool lists(std::string_view origin) const;

  bool open_ = false;
  std::vector<std::string> listed_;
};

/// The refusal of a page for which `Origins::is_foreign` is true and which sent a cookie.
[[nodiscard]] Error foreign_page(const http::Environ& environ);

/// Did the client come by HTTPS, as the front end says?
[[nodiscard]] bool is_encrypted(const http::Environ& environ);

}  // namespace rest_fcgi::netapi
