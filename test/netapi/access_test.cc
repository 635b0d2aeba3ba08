// SPDX-License-Identifier: MIT
#include "netapi/access.h"

#include <doctest/doctest.h>

#include "wsgi.h"

using namespace rest_fcgi;
using namespace rest_fcgi::netapi;
using namespace rest_fcgi::test;

namespace {

http::Environ environ_with(const std::vector<std::pair<std::string, std::string>>& variables) {
  http::Environ environ;
  environ.set("HTTP_HOST", "api.example.org");
  for (const auto& [name, value] : variables) environ.set(name, value);
  return environ;
}

bool foreign(const std::vector<std::pair<std::string, std::string>>& variables) {
  const auto origins = Origins::make({"https://gui.example.org"}, true);
  return origins->is_foreign(environ_with(variables));
}

std::string shown(const std::string& name, const std::string& value) {
  return std::string(presented_token(environ_with({{name, value}})).token.reveal());
}

}  // namespace

TEST_CASE("api_acl limits each user to addresses") {
  const auto acl = *Acl::make(ApiAcl{{{"fred", {"192.0.2.0/24"}}, {"ann", {"*"}}, {"*", {"127.0.0.1"}}}});
  CHECK(acl.allows("fred", "192.0.2.9"));
  CHECK_FALSE(acl.allows("fred", "127.0.0.1"));
  CHECK(acl.allows("ann", "203.0.113.1"));
  CHECK(acl.allows("somebody", "127.0.0.1"));
  CHECK_FALSE(acl.allows("somebody", "192.0.2.9"));
  CHECK(Acl::make(std::nullopt)->allows("anybody", "anywhere"));
  CHECK_FALSE(Acl::make(ApiAcl{})->allows("anybody", "127.0.0.1"));
  CHECK_FALSE(Acl::make(ApiAcl{{{"fred", {"x"}}}}));
}

TEST_CASE("the token comes from X-Auth-Token, otherwise from the cookie, and is hexadecimal") {
  CHECK(shown("HTTP_X_AUTH_TOKEN", "abc") == "abc");
  CHECK(shown("HTTP_COOKIE", "session_id=abc") == "abc");
  CHECK(shown("HTTP_COOKIE", "a=b;\tsession_id=\"abc\"; session_id=def") == "abc");
  CHECK(shown("HTTP_COOKIE", "xsession_id=abc; session_ids=def") == "");
  CHECK(shown("HTTP_COOKIE", ";;=; session_id") == "");
  const http::Environ both = environ_with({{"HTTP_X_AUTH_TOKEN", "abc"}, {"HTTP_COOKIE", "session_id=def"}});
  CHECK(presented_token(both).token.reveal() == "abc");
  CHECK_FALSE(presented_token(both).is_cookie);
  CHECK(presented_token(environ_with({{"HTTP_COOKIE", "session_id=def"}})).is_cookie);
  CHECK(looks_like_token("0123456789abcdef"));
  for (const char* const bad : {"", "ABC", "abg", "../a", "a b"}) CHECK_FALSE(looks_like_token(bad));
  CHECK_FALSE(looks_like_token(std::string(257, 'a')));
}

TEST_CASE("Origin and Sec-Fetch-Site identify pages of other origins, also by scheme") {
  CHECK_FALSE(foreign({}));
  CHECK_FALSE(foreign({{"HTTP_ORIGIN", "https://api.example.org"}}));
  CHECK_FALSE(foreign({{"HTTP_ORIGIN", "https://gui.example.org"}, {"HTTP_SEC_FETCH_SITE", "cross-site"}}));
  CHECK_FALSE(foreign({{"HTTP_SEC_FETCH_SITE", "same-origin"}, {"HTTP_ORIGIN", "https://outside.example"}}));
  CHECK(foreign({{"HTTP_SEC_FETCH_SITE", "same-site"}, {"HTTP_ORIGIN", "https://other.example.org"}}));
  CHECK(foreign({{"HTTP_SEC_FETCH_SITE", "cross-site"}}));
  CHECK(foreign({{"HTTP_ORIGIN", "https://api.example.org:8443"}}));
  CHECK(foreign({{"HTTP_ORIGIN", "https://evil.example"}}));
  CHECK(foreign({{"HTTP_ORIGIN", "null"}}));
  CHECK(foreign({{"HTTP_ORIGIN", "https://"}}));
  const char* const http = "http://api.example.org";
  const char* const https = "https://api.example.org";
  CHECK(foreign({{"HTTP_ORIGIN", http}, {"HTTPS", "on"}}));
  CHECK_FALSE(foreign({{"HTTP_ORIGIN", https}, {"HTTPS", "on"}}));
  CHECK(foreign({{"HTTP_ORIGIN", http}, {"REQUEST_SCHEME", "https"}}));
  CHECK(foreign({{"HTTP_ORIGIN", https}, {"REQUEST_SCHEME", "http"}}));
  CHECK_FALSE(foreign({{"HTTP_ORIGIN", http}, {"REQUEST_SCHEME", "http"}}));
  // Apache replaces Host, and adds the client's Host to X-Forwarded-Host.
  const char* const outside = "https://www.example.org";
  CHECK_FALSE(foreign({{"HTTP_ORIGIN", outside}, {"HTTP_X_FORWARDED_HOST", "www.example.org"}}));
  CHECK_FALSE(
      foreign({{"HTTP_ORIGIN", outside}, {"HTTP_X_FORWARDED_HOST", "www.example.org, inner.example"}}));
  CHECK(foreign({{"HTTP_ORIGIN", outside}, {"HTTP_X_FORWARDED_HOST", "www.example.org:8443"}}));
  CHECK(foreign({{"HTTP_ORIGIN", "https://evil.example"}, {"HTTP_X_FORWARDED_HOST", "www.example.org"}}));
  CHECK(foreign({{"HTTP_ORIGIN", "http://www.example.org"},
                 {"HTTPS", "on"},
                 {"HTTP_X_FORWARDED_HOST", "www.example.org"}}));
  // ws4py, a WebSocket client, sends an Origin header with the scheme `ws` or `wss`.
  CHECK_FALSE(foreign({{"HTTP_ORIGIN", "ws://api.example.org"}, {"REQUEST_SCHEME", "http"}}));
  CHECK_FALSE(foreign({{"HTTP_ORIGIN", "wss://api.example.org"}, {"HTTPS", "on"}}));
  CHECK(foreign({{"HTTP_ORIGIN", "ws://api.example.org"}, {"HTTPS", "on"}}));
  // A proxy ends TLS, so the scheme here is `http`, but the client's scheme is `https`.
  for (const char* const header : {"HTTP_X_FORWARDED_FOR", "HTTP_X_REAL_IP"}) {
    CHECK_FALSE(foreign({{"HTTP_ORIGIN", https}, {"REQUEST_SCHEME", "http"}, {header, "192.0.2.1"}}));
    CHECK(foreign({{"HTTP_ORIGIN", http}, {"REQUEST_SCHEME", "https"}, {header, "192.0.2.1"}}));
  }
}

TEST_CASE("the error for a malformed cors_origin names it") {
  for (const char* const bad : {"gui.example.org", "https://gui.example.org/", "://x", ""}) {
    const auto made = Origins::make({bad}, true);
    REQUIRE_MESSAGE(!made, bad);
    CHECK(made.error().message.starts_with("found '" + std::string(bad) + "'"));
  }
}
