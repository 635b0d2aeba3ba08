// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
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
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/http/application.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/netapi/options.h"
#include "rest_fcgi/netapi/stream_registry.h"

/// A request for rest_cherrypy or rest_tornado, and the state that all requests of an application share.
namespace rest_fcgi::netapi {

/// The differences between rest_cherrypy and rest_tornado, apart from their URLs.
struct Dialect {
  std::span<const lowstate::Client> clients;  ///< GET / lists the `clients` that the engine supports.
  std::string_view no_session;                ///< `no_session` is the error text if there is no session.
  bool status_is_text;       ///< With `status_is_text`, an error's `status` is `404 Not Found` and not 404.
  bool checks_session_last;  ///< `checks_session_last` checks the session after the method and Accept.
  bool exact_slashes;        ///< With `exact_slashes`, an additional slash makes a URL a different URL.
  /// Whether the fields `arg` and `kwarg` of a form are YAML. A form then has only the fields of the body.
  /// Otherwise, the fields of the query precede the fields of the body.
  bool typed_forms;
  bool text_may_be_no_json;  ///< Whether a `text/plain` body without JSON is a string.
  bool login_is_401;         ///< With `login_is_401`, GET /login gets status 401.
  bool strict_logins;        ///< With `strict_logins`, users without permissions cannot log in.
  bool cookies_expire;       ///< With `cookies_expire`, cookies have an expiry time.
  bool run_takes_sessions;   ///< With `run_takes_sessions`, /run accepts the token of a session.
  bool runs_in_parallel;     ///< With `runs_in_parallel`, the chunks of a list run in parallel.
  bool uses_tornado_texts;   ///< With `uses_tornado_texts`, some failures get 200 and rest_tornado's texts.
  bool jobs_have_info;       ///< With `jobs_have_info`, /jobs/JID returns `return` and the job in `info`.
  bool started_have_links;   ///< With `started_have_links`, POST /minions returns links to started jobs.
  /// With `overrides_client`, POST /minions runs chunks of other clients as `local_async`, too.
  bool overrides_client;
  bool missing_is_404;  ///< With `missing_is_404`, an unknown minion or job gets status 404.
  /// Whether the event of a hook has the raw `body`, and has the query string as `query`. If false, the event
  /// has the query string as `get`.
  bool hooks_have_body;
  bool full_headers;  ///< Whether responses have Allow, Cache-Control, gzip and all CORS headers.
  std::string_view body_limit_key;  ///< The configuration key that limits the size of a body.
};

struct RequestContext;
using Handler = http::Response (*)(RequestContext&);

struct Route {
  enum class Needs { nothing, session_to_get, session_to_post, session };

  std::vector<std::string> path;  ///< `path` has the parts of the route's path between the slashes.
  std::string_view option{};      ///< `option` is the configuration key that sets the path, or empty.
  Handler get = nullptr;          ///< `get` is the handler for GET and HEAD, or null.
  Handler post = nullptr;
  Needs needs = Needs::nothing;
  bool needs_permission = false;  ///< Whether users without permissions are refused.
  static constexpr std::size_t kAny = static_cast<std::size_t>(-1);
  std::size_t max_parts_below = 0;  ///< `max_parts_below` is the largest number of path parts below `path`.
  bool shows_pages = false;         ///< With `shows_pages`, the reply of GET can be HTML.
  bool serves_files = false;        ///< With `serves_files`, the Accept header is not checked.
  bool sends_events = false;        ///< With `sends_events`, the reply is a stream of server-sent events.
  bool posts_negotiate = true;      ///< With `posts_negotiate`, the Accept header of POST is checked.
  bool post_below = true;           ///< With `post_below`, POST is allowed below the path.
  bool reads_body = true;           ///< With `reads_body`, the body of POST is read.
  bool takes_lowstate = true;       ///< With `takes_lowstate`, a form is lowstate.
  std::string_view no_session{};    ///< `no_session` replaces the text `Dialect::no_session`, unless empty.
  std::string_view cache{};         ///< `cache` is the value of the header Cache-Control, or empty.
};

[[nodiscard]] std::string path_text(const Route& route);

struct RequestCounters {
  WallTime since;
  std::atomic<std::uint64_t> requests{0}, current{0}, bytes_read{0}, bytes_written{0}, errors{0};
  Mutex mutex;
  // The requests of each route.
  std::map<std::string, std::uint64_t> by_url GUARDED_BY(mutex);
};

/// The state that all requests of one application share. Thread-safe.
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
  std::vector<std::string> root;  ///< The parts of `root_prefix`.
  std::unique_ptr<RequestCounters> counters;
};

/// One request. The objects to which its references point must outlive the request.
struct RequestContext {
  const App& app;
  const http::Environ& environ;
  const Target& target;
  JsonDocument& document;
  AuditTrail& trail;
  SteadyTime deadline;
  SteadyTime start = app.clock.steady();
  const Route* route = nullptr;
  std::vector<std::string> below;  ///< `below` has the parts of the request's path below the route's path.
  std::string base;  ///< `base` is the path of the application at its web server or mount, such as `/api`.
  /// `media` is the reply's media type. std::nullopt if the Accept header allows none of the types.
  std::optional<Media> media = Media::json;
  Media error_media = Media::json;
  std::optional<master::Session> session;
  Body body;
  /// The start gates of this request, which hold back asynchronous jobs until the reply is sent.
  std::vector<master::StartGate> gates{};
  std::string_view client{};  ///< The client of the first chunk. Empty if the request has no chunks.

  [[nodiscard]] std::string_view remote() const { return environ.get("REMOTE_ADDR"); }
};

/// Returns a response with one JSON value. If the client prefers YAML, writes the value as YAML.
[[nodiscard]] http::Response reply(const RequestContext& context, http::Status status, std::string json);

[[nodiscard]] http::Response refuse(const RequestContext& context, http::Status status,
                                    std::string_view sentence);

/// Logs an error and returns its response, with the results of the chunks that ran before the error.
[[nodiscard]] http::Response fail(const RequestContext& context, const Error& error,
                                  const std::vector<Completed>& completed = {});

/// Returns an HTML page. Its Content-Security-Policy allows only scripts and styles with `nonce`.
[[nodiscard]] http::Response page_reply(http::Status status, std::string html, std::string_view nonce);

[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace rest_fcgi::netapi
