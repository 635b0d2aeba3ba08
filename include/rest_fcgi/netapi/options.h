// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/lowstate/options.h"

namespace rest_fcgi::netapi {

/// Salt's netapi modules.
enum class Module { rest_wsgi, rest_cherrypy, rest_tornado };

/// Names of the modules, in the order of `Module`.
inline constexpr std::string_view kModules[] = {"rest_wsgi", "rest_cherrypy", "rest_tornado"};

[[nodiscard]] constexpr std::string_view name_of(Module module) noexcept {
  return kModules[static_cast<std::size_t>(module)];
}

/// Options of `rest_wsgi`, which the other two applications have as well.
struct Options {
  lowstate::Options lowstate;
  auth::TokenLifeRule token_life;   ///< users whose `token_expire` counts; that of all others is ignored
  std::vector<std::string> eauths;  ///< back ends that users can log in with; the page's login form has them
  bool audit_as_json = false;       ///< write audit lines as JSON objects; otherwise as `key=value` text
  std::size_t max_request_body_size =
      std::size_t{1} << 20;  ///< of rest_wsgi; the other applications have a limit of their own
};

/// Limits on open event streams, for all modules together.
struct StreamLimits {
  std::size_t max_streams = 2000;
  std::size_t max_streams_per_user = 500;
};

/// Salt's `api_acl: {users: {NAME: [ADDRESS]}}`: the addresses from which each user may send requests. The
/// entry `*` is for users without an entry. A user without either is refused.
struct ApiAcl {
  std::vector<std::pair<std::string, std::vector<std::string>>> users;  ///< addresses, networks, or `*`
};

/// The section `rest_cherrypy:`, without the keys of the HTTP listener.
struct RestCherrypyOptions {
  Options common;
  /// Origins, such as `https://gui.example.org`, whose pages may use the session cookie. Pages of other
  /// origins get `Access-Control-Allow-Origin: *` and have to send a token themselves.
  std::vector<std::string> cors_origin;
  std::optional<ApiAcl> api_acl;            ///< absent: no restriction
  std::vector<std::string> authorized_ips;  ///< addresses or networks that are served; empty: all
  std::string root_prefix = "/";            ///< path below which all URLs are
  std::string webhook_url = "/hook";
  bool webhook_disable_auth = false;
  bool enable_sessions = true;  ///< off: /login, /logout, /minions and /jobs do not exist
  std::string static_root;      ///< Salt's `static`: the folder that is served; empty: none
  std::string static_path = "/static";
  std::string app;  ///< HTML file that browsers get instead of our own page; empty: none
  std::string app_path = "/app";
  std::string favicon;         ///< file for /favicon.ico; empty: none
  bool collect_stats = false;  ///< /stats also counts the requests of each URL
  bool stats_disable_auth = false;
  bool log_access = false;  ///< write a line to the access log for each request
  std::size_t max_request_body_size = std::size_t{1} << 20;
};

/// The section `rest_tornado:`, without the keys of the HTTP listener.
struct RestTornadoOptions {
  Options common;
  /// Origins whose pages may use the session cookie. Other origins get no CORS headers. With `*` all origins
  /// may read replies, without cookies.
  std::vector<std::string> cors_origin;
  bool webhook_disable_auth = false;
  std::size_t max_body_size = 10'000'000;
};

}  // namespace rest_fcgi::netapi
