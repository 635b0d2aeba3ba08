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

bool starts_with(std::span<const std::string> parts, const std::vector<std::string>& start) {
  return parts.size() >= start.size() && std::equal(start.begin(), start.end(), parts.begin());
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
  context.base = context.target.above;
  const RequestCount counted(context);
  Response response;
  try {
    response = target ? app.dialect.answer(context) : fail(context, target.error());
  } catch (const std::exception& exception) {
    response = fail(context, error_of_exception(exception));
  }
  context.keyed.end(response);
  for (master::StartGate& gate : context.gates) response.held.push_back(std::move(gate));
  response.metric_label = context.client;
  app.origins.add_headers(environ, response);
  if (response.status == Status::unauthorized && !has_header(response, "WWW-Authenticate")) {
    response.headers.emplace_back("WWW-Authenticate", "Session");
  }
  app.dialect.finish(context, response);
  counted.write(response);
  log_access(app, environ, response);
  return response;
}

}  // namespace

bool has_header(const Response& response, std::string_view name) {
  return std::any_of(response.headers.begin(), response.headers.end(),
                     [name](const auto& header) { return header.first == name; });
}

std::string allowed_methods(const Route& route) {
  if (route.get.handler == nullptr) return "POST";
  return route.post.handler == nullptr ? "GET, HEAD" : "GET, HEAD, POST";
}

bool find_route(RequestContext& context) {
  const std::vector<std::string>& root = context.app.root;
  for (const std::string& part : root) context.base.append("/").append(part);
  std::span<const std::string> parts = context.target.parts;
  if (!starts_with(parts, root)) return false;
  parts = parts.subspan(root.size());
  for (const Route& route : context.app.routes) {
    if (!starts_with(parts, route.path) || (route.path.empty() && !parts.empty())) continue;
    const bool is_longer = context.route == nullptr || route.path.size() > context.route->path.size();
    if (is_longer) context.route = &route;
  }
  if (context.route == nullptr) return true;
  parts = parts.subspan(context.route->path.size());
  context.below.assign(parts.begin(), parts.end());
  return true;
}

Method method_of(const RequestContext& context) {
  if (context.route == nullptr) return {};
  if (context.target.reads()) return context.route->get;
  return context.target.method == "POST" ? context.route->post : Method();
}

Result<void> negotiate(RequestContext& context) {
  const std::string_view accept = context.environ.get("HTTP_ACCEPT");
  static constexpr std::array kWithPages{Media::json, Media::yaml, Media::html};
  static constexpr std::array kEvents{Media::event_stream, Media::json, Media::yaml};
  const auto error = media_out(accept, kWithPages);
  if (!error) return error.error();
  context.error_media = error->value_or(Media::json);
  const Method::Offers offers = method_of(context).offers;
  if (offers == Method::Offers::anything) return {};
  const std::span<const Media> offered = offers == Method::Offers::events ? kEvents : kWithPages;
  const auto media = media_out(accept, offers == Method::Offers::data ? offered.first(2) : offered);
  if (!media) return media.error();
  context.media = *media;
  return {};
}

Response wrong_method(const RequestContext& context) {
  Response response =
      refuse(context, Status::method_not_allowed, "Specified method is invalid for this resource");
  response.headers.emplace_back("Allow", allowed_methods(*context.route));
  return response;
}

Response not_acceptable(const RequestContext& context) {
  return fail(
      context,
      {ErrorKind::not_acceptable,
       format("Your client sent this Accept header: {}. But this resource only emits these media types: "
              "application/json, application/x-yaml.",
              excerpt(context.environ.get("HTTP_ACCEPT"), 100))});
}

Result<void> check_session(RequestContext& context) {
  using Needs = Route::Needs;
  const Needs needs = context.route->needs;
  const bool is_needed = needs == Needs::session || needs == Needs::permission ||
                         (needs == Needs::session_to_get && context.target.reads()) ||
                         (needs == Needs::session_to_post && context.target.method == "POST");
  if (!is_needed) return {};
  auto session = request_session(context);
  if (!session) return std::move(session).error();
  if (needs == Needs::permission && has_no_permissions(*session)) return no_session(context);
  context.session = *std::move(session);
  return {};
}

Result<void> take_body(RequestContext& context, BodyRules rules) {
  const Method::Takes takes = context.route->post.takes;
  if (context.target.reads() || takes == Method::Takes::nothing) return {};
  rules.forms_are_lowstate = takes == Method::Takes::lowstate;
  auto body = read_body(context.environ, rules, context.document);
  if (!body) {
    context.trail.write_unreadable(row_for(body.error().kind).outcome);
    return std::move(body).error();
  }
  context.body = *body;
  return {};
}

Response unknown_path(const RequestContext& context) {
  return refuse(context, Status::not_found,
                format("The path '{}' was not found.", excerpt(context.target.path, 100)));
}

Response nothing_matches(const RequestContext& context) {
  return refuse(context, Status::not_found, "Nothing matches the given URI");
}

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
    return wrong_setting(format("{}: cors_origin", dialect.name), origins.error().message);
  }
  std::vector<std::string> root = parts_of(options.root_prefix);
  auto counters = std::make_unique<RequestCounters>();
  counters->since = clock.wall();
  auto app = std::make_shared<const App>(App{
      dialect, std::move(options), std::move(client), std::move(streams), clock, std::move(routes),
      *std::move(acl), *std::move(authorized), *std::move(origins), std::move(root), std::move(counters)});
  return http::Application([app](const Environ& environ) { return answer(*app, environ); });
}

}  // namespace rest_fcgi::netapi
