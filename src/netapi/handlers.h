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

/// The handlers of the URLs in the route tables. A handler is called after the method, the session, the body
/// and the Accept header were checked.
namespace rest_fcgi::netapi {

// The functions of sessions.cc.

/// Returns the session of X-Auth-Token or of the cookie. Errors: forbidden, for a cookie from another
/// origin's page; authentication; those of `Master::session`.
[[nodiscard]] Result<master::Session> request_session(const RequestContext& context);
/// Returns the session without a check of the page's origin, for pages that other origins cannot read.
[[nodiscard]] Result<master::Session> session_of_any_origin(const RequestContext& context);
/// Returns the session of this token, if its user may send requests from the client's address. Errors: those
/// of `request_session`.
[[nodiscard]] Result<master::Session> session_with(const RequestContext& context, SecretView token);
[[nodiscard]] bool has_no_permissions(const master::Session& session);
[[nodiscard]] Error no_session(const RequestContext& context);

[[nodiscard]] http::Response ask_to_log_in(RequestContext& context);  ///< answers GET /login
[[nodiscard]] http::Response log_in(RequestContext& context);
[[nodiscard]] http::Response log_out(RequestContext& context);
[[nodiscard]] http::Response make_tokens(RequestContext& context);  ///< answers POST /token

// The functions of calls.cc.

inline constexpr std::string_view kNoMinions =
    "No minions matched the target. No command was sent, no jid was assigned.";

struct Call {
  SecretView token{};  ///< the token for all chunks; if empty, each chunk has credentials
  lowstate::ReadOptions reading{};
  bool own = false;  ///< this program chose the client and the function
};

/// Returns the results of the chunks, or the error response if a chunk was refused or failed.
[[nodiscard]] std::variant<std::vector<Completed>, http::Response> run_chunks(RequestContext& context,
                                                                              JsonValue chunks,
                                                                              const Call& call);
/// Runs a JSON chunk that this program made and that returns one item.
[[nodiscard]] std::variant<client::Reply, http::Response> run_own(RequestContext& context,
                                                                  std::string_view chunk, const Call& call);

[[nodiscard]] http::Response greet(RequestContext& context);               ///< answers GET /
[[nodiscard]] http::Response run_for_session(RequestContext& context);     ///< answers POST /
[[nodiscard]] http::Response run_by_credentials(RequestContext& context);  ///< answers POST /run

// The functions of convenience.cc.

[[nodiscard]] http::Response show_minions(RequestContext& context);
[[nodiscard]] http::Response start_job(RequestContext& context);  ///< answers POST /minions
[[nodiscard]] http::Response show_jobs(RequestContext& context);
[[nodiscard]] http::Response show_keys(RequestContext& context);
[[nodiscard]] http::Response make_keys(RequestContext& context);  ///< answers POST /keys

// The functions of hooks.cc.
[[nodiscard]] http::Response fire_hook(RequestContext& context);

// The functions of event_streams.cc.
[[nodiscard]] http::Response stream_events(RequestContext& context);    ///< answers GET /events
[[nodiscard]] http::Response open_websocket(RequestContext& context);   ///< answers GET /ws
[[nodiscard]] http::Response open_all_events(RequestContext& context);  ///< answers GET /all_events/TOKEN
[[nodiscard]] http::Response open_formatted_events(
    RequestContext& context);  ///< answers GET /formatted_events/TOKEN

// The functions of files.cc.
[[nodiscard]] http::Response serve_static(RequestContext& context);
[[nodiscard]] http::Response serve_app(RequestContext& context);
[[nodiscard]] http::Response serve_favicon(RequestContext& context);
/// Returns whether the response is the file of the option `app`.
[[nodiscard]] bool wants_app_page(const RequestContext& context);
void warn_of_missing_files(const RestCherrypyOptions& options);

// The functions of page.cc.
[[nodiscard]] http::Response home_page(RequestContext& context);

// The functions of gzip.cc.
/// Compresses a body of at least 1 KiB if Accept-Encoding has gzip (RFC 9110, section 12.5.3), unless its
/// format is compressed already or the result is not shorter.
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

// The functions of access_log.cc.
/// Returns the line for Salt's `log_access_file` in Apache's combined format: `ADDRESS - - [TIME] "REQUEST"
/// STATUS BYTES "REFERER" "USER-AGENT"`. Masks tokens and credentials with `***`. Escapes quotes, backslashes
/// and characters that are not printable ASCII.
[[nodiscard]] std::string access_line(const http::Environ& environ, const http::Response& response,
                                      WallTime when);

// The functions of rest_application.cc.
/// Makes an application. Errors: configuration, for a malformed address or origin, or a repeated route.
[[nodiscard]] Result<http::Application> make_rest(const Dialect& dialect, RestCherrypyOptions options,
                                                  bool open_to_all, std::vector<Route> routes,
                                                  std::shared_ptr<const client::NetapiClient> client,
                                                  std::shared_ptr<StreamRegistry> streams,
                                                  const Clock& clock);

}  // namespace rest_fcgi::netapi
