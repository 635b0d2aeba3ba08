// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "netapi/handlers.h"
#include "netapi/lowstate_run.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::netapi {
namespace {

using http::Environ;
using http::Response;
using http::Status;

std::string allowed_methods(const Route& route) {
  if (route.get == nullptr) return "POST";
  return route.post == nullptr ? "GET, HEAD" : "GET, HEAD, POST";
}

bool starts_with(const std::vector<std::string>& parts, const std::vector<std::string>& start) {
  return parts.size() >= start.size() && std::equal(start.begin(), start.end(), parts.begin());
}

/// Does the path begin as the route's, without a slash too many? Where nothing may stand below it, it has to
/// be that path.
bool is_spelled_as(const Route& route, std::string_view path) {
  const std::string spelled = path_text(route);
  return route.most_parts == 0 ? path == spelled : path.starts_with(spelled);
}

/// Finds the route, whose path is the longest that fits. False: the path is not below `root_prefix`.
bool place(Exchange& exchange) {
  const App& app = exchange.app;
  exchange.base = exchange.target.above;
  for (const std::string& part : app.root) exchange.base.append("/").append(part);
  if (!starts_with(exchange.target.parts, app.root)) return false;
  const std::vector<std::string> parts(
      exchange.target.parts.begin() + static_cast<std::ptrdiff_t>(app.root.size()),
      exchange.target.parts.end());
  for (const Route& route : app.routes) {
    if (!starts_with(parts, route.path) || (route.path.empty() && !parts.empty())) continue;
    const bool is_longer = exchange.route == nullptr || route.path.size() > exchange.route->path.size();
    if (is_longer) exchange.route = &route;
  }
  if (exchange.route == nullptr) return true;
  const Route& route = *exchange.route;
  if (app.dialect.exact_slashes && !is_spelled_as(route, exchange.target.path)) {
    exchange.route = nullptr;
    return true;
  }
  exchange.below.assign(parts.begin() + static_cast<std::ptrdiff_t>(route.path.size()), parts.end());
  return true;
}

/// Which forms the reply, and an error, are to have.
Result<void> negotiate(Exchange& exchange) {
  const std::string_view accept = exchange.environ.get("HTTP_ACCEPT");
  static constexpr std::array kWithPages{Media::json, Media::yaml, Media::html};
  const std::size_t all = exchange.app.dialect.pages ? 3 : 2;
  const auto error = media_out(accept, std::span(kWithPages).first(all));
  if (!error) return error.error();
  exchange.error_media = error->value_or(Media::json);
  if (exchange.route != nullptr && exchange.route->sends_events) {
    static constexpr std::array kEvents{Media::event_stream, Media::json, Media::yaml};
    const auto media = media_out(accept, kEvents);
    if (!media) return media.error();
    exchange.media = *media;
    return {};
  }
  const bool pages = exchange.route != nullptr && exchange.route->shows_pages && exchange.target.reads();
  const auto media = media_out(accept, std::span(kWithPages).first(pages ? all : 2));
  if (!media) return media.error();
  exchange.media = *media;
  return {};
}

Response not_acceptable(const Exchange& exchange) {
  return fail(
      exchange,
      {ErrorKind::not_acceptable,
       format("Your client sent this Accept header: {}. But this resource only emits these media types: "
              "application/json, application/x-yaml.",
              excerpt(exchange.environ.get("HTTP_ACCEPT"), 100))});
}

std::optional<Response> refused_method(const Exchange& exchange) {
  const Route& route = *exchange.route;
  const bool posts = exchange.target.method == "POST" && route.post != nullptr &&
                     (route.post_below || exchange.below.empty());
  const bool reads = exchange.target.reads() && route.get != nullptr;
  if (posts || reads) return std::nullopt;
  Response response =
      refuse(exchange, Status::method_not_allowed, "Specified method is invalid for this resource");
  response.headers.emplace_back("Allow", allowed_methods(route));
  return response;
}

std::optional<Response> refused_session(Exchange& exchange) {
  const Route& route = *exchange.route;
  const bool is_needed = route.needs == Route::Needs::session ||
                         (route.needs == Route::Needs::session_to_get && exchange.target.reads()) ||
                         (route.needs == Route::Needs::session_to_post && exchange.target.method == "POST");
  if (!is_needed) return std::nullopt;
  auto session = session_of(exchange);
  if (!session) return fail(exchange, session.error());
  if (route.needs_permission && has_no_permissions(*session)) {
    return fail(exchange, no_session(exchange));
  }
  exchange.session = *std::move(session);
  return std::nullopt;
}

std::optional<Response> refused_body(Exchange& exchange) {
  if (exchange.target.reads() || !exchange.route->reads_body) return std::nullopt;
  const Dialect& dialect = exchange.app.dialect;
  BodyRules rules{exchange.app.options.common.lowstate.json, exchange.app.options.max_request_body_size};
  rules.typed_forms = dialect.typed_forms;
  rules.text_may_be_no_json = dialect.text_may_be_no_json;
  rules.forms_are_lowstate = exchange.route->takes_lowstate;
  rules.query = dialect.typed_forms ? nullptr : &exchange.target.query;
  auto body = read_body(exchange.environ, rules, exchange.document);
  if (!body) {
    exchange.trail.write_unreadable(row_for(body.error().kind).outcome);
    return fail(exchange, body.error());
  }
  exchange.body = *body;
  return std::nullopt;
}

/// The answer to a browser that asks whether a page of another origin may ask for this.
Response preflight(const Exchange& exchange) {
  const Environ& environ = exchange.environ;
  if (exchange.app.dialect.full_headers) {
    Response response{Status::ok, {{"Content-Type", "text/html"}}, std::string()};
    const std::string_view wanted = environ.get("HTTP_ACCESS_CONTROL_REQUEST_METHOD");
    if (wanted == "GET" || wanted == "POST") {
      response.headers.emplace_back("Access-Control-Allow-Methods", "GET, POST");
      response.headers.emplace_back("Access-Control-Allow-Headers",
                                    "Content-Type, X-Auth-Token, X-Requested-With");
      response.headers.emplace_back("Access-Control-Max-Age", "1400");
    }
    return response;
  }
  Response response{Status::no_content, {}, std::string()};
  if (!exchange.app.origins.are_on()) return response;
  const std::string_view headers = environ.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS");
  const auto is_plain = [](char c) { return c >= ' ' && c < 0x7f; };
  if (!headers.empty() && std::all_of(headers.begin(), headers.end(), is_plain)) {
    response.headers.emplace_back("Access-Control-Allow-Headers", headers);
  }
  response.headers.emplace_back("Access-Control-Allow-Methods", "OPTIONS, GET, POST");
  return response;
}

/// The checks that come before a handler, in the order in which a caller reads of them, and the handler.
Response dispatch(Exchange& exchange) {
  const App& app = exchange.app;
  if (!app.options.authorized_ips.empty() && !app.authorized.has(exchange.remote())) {
    return fail(exchange, {ErrorKind::forbidden, "Bad IP"});
  }
  const bool inside = place(exchange);
  if (const auto negotiated = negotiate(exchange); !negotiated) return fail(exchange, negotiated.error());
  if (exchange.target.method == "OPTIONS") return preflight(exchange);
  if (inside && !app.root.empty() && exchange.target.parts == app.root &&
      exchange.target.path.back() != '/') {
    return {Status::moved_permanently, {{"Location", exchange.base + "/"}}, std::string()};
  }
  if (inside && wants_app_page(exchange)) return serve_app(exchange);
  if (!inside || exchange.route == nullptr) {
    return refuse(exchange, Status::not_found,
                  format("The path '{}' was not found.", excerpt(exchange.target.path, 100)));
  }
  const bool speaks = exchange.media.has_value() || exchange.route->serves_files ||
                      (!exchange.target.reads() && !exchange.route->posts_negotiate);
  if (app.dialect.session_last) {
    if (auto refused = refused_method(exchange)) return *std::move(refused);
    if (!speaks) return not_acceptable(exchange);
  }
  if (auto refused = refused_session(exchange)) return *std::move(refused);
  if (auto refused = refused_method(exchange)) return *std::move(refused);
  if (auto refused = refused_body(exchange)) return *std::move(refused);
  if (exchange.below.size() > exchange.route->most_parts) {
    return refuse(exchange, Status::not_found, "Nothing matches the given URI");
  }
  if (!speaks) return not_acceptable(exchange);
  const Handler handler = exchange.target.reads() ? exchange.route->get : exchange.route->post;
  return handler(exchange);
}

bool has_header(const Response& response, std::string_view name) {
  return std::any_of(response.headers.begin(), response.headers.end(),
                     [name](const auto& header) { return header.first == name; });
}

/// The headers that all answers have.
void finish(const Exchange& exchange, Response& response) {
  const App& app = exchange.app;
  auto& headers = response.headers;
  app.origins.add_headers(exchange.environ, response);
  if (response.status == Status::unauthorized && !has_header(response, "WWW-Authenticate")) {
    headers.emplace_back("WWW-Authenticate", "Session");
  }
  if (!app.dialect.full_headers) {
    headers.emplace_back("Vary", app.origins.vary() ? "Accept, Origin" : "Accept");
    if (!has_header(response, "Cache-Control")) headers.emplace_back("Cache-Control", "no-store");
    return;
  }
  headers.emplace_back("Vary", "Accept-Encoding, Accept, Origin");
  if (exchange.route != nullptr) {
    if (!has_header(response, "Allow")) headers.emplace_back("Allow", allowed_methods(*exchange.route));
    const std::string_view cache = !exchange.route->cache.empty() ? exchange.route->cache
                                   : exchange.session             ? "private"
                                                                  : "";
    if (!cache.empty() && !has_header(response, "Cache-Control"))
      headers.emplace_back("Cache-Control", cache);
  }
  pack_where_accepted(exchange.environ.get("HTTP_ACCEPT_ENCODING"), response);
}

void log_access(const App& app, const Environ& environ, const Response& response) {
  const bool to_log = log::enabled(log::Level::debug);
  if (!app.options.log_access && !to_log) return;
  const std::string line = access_line(environ, response, app.clock.wall());
  if (app.options.log_access) log::access(line);
  log::debug(line);
}

Response answer(const App& app, const Environ& environ) {
  const BorrowedDocument document;
  AuditTrail trail(app.clock, environ.get("REMOTE_ADDR"), app.options.common.audit_as_json);
  auto target = read_target(environ);
  const Target nothing;
  Exchange exchange{app, environ, target ? *target : nothing, *document, trail, app.client->deadline()};
  const Counted counted(exchange);
  Response response;
  try {
    response = target ? dispatch(exchange) : fail(exchange, target.error());
  } catch (const std::exception& exception) {
    response = fail(exchange, thrown(exception));
  }
  for (master::StartGate& gate : exchange.gates) response.held.push_back(std::move(gate));
  finish(exchange, response);
  counted.write(response);
  log_access(app, environ, response);
  return response;
}

/// Returns whether the path of the route is one that the configuration need not name.
bool has_default_path(const Route& route) {
  const RestCherrypyOptions defaults;
  if (route.option == "webhook_url") return route.path == parts_of(defaults.webhook_url);
  return route.path == parts_of(route.option == "app_path" ? defaults.app_path : defaults.static_path);
}

/// Refuses a path of the configuration that is the path of another route, too: one of the two would never be
/// found. Names the key that the configuration sets.
Result<void> check_paths(const std::vector<Route>& routes) {
  for (const Route& route : routes) {
    if (route.option.empty() || route.path.empty()) continue;  // `/` itself wins, as in salt-api
    if (has_default_path(route)) continue;
    const auto other = std::find_if(routes.begin(), routes.end(), [&](const Route& one) {
      return &one != &route && one.path == route.path;
    });
    if (other == routes.end()) continue;
    const std::string_view taken_by = other->option.empty() ? "a page of the API" : other->option;
    return Error{ErrorKind::configuration,
                 format("rest_cherrypy: {}: found '{}', which is the path of {}, expected another path",
                        route.option, excerpt(path_text(route), 100), taken_by)};
  }
  return {};
}

}  // namespace

Result<http::Application> make_rest(const Dialect& dialect, RestCherrypyOptions options, bool open_to_all,
                                    std::vector<Route> routes,
                                    std::shared_ptr<const client::NetapiClient> client,
                                    std::shared_ptr<Streams> streams, const Clock& clock) {
  auto acl = Acl::make(options.api_acl);
  if (!acl) return std::move(acl).error();
  auto authorized = http::Addresses::make(options.authorized_ips);
  if (!authorized) return std::move(authorized).error();
  auto origins = Origins::make(options.cors_origin, open_to_all);
  if (!origins) {
    const std::string_view section = open_to_all ? "rest_cherrypy" : "rest_tornado";
    return Error{ErrorKind::configuration, format("{}: {}", section, origins.error().message)};
  }
  if (auto checked = check_paths(routes); !checked) return std::move(checked).error();
  std::vector<std::string> root = parts_of(options.root_prefix);
  auto counters = std::make_unique<Counters>();
  counters->since = clock.wall();
  auto app = std::make_shared<const App>(App{
      dialect, std::move(options), std::move(client), std::move(streams), clock, std::move(routes),
      *std::move(acl), *std::move(authorized), *std::move(origins), std::move(root), std::move(counters)});
  return http::Application([app](const Environ& environ) { return answer(*app, environ); });
}

}  // namespace rest_fcgi::netapi
