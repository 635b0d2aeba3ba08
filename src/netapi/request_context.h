// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "netapi/access.h"
#include "netapi/audit.h"
#include "netapi/keyed_run.h"
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

struct RunOptions;
struct RequestContext;
using Handler = http::Response (*)(RequestContext&);
/// The results of the chunks, or the response to a chunk that was refused or failed.
using ChunkResults = std::variant<std::vector<Completed>, http::Response>;

/// What rest_cherrypy and rest_tornado each do in their own way for every request.
struct Dialect {
  std::string_view name;  ///< The name of the section in the configuration.
  Handler answer;         ///< `answer` makes the checks in the dialect's order and calls the handler.
  void (*finish)(const RequestContext&, http::Response&);  ///< `finish` adds the headers of all responses.
  ChunkResults (*run_chunks)(RequestContext&, JsonValue chunks, const RunOptions&);
  Json (*status_of)(http::Status);  ///< `status_of` returns `status` in the body of an error.
  std::string_view no_session;      ///< `no_session` is the error text if there is no session.
};

/// What a route does for a method.
struct Method {
  enum class Offers { data, page, events, anything };  ///< With `anything`, the Accept header is not checked.
  enum class Takes { lowstate, data, nothing };        ///< How the body is read.

  Handler handler = nullptr;  ///< Null if the route does not have the method.
  Offers offers = Offers::data;
  Takes takes = Takes::lowstate;
};

struct Route {
  /// `permission` is a session of a user with permissions.
  enum class Needs { nothing, session_to_get, session_to_post, session, permission };

  std::vector<std::string> path;  ///< `path` has the parts of the route's path between the slashes.
  Method get{};                   ///< `get` answers GET and HEAD.
  Method post{};
  Needs needs = Needs::nothing;
  static constexpr std::size_t kAny = static_cast<std::size_t>(-1);
  std::size_t max_parts_below = 0;  ///< `max_parts_below` is the largest number of path parts below `path`.
  std::string_view option{};        ///< `option` is the configuration key that sets the path, or empty.
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
  KeyedRun keyed{app.options.common, environ, deadline};

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
