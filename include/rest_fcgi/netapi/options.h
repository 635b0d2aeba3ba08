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

/// Each by its name, in that order.
inline constexpr std::string_view kModules[] = {"rest_wsgi", "rest_cherrypy", "rest_tornado"};

[[nodiscard]] constexpr std::string_view name_of(Module module) noexcept {
  return kModules[static_cast<std::size_t>(module)];
}

/// What all applications share. `rest_wsgi` has no more.
struct Options {
  lowstate::Options lowstate;
  auth::TokenLifeRule token_life;  ///< the other users' `token_expire` is ignored
  bool audit_as_json = false;      ///< audit lines as JSON objects; else `key=value` text
  std::size_t max_request_body_size = std::size_t{1} << 20;  ///< of rest_wsgi; the others have their own
};

/// Streams of events that may be open at once, of all modules together.
struct StreamLimits {
  std::size_t max_streams = 2000;
  std::size_t max_streams_per_user = 500;
};

/// Salt's `api_acl: {users: {NAME: [ADDRESS]}}`: from where somebody may come. A name that is not listed has
/// the addresses of `*`; where that is not listed either, nobody of another name may.
struct ApiAcl {
  std::vector<std::pair<std::string, std::vector<std::string>>> users;  ///< addresses, networks, or `*`
};

/// The section `rest_cherrypy:`, but for what the HTTP listener reads of it.
struct RestCherrypyOptions {
  Options common;
  /// Origins, such as `https://gui.example.org`, whose pages may use a session's cookie. All others get
  /// `Access-Control-Allow-Origin: *` without credentials: they may send a token of their own.
  std::vector<std::string> cors_origin;
  std::optional<ApiAcl> api_acl;            ///< absent: everybody may come from everywhere
  std::vector<std::string> authorized_ips;  ///< addresses or networks that are answered; empty: all
  std::string root_prefix = "/";            ///< all URLs are below it
  std::string webhook_url = "/hook";
  bool webhook_disable_auth = false;
  bool enable_sessions = true;  ///< without: no /login, /logout, /minions and /jobs
  std::string static_root;      ///< Salt's `static`: a folder; empty: none is served
  std::string static_path = "/static";
  std::string app;  ///< a file for browsers; empty: our own page
  std::string app_path = "/app";
  std::string favicon;         ///< a file for /favicon.ico; empty: there is none
  bool collect_stats = false;  ///< /stats also has the requests of each URL
  bool stats_disable_auth = false;
  bool log_access = false;  ///< each request is a line of `log::access`
  std::size_t max_request_body_size = std::size_t{1} << 20;
};

/// The section `rest_tornado:`, but for what the HTTP listener reads of it.
struct RestTornadoOptions {
  Options common;
  /// As above, but nobody else gets a header. `*`: everybody does, without credentials.
  std::vector<std::string> cors_origin;
  bool webhook_disable_auth = false;
  std::size_t max_body_size = 10'000'000;
};

}  // namespace rest_fcgi::netapi
