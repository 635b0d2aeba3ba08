// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "netapi/handlers.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/netapi/rest.h"

namespace rest_fcgi::netapi {
namespace tornado {
namespace {

using http::Response;
using http::Status;
using lowstate::Client;
using Needs = Route::Needs;
using Offers = Method::Offers;
using Takes = Method::Takes;

constexpr std::string_view kPleaseLogIn = "Please log in";
constexpr std::string_view kNoMinions =
    "No minions matched the target. No command was sent, no jid was assigned.";

/// Salt's clients in the order in which the reply to `GET /` lists them.
constexpr Client kClients[] = {Client::local, Client::local_async, Client::runner, Client::runner_async};

Response welcome(RequestContext& context) {
  return greet(context, kClients);
}

Response ask_to_log_in(RequestContext& context) {
  if (context.media == Media::html) return home_page(context);
  return refuse(context, Status::unauthorized, kPleaseLogIn);
}

Response log_in(RequestContext& context) {
  context.client = "login";
  const auto object = login_object(context);
  if (!object) return bad_request(context, object.error().message);
  if (auto checked = check_login(context, *object); !checked)
    return bad_request(context, checked.error().message);
  constexpr bool kNeedsPermission = true;
  const auto session = log_in_with(context, *object, "login", kNeedsPermission);
  return session ? logged_in(context, *session, {}) : fail(context, session.error());
}

Response failed_to_authenticate(const RequestContext& context) {
  return reply(context, Status::unauthorized,
               R"({"status": "401 Unauthorized", "return": ["Failed to authenticate"]})");
}

Result<void> check_clients(const RequestContext& context, JsonValue chunks) {
  const auto& enabled = context.app.client->enabled();
  const bool has_ssh = std::find(enabled.begin(), enabled.end(), Client::ssh) != enabled.end();
  std::size_t index = 0;
  const auto check = [&](JsonValue chunk) -> Result<void> {
    const auto client = lowstate::client_named(chunk.find("client").value_or(JsonValue()).text());
    if (client && (*client != Client::ssh || has_ssh)) return {};
    return Error{ErrorKind::invocation,
                 format("Invalid Client: Client not found in salt clients (lowstate chunk {})", index)};
  };
  if (!chunks.is(JsonValue::Kind::array)) return check(chunks);
  for (const JsonValue chunk : chunks.elements()) {
    if (auto checked = check(chunk); !checked) return checked;
    ++index;
  }
  return {};
}

ChunkResults run_chunks(RequestContext& context, JsonValue chunks, const RunOptions& call) {
  RunResult ran =
      run_lowstate(context, chunks, call, run_in_parallel, call.reading.client ? nullptr : check_clients);
  if (ran.replay) return *std::move(ran.replay);
  if (!ran.failure) {
    for (Completed& one : ran.completed) {
      const bool waits = one.client == Client::local || one.client == Client::local_subset;
      if (!waits || !one.reply.jid.empty()) continue;
      for (Json& item : one.reply.items) item = Json::string(kNoMinions);
    }
    return std::move(ran.completed);
  }
  const Error& error = *ran.failure;
  const bool is_denied = error.kind == ErrorKind::authentication || error.kind == ErrorKind::authorization;
  if (is_denied && ran.completed.empty()) {
    // Calls `report` only for its log line. The text that `report` returns is not used.
    static_cast<void>(report(error, context.remote()));
    return failed_to_authenticate(context);
  }
  const bool is_one = !chunks.is(JsonValue::Kind::array) || chunks.size() == 1;
  const bool is_unknown =
      error.kind == ErrorKind::unknown_runner && context.client == name_of(Client::runner);
  if (!is_one || !is_unknown) return fail(context, error, ran.completed);
  // As in Salt, an unknown runner gets the status 200.
  return reply_with(context, Json::string("Unexpected exception while handling request: " + error.message));
}

/// A token of a session precedes the credentials of the chunks.
Response run_by_credentials(RequestContext& context) {
  if (presented_token(context.environ).token.size() == 0) return run_body(context, {});
  const auto session = request_session(context);
  if (session) return run_body(context, {.session = &*session});
  const bool denied = session.error().kind == ErrorKind::authentication;
  return denied ? failed_to_authenticate(context) : fail(context, session.error());
}

Response show_minions(RequestContext& context) {
  auto ran = ask_for_grains(context);
  if (auto* answer = std::get_if<Response>(&ran)) return std::move(*answer);
  const client::Reply& minions = std::get<0>(ran);
  if (minions.jid.empty()) return refuse(context, Status::not_found, kNoMinions);
  return reply_with(context, minions.items.front());
}

Response post_minions(RequestContext& context) {
  const auto names_other = [](JsonValue chunk) {
    const auto client = lowstate::find_nonempty(chunk, "client");
    return client && client->text() != "local_async";
  };
  const JsonValue body = context.body.value;
  bool other = names_other(body);
  for (const JsonValue chunk : body.elements()) other = other || names_other(chunk);
  if (other) {
    return bad_request(
        context, "'client': found another client, expected 'local_async', the only client of this URL.");
  }
  auto ran = start_jobs(context);
  if (auto* answer = std::get_if<Response>(&ran)) return std::move(*answer);
  return reply(context, Status::accepted, items_text(std::get<0>(std::move(ran))));
}

Response show_jobs(RequestContext& context) {
  if (context.below.empty()) return list_jobs(context);
  auto ran = ask_for_job(context);
  if (auto* answer = std::get_if<Response>(&ran)) return std::move(*answer);
  const Json& job = std::get<0>(ran).items.front();
  if (!own_document(job).root().find("Error")) return reply_with(context, job);
  return reply(context, Status::not_found,
               format(R"({{"status": "404 Not Found", "return": [{}]}})", job.text()));
}

/// As in Salt, the tag has the path of the request without a change.
Response post_hook(RequestContext& context) {
  return fire_hook(context, "salt/netapi" + context.target.path, written_object([&](JsonWriter& writer) {
                     context.body.value.write(writer.key("post"));
                     writer.key("get").json(query_json(context.target));
                     writer.key("headers").json(hook_headers(context.environ));
                   }));
}

Response show_events(RequestContext& context) {
  return stream_events(context, "text/event-stream");
}

/// Returns the routes: path, GET, POST, what they need, and the number of path parts below.
std::vector<Route> routes_of(const RestTornadoOptions& options) {
  const Needs to_hook = options.webhook_disable_auth ? Needs::nothing : Needs::permission;
  return {
      {{}, {welcome, Offers::page}, {run_for_session}, Needs::session_to_post},
      {{"login"}, {ask_to_log_in, Offers::page}, {log_in}},
      {{"logout"}, {}, {log_out, Offers::data, Takes::nothing}, Needs::session},
      {{"run"}, {}, {run_by_credentials}},
      {{"minions"}, {show_minions}, {post_minions}, Needs::session, Route::kAny},
      {{"jobs"}, {show_jobs}, {}, Needs::session, Route::kAny},
      {{"hook"}, {}, {post_hook, Offers::data, Takes::data}, to_hook, Route::kAny},
      {{"events"}, {show_events, Offers::events}},
      {{"all_events"}, {open_all_events, Offers::anything}, {}, Needs::nothing, 1},
      {{"formatted_events"}, {open_formatted_events, Offers::anything}, {}, Needs::nothing, 1},
  };
}

Response preflight(const RequestContext& context) {
  Response response{Status::no_content, {}, std::string()};
  if (!context.app.origins.allow_any()) return response;
  const std::string_view headers = context.environ.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS");
  const auto is_plain = [](char c) { return c >= ' ' && c < 0x7f; };
  if (!headers.empty() && std::all_of(headers.begin(), headers.end(), is_plain)) {
    response.headers.emplace_back("Access-Control-Allow-Headers", headers);
  }
  response.headers.emplace_back("Access-Control-Allow-Methods", "OPTIONS, GET, POST");
  return response;
}

/// An additional slash makes a path a different path.
bool is_spelled_as(const Route& route, std::string_view path) {
  const std::string spelled = path_text(route);
  return route.max_parts_below == 0 ? path == spelled : path.starts_with(spelled);
}

/// Refuses in Salt's order: an unknown path (404), the method (405), the Accept header (406), the session
/// (401), and the body (400, 406, 413 and 415).
Response answer_tornado(RequestContext& context) {
  find_route(context);
  if (context.route != nullptr && !is_spelled_as(*context.route, context.target.path))
    context.route = nullptr;
  if (const auto negotiated = negotiate(context); !negotiated) return fail(context, negotiated.error());
  if (context.target.method == "OPTIONS") return preflight(context);
  if (context.route == nullptr) return unknown_path(context);
  const Method method = method_of(context);
  const bool posts_to_minion = method.handler == post_minions && !context.below.empty();
  if (method.handler == nullptr || posts_to_minion) return wrong_method(context);
  if (!context.media) return not_acceptable(context);
  if (const auto checked = check_session(context); !checked) return fail(context, checked.error());
  const RestCherrypyOptions& options = context.app.options;
  const BodyRules rules{.json = options.common.lowstate.json,
                        .most = options.max_request_body_size,
                        .typed_forms = false,
                        .text_may_be_no_json = false,
                        .query = &context.target.query,
                        .key = kTornadoBodyKey};
  if (const auto taken = take_body(context, rules); !taken) return fail(context, taken.error());
  if (context.below.size() > context.route->max_parts_below) return nothing_matches(context);
  return method.handler(context);
}

void finish_tornado(const RequestContext& context, Response& response) {
  response.headers.emplace_back("Vary", context.app.origins.differ_by_origin() ? "Accept, Origin" : "Accept");
  if (!has_header(response, "Cache-Control")) response.headers.emplace_back("Cache-Control", "no-store");
}

constexpr Dialect kDialect{
    .name = "rest_tornado",
    .answer = answer_tornado,
    .finish = finish_tornado,
    .run_chunks = run_chunks,
    .status_of =
        [](Status status) {
          return Json::string(format("{} {}", static_cast<int>(status), http::reason(status)));
        },
    .no_session = kPleaseLogIn,
};

}  // namespace
}  // namespace tornado

Result<http::Application> make_rest_tornado(const RestTornadoOptions& options,
                                            std::shared_ptr<const client::NetapiClient> client,
                                            std::shared_ptr<StreamRegistry> streams, const Clock& clock) {
  RestCherrypyOptions common;
  common.common = options.common;
  common.cors_origin = options.cors_origin;
  common.webhook_disable_auth = options.webhook_disable_auth;
  common.max_request_body_size = options.max_body_size;
  return make_rest(tornado::kDialect, std::move(common), false, tornado::routes_of(options),
                   std::move(client), std::move(streams), clock);
}

}  // namespace rest_fcgi::netapi
