// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "netapi/access.h"
#include "netapi/audit.h"
#include "netapi/replies.h"
#include "netapi/request.h"
#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/http/application.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/netapi/options.h"
#include "rest_fcgi/netapi/stream_registry.h"

/// One request on its way through rest_cherrypy or rest_tornado, and what all its requests share.
namespace rest_fcgi::netapi {

/// The differences between rest_cherrypy and rest_tornado, apart from their URLs.
struct Dialect {
  std::span<const lowstate::Client>
      clients;                  ///< clients that the greeting lists, if the engine supports them
  std::string_view no_session;  ///< error text if there is no valid session
  bool status_is_text;          ///< `status` of an error is `404 Not Found`; otherwise 404
  bool checks_session_last;     ///< a wrong method or Accept header is refused before the session is checked
  bool exact_slashes;           ///< an additional slash makes a different URL
  bool typed_forms;             ///< see `BodyRules`; if false, forms also get the fields of the query
  bool text_may_be_no_json;     ///< see `BodyRules`
  bool login_is_401;            ///< GET /login is answered with 401
  bool strict_logins;           ///< a missing key is named, and users without permissions cannot log in
  bool cookies_expire;          ///< cookies have an expiry time
  bool run_takes_sessions;      ///< /run accepts a session's token from the header or cookie
  bool runs_in_parallel;        ///< the chunks of a list run in parallel; otherwise one after the other
  bool uses_tornado_texts;      ///< some failures are reported with status 200, as rest_tornado's own texts
  bool jobs_have_info;          ///< /jobs/JID returns `info` with the whole job, and `return`
  bool started_have_links;      ///< POST /minions returns links to the started jobs
  bool overrides_client;  ///< POST /minions runs all chunks as `local_async`; otherwise other clients are
                          ///< refused
  bool missing_is_404;    ///< an unknown minion or job is answered with 404
  bool hooks_have_body;   ///< a hook's event has the raw body, and names the query `query` instead of `get`
  bool full_headers;      ///< send Allow, Cache-Control, gzip and all CORS headers; otherwise only `no-store`
};

struct RequestContext;
using Handler = http::Response (*)(RequestContext&);

/// One row of a table of URLs.
struct Route {
  enum class Needs { nothing, session_to_get, session_to_post, session };

  std::vector<std::string> path;  ///< the parts between the slashes
  std::string_view option{};      ///< configuration key that sets the path; empty: the path is fixed
  Handler get = nullptr;          ///< also for HEAD; null: method not allowed
  Handler post = nullptr;
  Needs needs = Needs::nothing;
  bool needs_permission = false;  ///< the session of a user without permissions is refused
  static constexpr std::size_t kAny = static_cast<std::size_t>(-1);
  std::size_t max_parts_below = 0;  ///< maximum number of path parts below `path`
  bool shows_pages = false;         ///< GET also offers HTML
  bool serves_files = false;        ///< the Accept header is not checked
  bool sends_events = false;        ///< the reply is a stream of server-sent events
  bool posts_negotiate = true;      ///< POST checks the Accept header
  bool post_below = true;           ///< POST is also allowed below the path
  bool reads_body = true;           ///< POST reads the body
  bool takes_lowstate = true;       ///< see `BodyRules::forms_are_lowstate`
  std::string_view no_session{};    ///< error text instead of the dialect's
  std::string_view cache{};         ///< value of Cache-Control, for all users
};

/// Returns the path as text, such as `/hook`.
[[nodiscard]] std::string path_text(const Route& route);

/// Request counters for /stats.
struct RequestCounters {
  WallTime since;
  std::atomic<std::uint64_t> requests{0}, current{0}, bytes_read{0}, bytes_written{0}, errors{0};
  std::mutex mutex;
  std::map<std::string, std::uint64_t> by_url;  // by route path; guarded by mutex
};

/// State that all requests of one application share. Immutable apart from `counters`; thread-safe.
struct App {
  const Dialect& dialect;
  RestCherrypyOptions options;
  std::shared_ptr<const client::NetapiClient> client;
  std::shared_ptr<StreamRegistry> streams;
  const Clock& clock;
  std::vector<Route> routes;
  Acl acl;
  http::Addresses authorized;
  Origins origins;
  std::vector<std::string> root;  ///< parts of `root_prefix`
  std::unique_ptr<RequestCounters> counters;
};

/// One request. Everything it refers to must outlive it.
struct RequestContext {
  const App& app;
  const http::Environ& environ;
  const Target& target;
  JsonDocument& document;
  AuditTrail& trail;
  SteadyTime deadline;
  const Route* route = nullptr;
  std::vector<std::string> below;            ///< parts of the path below the route's path
  std::string base;                          ///< path above all URLs, without a slash at the end
  std::optional<Media> media = Media::json;  ///< form of the reply; absent: no acceptable form
  Media error_media = Media::json;
  std::optional<master::Session> session;
  Body body;
  std::vector<master::StartGate> gates{};  ///< of the asynchronous jobs that this request started
  std::string_view client{};               ///< name of the first chunk's client; empty: no chunk was read

  [[nodiscard]] std::string_view remote() const { return environ.get("REMOTE_ADDR"); }
};

/// Returns a response with `json`, one JSON value, as JSON or converted to YAML.
[[nodiscard]] http::Response reply(const RequestContext& context, http::Status status, std::string json);

/// Returns an error response with a status and a text.
[[nodiscard]] http::Response refuse(const RequestContext& context, http::Status status,
                                    std::string_view sentence);

/// Returns the response for an error, with the results of the chunks that ran before it, and writes a log
/// line.
[[nodiscard]] http::Response fail(const RequestContext& context, const Error& error,
                                  const std::vector<Completed>& completed = {});

/// Returns an HTML page. Its Content-Security-Policy allows only scripts and styles with this nonce.
[[nodiscard]] http::Response page_reply(http::Status status, std::string html, std::string_view nonce);

/// Returns the text with HTML's special characters escaped.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace rest_fcgi::netapi
