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

/// A request for rest_cherrypy or rest_tornado, and the state that all requests of an application share.
namespace rest_fcgi::netapi {

/// The differences between rest_cherrypy and rest_tornado, apart from their URLs.
struct Dialect {
  std::span<const lowstate::Client> clients;  ///< the clients in the greeting, if the engine supports them
  std::string_view no_session;                ///< the error text for a request without a valid session
  bool status_is_text;       ///< the member `status` of an error is `404 Not Found` and not 404
  bool checks_session_last;  ///< the session is checked after the method and the Accept header
  bool exact_slashes;        ///< a URL with an additional slash is a different URL
  bool typed_forms;          ///< `BodyRules::typed_forms`; false adds the query to a form
  bool text_may_be_no_json;  ///< see `BodyRules::text_may_be_no_json`
  bool login_is_401;         ///< GET /login gets status 401
  bool strict_logins;        ///< users without permissions cannot log in
  bool cookies_expire;       ///< cookies have an expiry time
  bool run_takes_sessions;   ///< /run accepts the token of a session
  bool runs_in_parallel;     ///< the chunks of a list run in parallel
  bool uses_tornado_texts;   ///< some failures get status 200 and the texts of rest_tornado
  bool jobs_have_info;       ///< /jobs/JID returns `info` with the whole job, and `return`
  bool started_have_links;   ///< POST /minions returns links to the started jobs
  bool overrides_client;     ///< POST /minions runs other clients as `local_async`
  bool missing_is_404;       ///< an unknown minion or job gets status 404
  bool hooks_have_body;      ///< a hook's event has the raw body, and `query` instead of `get`
  bool full_headers;         ///< responses have Allow, Cache-Control, gzip and all CORS headers
};

struct RequestContext;
using Handler = http::Response (*)(RequestContext&);

struct Route {
  enum class Needs { nothing, session_to_get, session_to_post, session };

  std::vector<std::string> path;  ///< the parts of the path between the slashes
  std::string_view option{};      ///< the configuration key that sets the path; may be empty
  Handler get = nullptr;          ///< the handler for GET and HEAD; may be null
  Handler post = nullptr;
  Needs needs = Needs::nothing;
  bool needs_permission = false;  ///< users without permissions are refused
  static constexpr std::size_t kAny = static_cast<std::size_t>(-1);
  std::size_t max_parts_below = 0;  ///< the largest number of path parts below `path`
  bool shows_pages = false;         ///< the reply of GET can be HTML
  bool serves_files = false;        ///< the Accept header is not checked
  bool sends_events = false;        ///< the reply is a stream of server-sent events
  bool posts_negotiate = true;      ///< the Accept header of POST is checked
  bool post_below = true;           ///< POST is allowed below the path
  bool reads_body = true;           ///< the body of POST is read
  bool takes_lowstate = true;       ///< see `BodyRules::forms_are_lowstate`
  std::string_view no_session{};    ///< replaces the dialect's text for a request without a session
  std::string_view cache{};         ///< the value of Cache-Control for all users
};

[[nodiscard]] std::string path_text(const Route& route);

struct RequestCounters {
  WallTime since;
  std::atomic<std::uint64_t> requests{0}, current{0}, bytes_read{0}, bytes_written{0}, errors{0};
  std::mutex mutex;
  // Paths of routes with their numbers of requests. `mutex` guards this member.
  std::map<std::string, std::uint64_t> by_url;
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
  std::vector<std::string> root;  ///< the path parts of the option `root_prefix`
  std::unique_ptr<RequestCounters> counters;
};

/// One request. The objects of its references must outlive the request.
struct RequestContext {
  const App& app;
  const http::Environ& environ;
  const Target& target;
  JsonDocument& document;
  AuditTrail& trail;
  SteadyTime deadline;
  const Route* route = nullptr;
  std::vector<std::string> below;            ///< the parts of the request's path below the route's path
  std::string base;                          ///< the path above all URLs, without a slash at the end
  std::optional<Media> media = Media::json;  ///< the media type of the reply; std::nullopt if not acceptable
  Media error_media = Media::json;
  std::optional<master::Session> session;
  Body body;
  std::vector<master::StartGate> gates{};  ///< the start gates of the asynchronous jobs of this request
  std::string_view client{};               ///< the client of the first chunk; empty without chunks

  [[nodiscard]] std::string_view remote() const { return environ.get("REMOTE_ADDR"); }
};

/// Returns a response with one JSON value, or its YAML form if the client prefers YAML.
[[nodiscard]] http::Response reply(const RequestContext& context, http::Status status, std::string json);

[[nodiscard]] http::Response refuse(const RequestContext& context, http::Status status,
                                    std::string_view sentence);

/// Logs an error and returns its response, with the results of the chunks that ran before the error.
[[nodiscard]] http::Response fail(const RequestContext& context, const Error& error,
                                  const std::vector<Completed>& completed = {});

/// Returns an HTML page whose Content-Security-Policy allows only scripts and styles with this nonce.
[[nodiscard]] http::Response page_reply(http::Status status, std::string html, std::string_view nonce);

[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace rest_fcgi::netapi
