// SPDX-License-Identifier: MIT
#include <utility>

#include "netapi/handlers.h"
#include "rest_fcgi/netapi/rest.h"

namespace rest_fcgi::netapi {
namespace {

using lowstate::Client;

/// Salt's clients in the order in which the reply to `GET /` lists them.
constexpr Client kCherrypyClients[] = {Client::local,        Client::local_async, Client::local_batch,
                                       Client::local_subset, Client::runner,      Client::runner_async,
                                       Client::ssh,          Client::wheel,       Client::wheel_async};

constexpr Dialect kCherrypy{
    .clients = kCherrypyClients,
    .no_session = "No permission -- see authorization schemes",
    .status_is_text = false,
    .checks_session_last = false,
    .exact_slashes = false,
    .typed_forms = true,
    .text_may_be_no_json = true,
    .login_is_401 = false,
    .strict_logins = false,
    .cookies_expire = true,
    .run_takes_sessions = false,
    .runs_in_parallel = false,
    .uses_tornado_texts = false,
    .jobs_have_info = true,
    .started_have_links = true,
    .overrides_client = true,
    .missing_is_404 = false,
    .hooks_have_body = true,
    .full_headers = true,
    .body_limit_key = kCherrypyBodyKey,
};

void add_sessions(std::vector<Route>& routes) {
  routes.push_back(
      {.path = {"login"}, .get = ask_to_log_in, .post = log_in, .shows_pages = true, .cache = "no-store"});
  routes.push_back(
      {.path = {"logout"}, .post = log_out, .needs = Route::Needs::session, .reads_body = false});
  routes.push_back({.path = {"minions"},
                    .get = show_minions,
                    .post = start_job,
                    .needs = Route::Needs::session,
                    .max_parts_below = 1});
  routes.push_back({.path = {"jobs"},
                    .get = show_jobs,
                    .post = run_for_session,
                    .needs = Route::Needs::session,
                    .max_parts_below = 1});
}

void add_files(const RestCherrypyOptions& options, std::vector<Route>& routes) {
  if (!options.static_root.empty()) {
    routes.push_back({.path = parts_of(options.static_path),
                      .option = "static_path",
                      .get = serve_static,
                      .max_parts_below = Route::kAny,
                      .serves_files = true});
  }
  if (!options.app.empty()) {
    routes.push_back({.path = parts_of(options.app_path),
                      .option = "app_path",
                      .get = serve_app,
                      .max_parts_below = Route::kAny,
                      .serves_files = true});
  }
  if (!options.favicon.empty()) {
    routes.push_back({.path = {"favicon.ico"}, .get = serve_favicon, .serves_files = true});
  }
}

std::vector<Route> routes_of(const RestCherrypyOptions& options) {
  std::vector<Route> routes;
  for (const std::vector<std::string>& path : {std::vector<std::string>{}, {"index"}}) {
    routes.push_back({.path = path,
                      .get = greet,
                      .post = run_for_session,
                      .needs = Route::Needs::session_to_post,
                      .shows_pages = true});
  }
  routes.push_back({.path = {"token"}, .get = greet, .post = make_tokens, .cache = "no-store"});
  routes.push_back({.path = {"run"}, .get = greet, .post = run_by_credentials, .cache = "no-store"});
  // POST /keys needs no session, because the body of the request has the credentials.
  routes.push_back({.path = {"keys"},
                    .get = show_keys,
                    .post = make_keys,
                    .needs = Route::Needs::session_to_get,
                    .max_parts_below = 1,
                    .posts_negotiate = false,
                    .no_session = "No authentication credentials given",
                    .cache = "no-store"});
  routes.push_back({.path = parts_of(options.webhook_url),
                    .option = "webhook_url",
                    .post = fire_hook,
                    .needs = options.webhook_disable_auth ? Route::Needs::nothing : Route::Needs::session,
                    .needs_permission = true,
                    .max_parts_below = Route::kAny,
                    .takes_lowstate = false});
  routes.push_back({.path = {"stats"},
                    .get = show_stats,
                    .needs = options.stats_disable_auth ? Route::Needs::nothing : Route::Needs::session,
                    .needs_permission = true});
  routes.push_back({.path = {"events"}, .get = stream_events, .serves_files = true, .sends_events = true});
  routes.push_back({.path = {"ws"}, .get = open_websocket, .max_parts_below = 1, .serves_files = true});
  if (options.enable_sessions) add_sessions(routes);
  add_files(options, routes);
  return routes;
}

}  // namespace

Result<http::Application> make_rest_cherrypy(const RestCherrypyOptions& options,
                                             std::shared_ptr<const client::NetapiClient> client,
                                             std::shared_ptr<StreamRegistry> streams, const Clock& clock) {
  warn_of_missing_files(options);
  return make_rest(kCherrypy, options, true, routes_of(options), std::move(client), std::move(streams),
                   clock);
}

}  // namespace rest_fcgi::netapi
