// SPDX-License-Identifier: MIT
#include "netapi/access.h"

#include <algorithm>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::netapi {
namespace {

using http::Environ;

/// The value of the cookie `session_id`.
std::string_view cookie_of(std::string_view header) {
  constexpr std::string_view kName = "session_id=";
  while (!header.empty()) {
    std::string_view one = trimmed(take_part(header, ';'));
    if (!one.starts_with(kName)) continue;
    one.remove_prefix(kName.size());
    if (one.size() >= 2 && one.front() == '"' && one.back() == '"') one = one.substr(1, one.size() - 2);
    return one;
  }
  return {};
}

/// Host and port of an origin; empty where it is none.
std::string_view host_of(std::string_view origin) {
  const std::size_t scheme = origin.find("://");
  if (scheme == 0 || scheme == std::string_view::npos) return {};
  const std::string_view host = origin.substr(scheme + 3);
  return host.find_first_of("/?# \t") == std::string_view::npos ? host : std::string_view();
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

bool Acl::allows(std::string_view user, std::string_view address) const {
  if (everybody_) return true;
  auto found = users_.find(user);
  if (found == users_.end()) found = users_.find("*");
  return found != users_.end() && found->second.has(address);
}

Presented presented(const Environ& environ) {
  if (const std::string_view header = environ.get("HTTP_X_AUTH_TOKEN"); !header.empty()) {
    return {SecretView(header), false};
  }
  const std::string_view cookie = cookie_of(environ.get("HTTP_COOKIE"));
  return {SecretView(cookie), !cookie.empty()};
}

bool looks_like_token(std::string_view text) {
  constexpr std::size_t kMost = 256;
  return text.size() <= kMost && only_of(text, "0123456789abcdef");
}

Result<Origins> Origins::make(const std::vector<std::string>& listed, bool open) {
  Origins origins;
  origins.open_ = open;
  for (const std::string& origin : listed) {
    if (origin == "*") {
      origins.open_ = true;
    } else if (host_of(origin).empty()) {
      return Error{ErrorKind::configuration,
                   format("cors_origin: {} is no origin; accepted are those such as "
                          "'https://gui.example.org' or 'http://localhost:3000', and '*'",
                          quoted(origin))};
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
  // What browsers say themselves, and no page can make them say; a proxy may have put its own name into Host.
  const std::string_view site = environ.get("HTTP_SEC_FETCH_SITE");
  if (site == "same-origin") return false;
  if (site == "cross-site") return true;
  return !origin.empty() && (host_of(origin).empty() || host_of(origin) != environ.get("HTTP_HOST"));
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
  headers.emplace_back("Access-Control-Expose-Headers", "X-Auth-Token");
}

bool is_encrypted(const Environ& environ) {
  const std::string_view https = environ.get("HTTPS");
  return (!https.empty() && https != "off") || environ.get("REQUEST_SCHEME") == "https";
}

}  // namespace rest_fcgi::netapi
