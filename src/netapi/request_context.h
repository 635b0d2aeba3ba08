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

/// A request that rest_cherrypy or rest_tornado handles, and the state that all requests of an application
/// share.
namespace rest_fcgi::netapi {

/// The differences between rest_cherrypy and rest_tornado, apart from their URLs.
struct Dialect {
  std::span<const lowstate::Client> clients;  ///< The clients that the greeting lists. Clients that the
                                              ///< engine does not support are left out.
  std::string_view no_session;                ///< The error text for a request without a valid session.
  bool status_is_text;       ///< The member `status` of an error is a text such as `404 Not Found`. If
                             ///< false, it is a number.
  bool checks_session_last;  ///< The method and the Accept header are checked before the session.
  bool exact_slashes;        ///< A URL with an additional slash is a different URL.
  bool typed_forms;          ///< See `BodyRules::typed_forms`. If false, forms also get the fields of the
                             ///< query.
  bool text_may_be_no_json;  ///< See `BodyRules::text_may_be_no_json`.
  bool login_is_401;         ///< GET /login gets status 401.
  bool strict_logins;        ///< An error names the missing key of a login, and users without permissions
                             ///< cannot log in.
  bool cookies_expire;       ///< Cookies have an expiry time.
  bool run_takes_sessions;   ///< /run accepts the token of a session in the header or in the cookie.
  bool runs_in_parallel;     ///< The chunks of a list run in parallel. If false, they run one after the
                             ///< other.
  bool uses_tornado_texts;   ///< Some failures get status 200 and the texts of rest_tornado.
  bool jobs_have_info;       ///< /jobs/JID returns the members `info`, with the whole job, and `return`.
  bool started_have_links;   ///< POST /minions returns links to the started jobs.
  bool overrides_client;     ///< POST /minions runs all chunks as `local_async`. If false, other clients are
                             ///< refused.
  bool missing_is_404;       ///< An unknown minion or job gets status 404.
  bool hooks_have_body;      ///< The event of a hook has the raw body. Its query is named `query` instead of
                             ///< `get`.
  bool full_headers;  ///< Responses have Allow, Cache-Control, gzip and all CORS headers. If false, their
                      ///< Cache-Control is `no-store`.
};

struct RequestContext;
using Handler = http::Response (*)(RequestContext&);

/// One row of a table of URLs.
struct Route {
  enum class Needs { nothing, session_to_get, session_to_post, session };

  std::vector<std::string> path;  ///< The parts of the path between the slashes.
  std::string_view option{};      ///< The configuration key that sets the path. If it is empty, the path is
                                  ///< fixed.
  Handler get = nullptr;          ///< The handler for GET and HEAD. If it is null, these methods are not
                                  ///< allowed.
  Handler post = nullptr;
  Needs needs = Needs::nothing;
  bool needs_permission = false;  ///< Users without permissions are refused.
  static constexpr std::size_t kAny = static_cast<std::size_t>(-1);
  std::size_t max_parts_below = 0;  ///< The largest number of path parts below `path`.
  bool shows_pages = false;         ///< The reply of GET can be HTML.
  bool serves_files = false;        ///< The Accept header is not checked.
  bool sends_events = false;        ///< The reply is a stream of server-sent events.
  bool posts_negotiate = true;      ///< The Accept header of POST is checked.
  bool post_below = true;           ///< POST is allowed below the path as well.
  bool reads_body = true;           ///< The body of POST is read.
  bool takes_lowstate = true;       ///< See `BodyRules::forms_are_lowstate`.
  std::string_view no_session{};    ///< The error text for a request without a session; if it is empty, the
                                    ///< dialect's text is used.
  std::string_view cache{};         ///< The value of Cache-Control for all users.
};

/// Returns the path as text, such as `/hook`.
[[nodiscard]] std::string path_text(const Route& route);

/// Request counters for /stats.
struct RequestCounters {
  WallTime since;
  std::atomic<std::uint64_t> requests{0}, current{0}, bytes_read{0}, bytes_written{0}, errors{0};
  std::mutex mutex;
  // Maps the path of a route to its number of requests. Guarded by `mutex`.
  std::map<std::string, std::uint64_t> by_url;
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
  std::vector<std::string> root;  ///< The path parts of the option `root_prefix`.
  std::unique_ptr<RequestCounters> counters;
};

/// One request. The objects that it refers to must outlive it.
struct RequestContext {
  const App& app;
  const http::Environ& environ;
  const Target& target;
  JsonDocument& document;
  AuditTrail& trail;
  SteadyTime deadline;
  const Route* route = nullptr;
  std::vector<std::string> below;            ///< The parts of the request's path below the route's path.
  std::string base;                          ///< The path above all URLs of the application, without a slash
                                             ///< at the end.
  std::optional<Media> media = Media::json;  ///< The media type of the reply; std::nullopt if the client
                                             ///< accepts no offered type.
  Media error_media = Media::json;
  std::optional<master::Session> session;
  Body body;
  std::vector<master::StartGate> gates{};  ///< The start gates of the asynchronous jobs that this request
                                           ///< started.
  std::string_view client{};               ///< The client of the first chunk; empty if no chunk was read.

  [[nodiscard]] std::string_view remote() const { return environ.get("REMOTE_ADDR"); }
};

/// Returns a response with one JSON value. Converts the value to YAML if the client prefers YAML.
[[nodiscard]] http::Response reply(const RequestContext& context, http::Status status, std::string json);

/// Returns an error response with a status and a text.
[[nodiscard]] http::Response refuse(const RequestContext& context, http::Status status,
                                    std::string_view sentence);

/// Returns the response for an error, with the results of the chunks that ran before the error. Also writes a
/// log line.
[[nodiscard]] http::Response fail(const RequestContext& context, const Error& error,
                                  const std::vector<Completed>& completed = {});

/// Returns an HTML page. Its Content-Security-Policy allows only scripts and styles with this nonce.
[[nodiscard]] http::Response page_reply(http::Status status, std::string html, std::string_view nonce);

/// Escapes the characters that are special in HTML.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace rest_fcgi::netapi
