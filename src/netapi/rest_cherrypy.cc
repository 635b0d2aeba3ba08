// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "netapi/handlers.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/netapi/rest.h"

namespace rest_fcgi::netapi {
namespace cherrypy {
namespace {

using http::Response;
using http::Status;
using lowstate::Client;
using Needs = Route::Needs;
using Offers = Method::Offers;
using Takes = Method::Takes;

/// Salt's clients in the order in which the reply to `GET /` lists them.
constexpr Client kClients[] = {Client::local,        Client::local_async, Client::local_batch,
                               Client::local_subset, Client::runner,      Client::runner_async,
                               Client::ssh,          Client::wheel,       Client::wheel_async};

Response welcome(RequestContext& context) {
  return greet(context, kClients);
}

Response ask_to_log_in(RequestContext& context) {
  if (context.media == Media::html) return home_page(context);
  Response response = reply(context, Status::ok, R"({"status": 200, "return": "Please log in"})");
  response.headers.emplace_back("WWW-Authenticate", "Session");
  return response;
}

Response log_in(RequestContext& context) {
  context.client = "login";
  const auto object = login_object(context);
  if (!object) return bad_request(context, object.error().message);
  if (auto checked = check_login(context, *object); !checked) {
    return fail(context, refused_login(context, *object, "login", checked.error()));
  }
  const auto session = log_in_with(context, *object, "login");
  return session ? logged_in(context, *session, session->expire) : fail(context, session.error());
}

ChunkResults run_chunks(RequestContext& context, JsonValue chunks, const RunOptions& call) {
  RunResult ran = run_lowstate(context, chunks, call, run, nullptr);
  if (ran.replay) return *std::move(ran.replay);
  if (ran.failure) return fail(context, *ran.failure, ran.completed);
  return std::move(ran.completed);
}

Response run_by_credentials(RequestContext& context) {
  return run_body(context, {});
}

Response show_minions(RequestContext& context) {
  auto ran = ask_for_grains(context);
  if (auto* answer = std::get_if<Response>(&ran)) return std::move(*answer);
  return reply_with(context, std::get<0>(ran).items.front());
}

Response post_minions(RequestContext& context) {
  if (!context.below.empty()) return nothing_matches(context);
  auto ran = start_jobs(context);
  if (auto* answer = std::get_if<Response>(&ran)) return std::move(*answer);
  auto& completed = std::get<0>(ran);
  std::string links;
  JsonWriter writer(links);
  writer.begin_object().key("jobs").begin_array();
  for (const Completed& one : completed) {
    if (one.reply.jid.empty()) continue;
    writer.begin_object().key("href").string(format("{}/jobs/{}", context.base, one.reply.jid)).end_object();
  }
  writer.end_array().end_object();
  std::string json = items_text(std::move(completed));
  json.pop_back();
  return reply(context, Status::accepted, json.append(R"(, "_links": )").append(links).append("}"));
}

/// For a job, `info` has the whole job, and `return` has the returns of its minions.
Response show_jobs(RequestContext& context) {
  if (context.below.empty()) return list_jobs(context);
  auto ran = ask_for_job(context);
  if (auto* answer = std::get_if<Response>(&ran)) return std::move(*answer);
  const Json& job = std::get<0>(ran).items.front();
  const JsonDocument document = own_document(job);
  std::string json;
  JsonWriter writer(json);
  writer.begin_object().key("info").begin_array().json(job).end_array().key("return").begin_array();
  writer.begin_object();
  const JsonValue result = document.root().find("Result").value_or(JsonValue());
  for (const JsonMember minion : result.members()) {
    writer.key(minion.key);
    minion.value.find("return").value_or(JsonValue()).write(writer);
  }
  writer.end_object().end_array().end_object();
  return reply(context, Status::ok, std::move(json));
}

Response post_hook(RequestContext& context) {
  std::string tag = "salt/netapi/hook";
  for (const std::string& part : context.below) tag.append("/").append(part);
  const JsonValue post = context.body.value;
  return fire_hook(context, std::move(tag), written_object([&](JsonWriter& writer) {
                     writer.key("body").string(*context.environ.body);
                     writer.key("post");
                     if (post.is(JsonValue::Kind::null)) {
                       writer.raw("{}");
                     } else {
                       post.write(writer);
                     }
                     writer.key("query").json(query_json(context.target));
                     writer.key("headers").json(hook_headers(context.environ));
                   }));
}

Response show_events(RequestContext& context) {
  const auto is_other = [](const FormField& field) { return field.name != "tag"; };
  if (std::any_of(context.target.query.begin(), context.target.query.end(), is_other)) {
    return refuse(
        context, Status::bad_request,
        "This URL accepts only the query field 'tag'. Send the token as X-Auth-Token or as a cookie, not in "
        "the URL.");
  }
  return stream_events(context, "text/event-stream;charset=utf-8");
}

/// Returns the routes: path, GET, POST, what they need, the number of path parts below, and the option.
std::vector<Route> routes_of(const RestCherrypyOptions& options) {
  const Needs to_hook = options.webhook_disable_auth ? Needs::nothing : Needs::permission;
  const Needs to_stats = options.stats_disable_auth ? Needs::nothing : Needs::permission;
  std::vector<Route> routes{
      {{}, {welcome, Offers::page}, {run_for_session}, Needs::session_to_post},
      {{"index"}, {welcome, Offers::page}, {run_for_session}, Needs::session_to_post},
      {{"token"}, {welcome}, {make_tokens}},
      {{"run"}, {welcome}, {run_by_credentials}},
      {{"keys"}, {show_keys}, {make_keys, Offers::anything}, Needs::session_to_get, 1},
      {parts_of(options.webhook_url),
       {},
       {post_hook, Offers::data, Takes::data},
       to_hook,
       Route::kAny,
       "webhook_url"},
      {{"stats"}, {show_stats}, {}, to_stats},
      {{"events"}, {show_events, Offers::anything}},
      {{"ws"}, {open_websocket, Offers::anything}, {}, Needs::nothing, 1},
  };
  const auto add = [&routes](Route route) { routes.push_back(std::move(route)); };
  if (options.enable_sessions) {
    add({{"login"}, {ask_to_log_in, Offers::page}, {log_in}});
    add({{"logout"}, {}, {log_out, Offers::data, Takes::nothing}, Needs::session});
    add({{"minions"}, {show_minions}, {post_minions}, Needs::session, 1});
    add({{"jobs"}, {show_jobs}, {run_for_session}, Needs::session, 1});
  }
  const auto add_files = [&](std::vector<std::string> path, Handler serve, std::string_view option) {
    add({std::move(path), {serve, Offers::anything}, {}, Needs::nothing, Route::kAny, option});
  };
  if (!options.static_root.empty()) add_files(parts_of(options.static_path), serve_static, "static_path");
  if (!options.app.empty()) add_files(parts_of(options.app_path), serve_app, "app_path");
  if (!options.favicon.empty()) add({{"favicon.ico"}, {serve_favicon, Offers::anything}});
  return routes;
}

Response preflight(const RequestContext& context) {
  Response response{Status::ok, {{"Content-Type", "text/html"}}, std::string()};
  const std::string_view wanted = context.environ.get("HTTP_ACCESS_CONTROL_REQUEST_METHOD");
  if (wanted == "GET" || wanted == "POST") {
    response.headers.emplace_back("Access-Control-Allow-Methods", "GET, POST");
    response.headers.emplace_back("Access-Control-Allow-Headers",
                                  "Content-Type, Idempotency-Key, X-Auth-Token, X-Requested-With");
    response.headers.emplace_back("Access-Control-Max-Age", "1400");
  }
  return response;
}

/// Refuses in Salt's order: the session (401), the method (405), the body (400, 406, 413 and 415), too many
/// parts in the path (404), and the Accept header (406).
Response answer_cherrypy(RequestContext& context) {
  const App& app = context.app;
  const Target& target = context.target;
  if (!app.options.authorized_ips.empty() && !app.authorized.has(context.remote())) {
    return fail(context, {ErrorKind::forbidden, "Bad IP"});
  }
  const bool is_below_root = find_route(context);
  if (const auto negotiated = negotiate(context); !negotiated) return fail(context, negotiated.error());
  if (target.method == "OPTIONS") return preflight(context);
  if (!app.root.empty() && target.parts == app.root && target.path.back() != '/') {
    return {Status::moved_permanently, {{"Location", context.base + "/"}}, std::string()};
  }
  const Method method = method_of(context);
  const bool wants_page =
      target.reads() && context.error_media == Media::html && method.offers != Offers::anything;
  if (is_below_root && wants_page && !app.options.app.empty()) return serve_app(context);
  if (context.route == nullptr) return unknown_path(context);
  if (auto checked = check_session(context); !checked) {
    Error error = std::move(checked).error();
    const bool is_missing = error.kind == ErrorKind::authentication;
    if (is_missing && method.handler == show_keys) error.message = "No authentication credentials given";
    return fail(context, error);
  }
  if (method.handler == nullptr) return wrong_method(context);
  const BodyRules rules{.json = app.options.common.lowstate.json,
                        .most = app.options.max_request_body_size,
                        .key = kCherrypyBodyKey};
  if (const auto taken = take_body(context, rules); !taken) return fail(context, taken.error());
  if (context.below.size() > context.route->max_parts_below) return nothing_matches(context);
  return context.media ? method.handler(context) : not_acceptable(context);
}

void finish_cherrypy(const RequestContext& context, Response& response) {
  // The bodies of these requests have credentials.
  static constexpr std::array<Handler, 4> kWithCredentials{log_in, make_tokens, run_by_credentials,
                                                           make_keys};
  auto& headers = response.headers;
  headers.emplace_back("Vary", "Accept-Encoding, Accept, Origin");
  if (const Route* const route = context.route; route != nullptr) {
    if (!has_header(response, "Allow")) headers.emplace_back("Allow", allowed_methods(*route));
    const bool is_secret = std::find(kWithCredentials.begin(), kWithCredentials.end(), route->post.handler) !=
                           kWithCredentials.end();
    if ((is_secret || context.session) && !has_header(response, "Cache-Control"))
      headers.emplace_back("Cache-Control", is_secret ? "no-store" : "private");
  }
  compress_if_accepted(context.environ.get("HTTP_ACCEPT_ENCODING"), response);
}

constexpr Dialect kDialect{
    .name = "rest_cherrypy",
    .answer = answer_cherrypy,
    .finish = finish_cherrypy,
    .run_chunks = run_chunks,
    .status_of = [](Status status) { return Json::integer(static_cast<int>(status)); },
    .no_session = "No permission -- see authorization schemes",
};

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
}  // namespace cherrypy

Result<http::Application> make_rest_cherrypy(const RestCherrypyOptions& options,
                                             std::shared_ptr<const client::NetapiClient> client,
                                             std::shared_ptr<StreamRegistry> streams, const Clock& clock) {
  warn_of_missing_files(options);
  std::vector<Route> routes = cherrypy::routes_of(options);
  if (auto checked = cherrypy::check_paths(routes); !checked) return std::move(checked).error();
  return make_rest(cherrypy::kDialect, options, true, std::move(routes), std::move(client),
                   std::move(streams), clock);
}

}  // namespace rest_fcgi::netapi
