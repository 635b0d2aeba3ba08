// SPDX-License-Identifier: MIT
#include "netapi/access.h"

#include <algorithm>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::netapi {
namespace {

using http::Environ;

std::string_view cookie_of(std::string_view header) {
  constexpr std::string_view kName = "session_id=";
  while (!header.empty()) {
    std::string_view one = trimmed(next_token(header, ';'));
    if (!one.starts_with(kName)) continue;
    one.remove_prefix(kName.size());
    if (one.size() >= 2 && one.front() == '"' && one.back() == '"') one = one.substr(1, one.size() - 2);
    return one;
  }
  return {};
}

constexpr std::string_view kBehindScheme = "://";

/// Returns an empty text for a malformed origin.
std::string_view host_of(std::string_view origin) {
  const std::size_t scheme = origin.find(kBehindScheme);
  if (scheme == 0 || scheme == std::string_view::npos) return {};
  const std::string_view host = origin.substr(scheme + kBehindScheme.size());
  return host.find_first_of("/?# \t") == std::string_view::npos ? host : std::string_view();
}

/// Returns the scheme of the client's URL, or an empty text if the scheme is unknown. Behind a proxy that
/// uses plain HTTP, the scheme is unknown, because the client may use HTTPS. A hostile page cannot add a
/// proxy's header to its request, because the browser asks the server before it sends one (CORS preflight).
std::string_view scheme_of(const Environ& environ) {
  if (is_encrypted(environ)) return "https";
  for (const char* const name : {"HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_REAL_IP"}) {
    if (!environ.get(name).empty()) return {};
  }
  return environ.get("REQUEST_SCHEME") == "http" ? "http" : "";
}

/// Returns the scheme of the page with this origin. The Python package ws4py sends an origin with `ws` or
/// `wss` instead, which is the scheme of the WebSocket's URL.
std::string_view page_scheme_of(std::string_view origin) {
  const std::string_view scheme = origin.substr(0, origin.find(kBehindScheme));
  if (scheme == "ws") return "http";
  return scheme == "wss" ? "https" : scheme;
}

/// Returns whether the client sent the request to `host`. A web server such as Apache that replaces the
/// header Host adds the client's Host to X-Forwarded-Host. Each web server on the way adds one. As with the
/// headers of `scheme_of`, a hostile page cannot send X-Forwarded-Host.
bool is_own_host(std::string_view host, const Environ& environ) {
  if (host == environ.get("HTTP_HOST")) return true;
  std::string_view hosts = environ.get("HTTP_X_FORWARDED_HOST");
  while (!hosts.empty()) {
    if (trimmed(next_token(hosts, ',')) == host) return true;
  }
  return false;
}

bool is_own(std::string_view origin, const Environ& environ) {
  const std::string_view host = host_of(origin);
  if (host.empty() || !is_own_host(host, environ)) return false;
  const std::string_view scheme = scheme_of(environ);
  return scheme.empty() || page_scheme_of(origin) == scheme;
}

}  // namespace

Result<Acl> Acl::make(const std::optional<ApiAcl>& options) {
  Acl acl;
  if (!options) return acl;
  acl.everybody_ = false;
  for (const auto& [name, texts] : options->users) {
    auto addresses = http::Addresses::make(texts);
    if (!addresses) return std::move(addresses).error();
    acl.users_.insert_or_assign(name, *std::move(addresses));
  }
  return acl;
}

Result<void> Acl::check(std::string_view user, std::string_view address) const {
  if (allows(user, address)) return {};
  log::warning(
      format("api_acl: user {} was refused: found address {}, expected one that api_acl lists for the "
             "user or for '*'",
             quoted_excerpt(user), quoted_excerpt(address)));
  Error refused{ErrorKind::authentication, "Authentication error occurred."};
  refused.reason = "api_acl";
  return refused;
}

bool Acl::allows(std::string_view user, std::string_view address) const {
  if (everybody_) return true;
  auto found = users_.find(user);
  if (found == users_.end()) found = users_.find("*");
  return found != users_.end() && found->second.has(address);
}

PresentedToken presented_token(const Environ& environ) {
  if (const std::string_view header = environ.get("HTTP_X_AUTH_TOKEN"); !header.empty()) {
    return {SecretView(header), false};
  }
  const std::string_view cookie = cookie_of(environ.get("HTTP_COOKIE"));
  return {SecretView(cookie), !cookie.empty()};
}

bool looks_like_token(std::string_view text) {
  constexpr std::size_t kMax = 256;
  return text.size() <= kMax && only_of(text, "0123456789abcdef");
}

Result<Origins> Origins::make(const std::vector<std::string>& listed, bool open) {
  Origins origins;
  origins.open_ = open;
  for (const std::string& origin : listed) {
    if (origin == "*") {
      origins.open_ = true;
    } else if (host_of(origin).empty()) {
      return Error{ErrorKind::configuration,
                   format("found {}, expected an origin such as 'https://gui.example.org' or "
                          "'http://localhost:3000', or '*'",
                          quoted_excerpt(origin))};
    } else {
      origins.listed_.push_back(origin);
    }
  }
  return origins;
}

bool Origins::lists(std::string_view origin) const {
  return std::find(listed_.begin(), listed_.end(), origin) != listed_.end();
}

bool Origins::is_foreign(const Environ& environ) const {
  const std::string_view origin = environ.get("HTTP_ORIGIN");
  if (lists(origin)) return false;
  // Checks Sec-Fetch-Site before Host. The browser sets Sec-Fetch-Site, but a proxy may have replaced Host.
  const std::string_view site = environ.get("HTTP_SEC_FETCH_SITE");
  if (site == "same-origin") return false;
  if (site == "cross-site") return true;
  return !origin.empty() && !is_own(origin, environ);
}

Error foreign_page_error(const Environ& environ) {
  const std::string_view origin = environ.get("HTTP_ORIGIN");
  const std::string_view scheme = scheme_of(environ);
  const std::string own =
      format("{}{}{}", scheme, scheme.empty() ? "" : kBehindScheme, environ.get("HTTP_HOST"));
  const std::string found =
      origin.empty() ? std::string("'Sec-Fetch-Site: cross-site'") : quoted_excerpt(origin);
  return {
      ErrorKind::forbidden,
      format(
          "A page of another origin sent the cookie of a session: found {}, expected {}. If this is the "
          "server's own page, the proxy in front has to pass on the header Host as the client sent it, "
          "with the public port (nginx: proxy_set_header Host $http_host; Apache: ProxyPreserveHost On), and "
          "to "
          "set X-Forwarded-Proto. A web server of yours that sends X-Forwarded-Host in place of it has to be "
          "in rest_fcgi: trusted_proxies. If pages of that other origin may use the cookie, name it in the "
          "option "
          "cors_origin.",
          found, quoted_excerpt(own))};
}

void Origins::add_headers(const Environ& environ, http::Response& response) const {
  auto& headers = response.headers;
  const std::string_view origin = environ.get("HTTP_ORIGIN");
  if (!origin.empty() && lists(origin)) {
    headers.emplace_back("Access-Control-Allow-Origin", origin);
    headers.emplace_back("Access-Control-Allow-Credentials", "true");
  } else if (open_) {
    headers.emplace_back("Access-Control-Allow-Origin", "*");
  } else {
    return;
  }
  headers.emplace_back("Access-Control-Expose-Headers", "Idempotency-Replayed, X-Auth-Token");
}

bool is_encrypted(const Environ& environ) {
  const std::string_view https = environ.get("HTTPS");
  return (!https.empty() && https != "off") || environ.get("REQUEST_SCHEME") == "https";
}

}  // namespace rest_fcgi::netapi
