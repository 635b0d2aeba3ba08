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

/// Salt's netapi modules that this program has.
enum class Module { rest_wsgi, rest_cherrypy, rest_tornado };

/// The names of the modules, in the order of the enum `Module`.
inline constexpr std::string_view kModules[] = {"rest_wsgi", "rest_cherrypy", "rest_tornado"};

[[nodiscard]] constexpr std::string_view name_of(Module module) noexcept {
  return kModules[static_cast<std::size_t>(module)];
}

/// Options of `rest_wsgi`. The other two modules have these options, too.
struct Options {
  lowstate::Options lowstate;
  auth::TokenLifeRule token_life;   ///< users that may choose `token_expire`; for all others it is ignored
  std::vector<std::string> eauths;  ///< back ends that users can log in with, for the web page's login form
  bool audit_as_json = false;  ///< whether audit lines are JSON objects; otherwise they are `key=value` text
  /// The largest body for rest_wsgi in bytes. The other modules have their own limits.
  std::size_t max_request_body_size = std::size_t{1} << 20;
};

/// Limits on the number of open event streams of all modules together.
struct StreamLimits {
  std::size_t max_streams = 2000;
  std::size_t max_streams_per_user = 500;
};

/// Salt's `api_acl: {users: {NAME: [ADDRESS]}}`: the addresses from which each user may send requests. The
/// entry `*` applies to users without an entry of their own. If there is no entry for a user and no entry
/// `*`, the user is refused.
struct ApiAcl {
  /// The users with their addresses and networks. The address `*` allows all addresses.
  std::vector<std::pair<std::string, std::vector<std::string>>> users;
};

/// The options of the section `rest_cherrypy:`. The options of its HTTP port are in `gateway::HttpOptions`.
struct RestCherrypyOptions {
  Options common;
  /// Origins whose web pages may use the session cookie, such as `https://gui.example.org`. Pages of other
  /// origins get `Access-Control-Allow-Origin: *`, and have to send a token in a header.
  std::vector<std::string> cors_origin;
  std::optional<ApiAcl> api_acl;  ///< addresses of each user; absent if all users may use all addresses
  std::vector<std::string> authorized_ips;  ///< addresses or networks that may send requests; empty means all
  std::string root_prefix = "/";            ///< path in front of all URLs
  std::string webhook_url = "/hook";
  bool webhook_disable_auth = false;
  bool enable_sessions = true;  ///< if false, /login, /logout, /minions and /jobs do not exist
  std::string static_root;      ///< Salt's `static`: the folder whose files are served; empty means no folder
  std::string static_path = "/static";
  std::string app;  ///< HTML file that replaces this program's own page; may be empty
  std::string app_path = "/app";
  std::string favicon;         ///< path of the file for /favicon.ico; may be empty
  bool collect_stats = false;  ///< whether /stats also counts the requests of each URL
  bool stats_disable_auth = false;
  bool log_access = false;  ///< whether each request writes a line to the access log
  std::size_t max_request_body_size = std::size_t{1} << 20;
};

/// The options of the section `rest_tornado:`. The options of its HTTP port are in `gateway::HttpOptions`.
struct RestTornadoOptions {
  Options common;
  /// Origins whose web pages may use the session cookie. Pages of other origins get no CORS headers. With
  /// `*`, pages of all origins may read replies, but without cookies.
  std::vector<std::string> cors_origin;
  bool webhook_disable_auth = false;
  std::size_t max_body_size = 10'000'000;
};

}  // namespace rest_fcgi::netapi
