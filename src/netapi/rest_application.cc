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

bool is_spelled_as(const Route& route, std::string_view path) {
  const std::string spelled = path_text(route);
  return route.max_parts_below == 0 ? path == spelled : path.starts_with(spelled);
}

/// Finds the route with the longest matching path. Returns false outside of `root_prefix`.
bool place(RequestContext& context) {
  const App& app = context.app;
  context.base = context.target.above;
  for (const std::string& part : app.root) context.base.append("/").append(part);
  if (!starts_with(context.target.parts, app.root)) return false;
  const std::vector<std::string> parts(
      context.target.parts.begin() + static_cast<std::ptrdiff_t>(app.root.size()),
      context.target.parts.end());
  for (const Route& route : app.routes) {
    if (!starts_with(parts, route.path) || (route.path.empty() && !parts.empty())) continue;
    const bool is_longer = context.route == nullptr || route.path.size() > context.route->path.size();
    if (is_longer) context.route = &route;
  }
  if (context.route == nullptr) return true;
  const Route& route = *context.route;
  if (app.dialect.exact_slashes && !is_spelled_as(route, context.target.path)) {
    context.route = nullptr;
    return true;
  }
  context.below.assign(parts.begin() + static_cast<std::ptrdiff_t>(route.path.size()), parts.end());
  return true;
}

Result<void> negotiate(RequestContext& context) {
  const std::string_view accept = context.environ.get("HTTP_ACCEPT");
  static constexpr std::array kWithPages{Media::json, Media::yaml, Media::html};
  const auto error = media_out(accept, kWithPages);
  if (!error) return error.error();
  context.error_media = error->value_or(Media::json);
  if (context.route != nullptr && context.route->sends_events) {
    static constexpr std::array kEvents{Media::event_stream, Media::json, Media::yaml};
    const auto media = media_out(accept, kEvents);
    if (!media) return media.error();
    context.media = *media;
    return {};
  }
  const bool has_pages = context.route != nullptr && context.route->shows_pages && context.target.reads();
  const auto media = media_out(accept, std::span(kWithPages).first(has_pages ? 3 : 2));
  if (!media) return media.error();
  context.media = *media;
  return {};
}

Response not_acceptable(const RequestContext& context) {
  return fail(
      context,
      {ErrorKind::not_acceptable,
       format("Your client sent this Accept header: {}. But this resource only emits these media types: "
              "application/json, application/x-yaml.",
              excerpt(context.environ.get("HTTP_ACCEPT"), 100))});
}

std::optional<Response> refused_method(const RequestContext& context) {
  const Route& route = *context.route;
  const bool posts =
      context.target.method == "POST" && route.post != nullptr && (route.post_below || context.below.empty());
  const bool reads = context.target.reads() && route.get != nullptr;
  if (posts || reads) return std::nullopt;
  Response response =
      refuse(context, Status::method_not_allowed, "Specified method is invalid for this resource");
  response.headers.emplace_back("Allow", allowed_methods(route));
  return response;
}

std::optional<Response> refused_session(RequestContext& context) {
  const Route& route = *context.route;
  const bool is_needed = route.needs == Route::Needs::session ||
                         (route.needs == Route::Needs::session_to_get && context.target.reads()) ||
                         (route.needs == Route::Needs::session_to_post && context.target.method == "POST");
  if (!is_needed) return std::nullopt;
  auto session = request_session(context);
  if (!session) return fail(context, session.error());
  if (route.needs_permission && has_no_permissions(*session)) {
    return fail(context, no_session(context));
  }
  context.session = *std::move(session);
  return std::nullopt;
}

std::optional<Response> refused_body(RequestContext& context) {
  if (context.target.reads() || !context.route->reads_body) return std::nullopt;
  const Dialect& dialect = context.app.dialect;
  BodyRules rules{context.app.options.common.lowstate.json, context.app.options.max_request_body_size};
  rules.key = dialect.body_limit_key;
  rules.typed_forms = dialect.typed_forms;
  rules.text_may_be_no_json = dialect.text_may_be_no_json;
  rules.forms_are_lowstate = context.route->takes_lowstate;
  rules.query = dialect.typed_forms ? nullptr : &context.target.query;
  auto body = read_body(context.environ, rules, context.document);
  if (!body) {
    context.trail.write_unreadable(row_for(body.error().kind).outcome);
    return fail(context, body.error());
  }
  context.body = *body;
  return std::nullopt;
}

Response preflight(const RequestContext& context) {
  const Environ& environ = context.environ;
  if (context.app.dialect.full_headers) {
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
  if (!context.app.origins.allow_any()) return response;
  const std::string_view headers = environ.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS");
  const auto is_plain = [](char c) { return c >= ' ' && c < 0x7f; };
  if (!headers.empty() && std::all_of(headers.begin(), headers.end(), is_plain)) {
    response.headers.emplace_back("Access-Control-Allow-Headers", headers);
  }
  response.headers.emplace_back("Access-Control-Allow-Methods", "OPTIONS, GET, POST");
  return response;
}

Response dispatch(RequestContext& context) {
  const App& app = context.app;
  if (!app.options.authorized_ips.empty() && !app.authorized.has(context.remote())) {
    return fail(context, {ErrorKind::forbidden, "Bad IP"});
  }
  const bool is_below_root = place(context);
  if (const auto negotiated = negotiate(context); !negotiated) return fail(context, negotiated.error());
  if (context.target.method == "OPTIONS") return preflight(context);
  if (is_below_root && !app.root.empty() && context.target.parts == app.root &&
      context.target.path.back() != '/') {
    return {Status::moved_permanently, {{"Location", context.base + "/"}}, std::string()};
  }
  if (is_below_root && wants_app_page(context)) return serve_app(context);
  if (!is_below_root || context.route == nullptr) {
    return refuse(context, Status::not_found,
                  format("The path '{}' was not found.", excerpt(context.target.path, 100)));
  }
  const bool is_acceptable = context.media.has_value() || context.route->serves_files ||
                             (!context.target.reads() && !context.route->posts_negotiate);
  if (app.dialect.checks_session_last) {
    if (auto refused = refused_method(context)) return *std::move(refused);
    if (!is_acceptable) return not_acceptable(context);
  }
  if (auto refused = refused_session(context)) return *std::move(refused);
  if (auto refused = refused_method(context)) return *std::move(refused);
  if (auto refused = refused_body(context)) return *std::move(refused);
  if (context.below.size() > context.route->max_parts_below) {
    return refuse(context, Status::not_found, "Nothing matches the given URI");
  }
  if (!is_acceptable) return not_acceptable(context);
  const Handler handler = context.target.reads() ? context.route->get : context.route->post;
  return handler(context);
}

bool has_header(const Response& response, std::string_view name) {
  return std::any_of(response.headers.begin(), response.headers.end(),
                     [name](const auto& header) { return header.first == name; });
}

void finish(const RequestContext& context, Response& response) {
  const App& app = context.app;
  auto& headers = response.headers;
  app.origins.add_headers(context.environ, response);
  if (response.status == Status::unauthorized && !has_header(response, "WWW-Authenticate")) {
    headers.emplace_back("WWW-Authenticate", "Session");
  }
  if (!app.dialect.full_headers) {
    headers.emplace_back("Vary", app.origins.differ_by_origin() ? "Accept, Origin" : "Accept");
    if (!has_header(response, "Cache-Control")) headers.emplace_back("Cache-Control", "no-store");
    return;
  }
  headers.emplace_back("Vary", "Accept-Encoding, Accept, Origin");
  if (context.route != nullptr) {
    if (!has_header(response, "Allow")) headers.emplace_back("Allow", allowed_methods(*context.route));
    const std::string_view cache = !context.route->cache.empty() ? context.route->cache
                                   : context.session             ? "private"
                                                                 : "";
    if (!cache.empty() && !has_header(response, "Cache-Control"))
      headers.emplace_back("Cache-Control", cache);
  }
  compress_if_accepted(context.environ.get("HTTP_ACCEPT_ENCODING"), response);
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
  const Options& common = app.options.common;
  AuditTrail trail(app.clock, environ.get("REMOTE_ADDR"), common.audit_as_json, common.refusals.get());
  auto target = read_target(environ);
  const Target nothing;
  RequestContext context{app, environ, target ? *target : nothing, *document, trail, app.client->deadline()};
  const RequestCount counted(context);
  Response response;
  try {
    response = target ? dispatch(context) : fail(context, target.error());
  } catch (const std::exception& exception) {
    response = fail(context, error_of_exception(exception));
  }
  for (master::StartGate& gate : context.gates) response.held.push_back(std::move(gate));
  response.metric_label = context.client;
  finish(context, response);
  counted.write(response);
  log_access(app, environ, response);
  return response;
}

bool has_default_path(const Route& route) {
  const RestCherrypyOptions defaults;
  if (route.option == "webhook_url") return route.path == parts_of(defaults.webhook_url);
  return route.path == parts_of(route.option == "app_path" ? defaults.app_path : defaults.static_path);
}

/// Refuses two routes with the same path. The error names the configuration key.
Result<void> check_paths(const std::vector<Route>& routes) {
  for (const Route& route : routes) {
    // As in salt-api, several routes may have the path `/`.
    if (route.option.empty() || route.path.empty()) continue;
    if (has_default_path(route)) continue;
    const auto other = std::find_if(routes.begin(), routes.end(), [&](const Route& one) {
      return &one != &route && one.path == route.path;
    });
    if (other == routes.end()) continue;
    const std::string_view taken_by = other->option.empty() ? "a page of the API" : other->option;
    return wrong_setting(format("rest_cherrypy: {}", route.option),
                         format("found '{}', which is the path of {}, expected another path",
                                excerpt(path_text(route), 100), taken_by));
  }
  return {};
}

}  // namespace

Result<http::Application> make_rest(const Dialect& dialect, RestCherrypyOptions options, bool open_to_all,
                                    std::vector<Route> routes,
                                    std::shared_ptr<const client::NetapiClient> client,
                                    std::shared_ptr<StreamRegistry> streams, const Clock& clock) {
  auto acl = Acl::make(options.api_acl);
  if (!acl) return std::move(acl).error();
  auto authorized = http::Addresses::make(options.authorized_ips);
  if (!authorized) return std::move(authorized).error();
  auto origins = Origins::make(options.cors_origin, open_to_all);
  if (!origins) {
    return wrong_setting(open_to_all ? "rest_cherrypy: cors_origin" : "rest_tornado: cors_origin",
                         origins.error().message);
  }
  if (auto checked = check_paths(routes); !checked) return std::move(checked).error();
  std::vector<std::string> root = parts_of(options.root_prefix);
  auto counters = std::make_unique<RequestCounters>();
  counters->since = clock.wall();
  auto app = std::make_shared<const App>(App{
      dialect, std::move(options), std::move(client), std::move(streams), clock, std::move(routes),
      *std::move(acl), *std::move(authorized), *std::move(origins), std::move(root), std::move(counters)});
  return http::Application([app](const Environ& environ) { return answer(*app, environ); });
}

}  // namespace rest_fcgi::netapi
