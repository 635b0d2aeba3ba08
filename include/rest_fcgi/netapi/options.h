// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/lowstate/options.h"

namespace rest_fcgi::auth {
class RequestKeys;
}

namespace rest_fcgi::netapi {

class Refusals;

enum class Module { rest_wsgi, rest_cherrypy, rest_tornado };

/// The names of the modules, in the order of `Module`.
inline constexpr std::string_view kModules[] = {"rest_wsgi", "rest_cherrypy", "rest_tornado"};

[[nodiscard]] constexpr std::string_view name_of(Module module) noexcept {
  return kModules[static_cast<std::size_t>(module)];
}

/// The configuration keys that limit the size of a request's body.
inline constexpr std::string_view kWsgiBodyKey = "rest_fcgi: max_request_body_size";
inline constexpr std::string_view kCherrypyBodyKey = "rest_cherrypy: max_request_body_size";
inline constexpr std::string_view kTornadoBodyKey = "rest_tornado: max_body_size";

/// Options of `rest_wsgi`. `rest_cherrypy` and `rest_tornado` have these options, too.
struct Options {
  lowstate::Options lowstate;
  /// The users that may set the lifetime of their token with `token_expire`. For others, the key is ignored.
  auth::TokenLifeRule token_life;
  std::vector<std::string> eauths;  ///< `eauths` has the back ends in the web page's login form.
  bool audit_as_json = false;  ///< With `audit_as_json`, audit lines are JSON objects, not `key=value` text.
  /// `max_request_body_size` is the largest body for rest_wsgi in bytes.
  std::size_t max_request_body_size = std::size_t{32} << 20;
  /// Counts the refused requests of all modules. Without it, each refused request has an audit line.
  std::shared_ptr<Refusals> refusals{};
  /// Remembers requests with the header Idempotency-Key. Without it, the header has no effect.
  std::shared_ptr<auth::RequestKeys> request_keys{};
};

/// The limits of the open event streams of all modules together.
struct StreamLimits {
  std::size_t max_streams = 2000;
  std::size_t max_streams_per_user = 500;
};

/// Salt's `api_acl`: the addresses from which each user may send requests. A user without an entry has the
/// addresses of the entry `*`. If this entry is missing, the user is refused.
struct ApiAcl {
  /// The users with their addresses and networks. The address `*` allows all addresses.
  std::vector<std::pair<std::string, std::vector<std::string>>> users;
};

/// The options of the section `rest_cherrypy:`, without its HTTP port.
struct RestCherrypyOptions {
  Options common;
  /// The origins, such as `https://gui.example.org`, whose web pages may use the session cookie. Pages of
  /// other origins get `Access-Control-Allow-Origin: *`, so they have to send their token in a header.
  std::vector<std::string> cors_origin;
  std::optional<ApiAcl> api_acl;  ///< `api_acl` limits the addresses of each user. Absent for no limits.
  /// `authorized_ips` lists the addresses and networks that may send requests. An empty list allows all.
  std::vector<std::string> authorized_ips;
  std::string root_prefix = "/";
  std::string webhook_url = "/hook";
  bool webhook_disable_auth = false;
  bool enable_sessions = true;  ///< `enable_sessions` turns on the URLs /login, /logout, /minions and /jobs.
  std::string static_root;      ///< `static_root` is Salt's `static`: the folder of served files, or empty.
  std::string static_path = "/static";
  std::string app;  ///< The HTML file that replaces this program's own page, or empty.
  std::string app_path = "/app";
  std::string favicon;         ///< `favicon` is the file for /favicon.ico, or empty.
  bool collect_stats = false;  ///< With `collect_stats`, /stats counts the requests of each URL.
  bool stats_disable_auth = false;
  bool log_access = false;
  std::size_t max_request_body_size = std::size_t{32} << 20;
};

/// The options of the section `rest_tornado:`, without its HTTP port.
struct RestTornadoOptions {
  Options common;
  /// The origins whose web pages may use the session cookie. Pages of other origins get no CORS headers. With
  /// `*`, pages of all origins may read replies to requests without cookies.
  std::vector<std::string> cors_origin;
  bool webhook_disable_auth = false;
  std::size_t max_body_size = std::size_t{32} << 20;
};

}  // namespace rest_fcgi::netapi
