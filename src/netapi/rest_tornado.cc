// SPDX-License-Identifier: MIT
#include <utility>

#include "netapi/handlers.h"
#include "rest_fcgi/netapi/rest.h"

namespace rest_fcgi::netapi {
namespace {

using lowstate::Client;

/// Salt's clients in the order in which the reply to `GET /` lists them.
constexpr Client kTornadoClients[] = {Client::local, Client::local_async, Client::runner,
                                      Client::runner_async};

constexpr Dialect kTornado{
    .clients = kTornadoClients,
    .no_session = "Please log in",
    .status_is_text = true,
    .checks_session_last = true,
    .exact_slashes = true,
    .typed_forms = false,
    .text_may_be_no_json = false,
    .login_is_401 = true,
    .strict_logins = true,
    .cookies_expire = false,
    .run_takes_sessions = true,
    .runs_in_parallel = true,
    .uses_tornado_texts = true,
    .jobs_have_info = false,
    .started_have_links = false,
    .overrides_client = false,
    .missing_is_404 = true,
    .hooks_have_body = false,
    .full_headers = false,
    .body_limit_key = kTornadoBodyKey,
};

std::vector<Route> routes_of(const RestTornadoOptions& options) {
  return {
      {.path = {},
       .get = greet,
       .post = run_for_session,
       .needs = Route::Needs::session_to_post,
       .shows_pages = true},
      {.path = {"login"}, .get = ask_to_log_in, .post = log_in, .shows_pages = true},
      {.path = {"logout"}, .post = log_out, .needs = Route::Needs::session, .reads_body = false},
      {.path = {"run"}, .post = run_by_credentials},
      {.path = {"minions"},
       .get = show_minions,
       .post = start_job,
       .needs = Route::Needs::session,
       .max_parts_below = Route::kAny,
       .post_below = false},
      {.path = {"jobs"}, .get = show_jobs, .needs = Route::Needs::session, .max_parts_below = Route::kAny},
      {.path = {"hook"},
       .post = fire_hook,
       .needs = options.webhook_disable_auth ? Route::Needs::nothing : Route::Needs::session,
       .needs_permission = true,
       .max_parts_below = Route::kAny,
       .takes_lowstate = false},
      {.path = {"events"}, .get = stream_events, .sends_events = true},
      {.path = {"all_events"}, .get = open_all_events, .max_parts_below = 1, .serves_files = true},
      {.path = {"formatted_events"},
       .get = open_formatted_events,
       .max_parts_below = 1,
       .serves_files = true},
  };
}

}  // namespace

Result<http::Application> make_rest_tornado(const RestTornadoOptions& options,
                                            std::shared_ptr<const client::NetapiClient> client,
                                            std::shared_ptr<StreamRegistry> streams, const Clock& clock) {
  RestCherrypyOptions common;
  common.common = options.common;
  common.cors_origin = options.cors_origin;
  common.webhook_disable_auth = options.webhook_disable_auth;
  common.max_request_body_size = options.max_body_size;
  return make_rest(kTornado, std::move(common), false, routes_of(options), std::move(client),
                   std::move(streams), clock);
}

}  // namespace rest_fcgi::netapi
