// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "netapi/lowstate_run.h"
#include "netapi/request_context.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/master/master.h"

/// The handlers of the URLs in the route tables. The method, the session, the body and the Accept header are
/// checked before a handler is called.
namespace rest_fcgi::netapi {

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

[[nodiscard]] http::Response ask_to_log_in(RequestContext& context);  ///< Answers GET /login.
[[nodiscard]] http::Response log_in(RequestContext& context);
[[nodiscard]] http::Response log_out(RequestContext& context);
[[nodiscard]] http::Response make_tokens(RequestContext& context);  ///< Answers POST /token.

// The functions of calls.cc.

inline constexpr std::string_view kNoMinions =
    "No minions matched the target. No command was sent, no jid was assigned.";

struct Call {
  SecretView token{};  ///< The token for all chunks. If it is empty, each chunk has its own credentials.
  lowstate::ReadOptions reading{};
  bool own = false;  ///< Whether the chunk's client and function are from this program, not from the request.
};

/// Runs the chunks and returns their results. If a chunk is refused or fails, returns the error response.
[[nodiscard]] std::variant<std::vector<Completed>, http::Response> run_chunks(RequestContext& context,
                                                                              JsonValue chunks,
                                                                              const Call& call);
/// Runs a chunk that this program has written as JSON. REQUIRES: the chunk has exactly one result.
[[nodiscard]] std::variant<client::Reply, http::Response> run_own(RequestContext& context,
                                                                  std::string_view chunk, const Call& call);

/// `greet` answers GET /, `run_for_session` answers POST /, and `run_by_credentials` answers POST /run.
[[nodiscard]] http::Response greet(RequestContext& context);
[[nodiscard]] http::Response run_for_session(RequestContext& context);
[[nodiscard]] http::Response run_by_credentials(RequestContext& context);

// The functions of convenience.cc.

[[nodiscard]] http::Response show_minions(RequestContext& context);
[[nodiscard]] http::Response start_job(RequestContext& context);  ///< Answers POST /minions.
[[nodiscard]] http::Response show_jobs(RequestContext& context);
[[nodiscard]] http::Response show_keys(RequestContext& context);
[[nodiscard]] http::Response make_keys(RequestContext& context);  ///< Answers POST /keys.

// The functions of hooks.cc.
[[nodiscard]] http::Response fire_hook(RequestContext& context);

// The functions of event_streams.cc. `stream_events` answers GET /events, and `open_websocket` answers GET
// /ws. The other functions answer GET /all_events/TOKEN and GET /formatted_events/TOKEN.
[[nodiscard]] http::Response stream_events(RequestContext& context);
[[nodiscard]] http::Response open_websocket(RequestContext& context);
[[nodiscard]] http::Response open_all_events(RequestContext& context);
[[nodiscard]] http::Response open_formatted_events(RequestContext& context);

// The functions of files.cc.
[[nodiscard]] http::Response serve_static(RequestContext& context);
[[nodiscard]] http::Response serve_app(RequestContext& context);
[[nodiscard]] http::Response serve_favicon(RequestContext& context);
/// Returns whether the request gets the HTML file of the option `app`.
[[nodiscard]] bool wants_app_page(const RequestContext& context);
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

/// Makes an application (rest_application.cc). Errors: configuration, for a malformed address or origin, or
/// a repeated route.
Result<http::Application> make_rest(const Dialect& dialect, RestCherrypyOptions options, bool open_to_all,
                                    std::vector<Route> routes,
                                    std::shared_ptr<const client::NetapiClient> client,
                                    std::shared_ptr<StreamRegistry> streams, const Clock& clock);

}  // namespace rest_fcgi::netapi
