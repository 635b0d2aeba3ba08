// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "netapi/lowstate_run.h"
#include "netapi/request_context.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/master/master.h"

/// The functions that rest_cherrypy and rest_tornado share. A handler is called after the checks of its
/// dialect.
namespace rest_fcgi::netapi {

// The functions of rest_application.cc, which are the steps of `Dialect::answer`.

/// Finds the route with the longest matching path. Sets `route`, `below` and `base`. Returns false outside of
/// `root_prefix`.
bool find_route(RequestContext& context);
/// Returns what the route does for the request's method. Without a route or a handler, returns an empty
/// Method.
[[nodiscard]] Method method_of(const RequestContext& context);
/// Sets the media types of the reply and of an error. Errors: malformed, for a malformed Accept header.
Result<void> negotiate(RequestContext& context);
/// Sets `session` if the route needs a session. Errors: the errors of `request_session`.
Result<void> check_session(RequestContext& context);
/// Sets `body` if the request has one. Errors: the errors of `read_body`, with an audit line.
Result<void> take_body(RequestContext& context, BodyRules rules);
[[nodiscard]] http::Response wrong_method(const RequestContext& context);
[[nodiscard]] http::Response not_acceptable(const RequestContext& context);
[[nodiscard]] http::Response unknown_path(const RequestContext& context);
[[nodiscard]] http::Response nothing_matches(const RequestContext& context);
[[nodiscard]] std::string allowed_methods(const Route& route);
[[nodiscard]] bool has_header(const http::Response& response, std::string_view name);

// The functions of sessions.cc.

/// Returns the session of X-Auth-Token or of the cookie. Errors: forbidden, for a cookie from a page of
/// another origin; authentication; the errors of `Master::session`.
Result<master::Session> request_session(const RequestContext& context);
/// Returns the session without a check of the page's origin. REQUIRES: pages of other origins cannot read the
/// response.
Result<master::Session> session_of_any_origin(const RequestContext& context);
/// Returns the session of `token`, if its user may send requests from the client's address. Errors: the
/// errors of `request_session`.
Result<master::Session> session_with(const RequestContext& context, SecretView token);
[[nodiscard]] bool has_no_permissions(const master::Session& session);
[[nodiscard]] Error no_session(const RequestContext& context);

/// Returns the object of a login, or the first object of a list. Errors: invocation.
Result<JsonValue> login_object(const RequestContext& context);
/// Checks that the object has what a login needs. Errors: authentication, which names the missing key.
Result<void> check_login(const RequestContext& context, JsonValue object);
/// Logs in and writes an audit line. With `needs_permission`, refuses users without permissions. A malformed
/// `token_expire` is an error if the user may choose the lifetime of the token. Otherwise `token_expire` is
/// ignored, as in Salt.
Result<master::Session> log_in_with(const RequestContext& context, JsonValue object, std::string_view what,
                                    bool needs_permission = false);
/// Writes the audit line of a refused login. Returns the error.
Error refused_login(const RequestContext& context, JsonValue object, std::string_view what, Error error);
/// Returns the reply with the session and its cookie, which ends at `cookie_end` if this is set.
[[nodiscard]] http::Response logged_in(const RequestContext& context, const master::Session& session,
                                       std::optional<WallTime> cookie_end);
[[nodiscard]] http::Response bad_request(const RequestContext& context, std::string sentence);
[[nodiscard]] http::Response log_out(RequestContext& context);
[[nodiscard]] http::Response make_tokens(RequestContext& context);  ///< Answers POST /token.

// The functions of calls.cc.

struct RunOptions {
  /// The session whose token is for all chunks. If it is null, each chunk has its own credentials.
  const master::Session* session = nullptr;
  lowstate::ReadOptions reading{};
  bool own = false;  ///< Whether the chunk's client and function are from this program, not from the request.
};

/// Reads the chunks, checks them with `check` if it is not null, admits them, and runs them with
/// `run_permits`. `failure` has Salt's text, and `failed` is null.
[[nodiscard]] RunResult run_lowstate(RequestContext& context, JsonValue chunks, const RunOptions& call,
                                     decltype(&run) run_permits,
                                     Result<void> (*check)(const RequestContext&, JsonValue));
/// Runs a chunk that this program has written as JSON. REQUIRES: the chunk has exactly one result.
[[nodiscard]] std::variant<client::Reply, http::Response> run_own(RequestContext& context,
                                                                  std::string_view chunk,
                                                                  const RunOptions& call);
/// Runs the chunks of the body and returns their results.
[[nodiscard]] http::Response run_body(RequestContext& context, const RunOptions& call);
[[nodiscard]] http::Response run_for_session(RequestContext& context);  ///< Answers POST /.
/// Answers GET / with those of the clients that the engine supports.
[[nodiscard]] http::Response greet(RequestContext& context, std::span<const lowstate::Client> clients);

// The functions of convenience.cc. Each makes one call.

/// Asks for the grains of the minions in the path, in the query field `mid`, or of all minions.
[[nodiscard]] std::variant<client::Reply, http::Response> ask_for_grains(RequestContext& context);
/// Asks for the job whose id is in the path.
[[nodiscard]] std::variant<client::Reply, http::Response> ask_for_job(RequestContext& context);
[[nodiscard]] http::Response list_jobs(RequestContext& context);
/// Runs the chunks of the body as `local_async`.
[[nodiscard]] ChunkResults start_jobs(RequestContext& context);
[[nodiscard]] http::Response reply_with(const RequestContext& context, const Json& item);
[[nodiscard]] http::Response show_keys(RequestContext& context);
[[nodiscard]] http::Response make_keys(RequestContext& context);

// The functions of hooks.cc.

[[nodiscard]] http::Response fire_hook(RequestContext& context, std::string tag, const Json& data);
/// Returns the headers of the request and its address, without credentials.
[[nodiscard]] Json hook_headers(const http::Environ& environ);

// The functions of event_streams.cc. `open_websocket` answers GET /ws. The last two functions answer GET
// /all_events/TOKEN and GET /formatted_events/TOKEN.

[[nodiscard]] http::Response stream_events(RequestContext& context, std::string_view content_type);
[[nodiscard]] http::Response open_websocket(RequestContext& context);
[[nodiscard]] http::Response open_all_events(RequestContext& context);
[[nodiscard]] http::Response open_formatted_events(RequestContext& context);

// The functions of files.cc.
[[nodiscard]] http::Response serve_static(RequestContext& context);
[[nodiscard]] http::Response serve_app(RequestContext& context);
[[nodiscard]] http::Response serve_favicon(RequestContext& context);
void warn_of_missing_files(const RestCherrypyOptions& options);

// The functions of page.cc.
[[nodiscard]] http::Response home_page(RequestContext& context);

/// Compresses a body of at least 1 KiB if Accept-Encoding has gzip (RFC 9110, section 12.5.3). Skips formats
/// that are already compressed, and bodies that would not become shorter. Defined in gzip.cc.
void compress_if_accepted(std::string_view accept_encoding, http::Response& response);

// The functions of stats.cc.
[[nodiscard]] http::Response show_stats(RequestContext& context);

class RequestCount {
 public:
  explicit RequestCount(const RequestContext& context);
  ~RequestCount();
  RequestCount(const RequestCount&) = delete;
  RequestCount& operator=(const RequestCount&) = delete;

  void write(const http::Response& response) const;

 private:
  const RequestContext& context_;
};

/// Returns the line for Salt's `log_access_file` in Apache's combined format: `ADDRESS - - [TIME] "REQUEST"
/// STATUS BYTES "REFERER" "USER-AGENT"`. Masks tokens and credentials with `***`. Escapes quotes, backslashes
/// and characters that are not printable ASCII. Defined in access_log.cc.
[[nodiscard]] std::string access_line(const http::Environ& environ, const http::Response& response,
                                      WallTime when);

/// Makes an application (rest_application.cc). Errors: configuration, for a malformed address or
/// origin.
Result<http::Application> make_rest(const Dialect& dialect, RestCherrypyOptions options, bool open_to_all,
                                    std::vector<Route> routes,
                                    std::shared_ptr<const client::NetapiClient> client,
                                    std::shared_ptr<StreamRegistry> streams, const Clock& clock);

}  // namespace rest_fcgi::netapi
