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

/// The functions that answer each URL. The route tables in rest_cherrypy.cc and rest_tornado.cc refer to
/// them. A handler is called after method, session, body and Accept header were checked.
namespace rest_fcgi::netapi {

// sessions.cc

/// Returns the session of X-Auth-Token or of the cookie. Errors: forbidden, for a cookie that a page of
/// another origin sent; authentication, with the dialect's text; those of `Master::session`.
[[nodiscard]] Result<master::Session> request_session(const RequestContext& context);
/// Returns the same session without checking the origin, for pages that only the browser's user can see.
[[nodiscard]] Result<master::Session> session_of_any_origin(const RequestContext& context);
/// Returns the session of this token, if its user may use it from the client's address. Errors: as for
/// request_session.
[[nodiscard]] Result<master::Session> session_with(const RequestContext& context, SecretView token);
/// Returns whether no rule gives the user any permission.
[[nodiscard]] bool has_no_permissions(const master::Session& session);
/// Returns the error for a request without a valid session.
[[nodiscard]] Error no_session(const RequestContext& context);

[[nodiscard]] http::Response ask_to_log_in(RequestContext& context);  ///< GET /login
[[nodiscard]] http::Response log_in(RequestContext& context);
[[nodiscard]] http::Response log_out(RequestContext& context);
[[nodiscard]] http::Response make_tokens(RequestContext& context);  ///< POST /token

// calls.cc

inline constexpr std::string_view kNoMinions =
    "No minions matched the target. No command was sent, no jid was assigned.";

/// How chunks are run.
struct Call {
  SecretView token{};  ///< token for all chunks; empty: each chunk has its own credentials
  lowstate::ReadOptions reading{};
  bool own = false;  ///< we chose client and function, not the caller
};

/// Returns the results of the chunks, or the error response if one was refused or failed.
[[nodiscard]] std::variant<std::vector<Completed>, http::Response> run_chunks(RequestContext& context,
                                                                              JsonValue chunks,
                                                                              const Call& call);
/// Runs one chunk of ours, given as JSON, which returns one item.
[[nodiscard]] std::variant<client::Reply, http::Response> run_own(RequestContext& context,
                                                                  std::string_view chunk, const Call& call);

[[nodiscard]] http::Response greet(RequestContext& context);               ///< GET /
[[nodiscard]] http::Response run_for_session(RequestContext& context);     ///< POST /
[[nodiscard]] http::Response run_by_credentials(RequestContext& context);  ///< POST /run

// convenience.cc: URLs that stand for one call

[[nodiscard]] http::Response show_minions(RequestContext& context);
[[nodiscard]] http::Response start_job(RequestContext& context);  ///< POST /minions
[[nodiscard]] http::Response show_jobs(RequestContext& context);
[[nodiscard]] http::Response show_keys(RequestContext& context);
[[nodiscard]] http::Response make_keys(RequestContext& context);  ///< POST /keys

// hooks.cc
[[nodiscard]] http::Response fire_hook(RequestContext& context);

// event_streams.cc
[[nodiscard]] http::Response stream_events(RequestContext& context);          ///< GET /events
[[nodiscard]] http::Response open_websocket(RequestContext& context);         ///< GET /ws
[[nodiscard]] http::Response open_all_events(RequestContext& context);        ///< GET /all_events/TOKEN
[[nodiscard]] http::Response open_formatted_events(RequestContext& context);  ///< GET /formatted_events/TOKEN

// files.cc
[[nodiscard]] http::Response serve_static(RequestContext& context);
[[nodiscard]] http::Response serve_app(RequestContext& context);
[[nodiscard]] http::Response serve_favicon(RequestContext& context);
/// Returns whether a browser gets the file of the option `app` here.
[[nodiscard]] bool wants_app_page(const RequestContext& context);
/// Logs a warning for each file or folder of the options that cannot be opened.
void warn_of_missing_files(const RestCherrypyOptions& options);

// page.cc
[[nodiscard]] http::Response home_page(RequestContext& context);

// gzip.cc
/// Compresses a text of 1 KiB or more if Accept-Encoding has gzip (RFC 9110, section 12.5.3) and the result
/// is shorter. Compressed formats, such as pictures, are left alone.
void compress_if_accepted(std::string_view accept_encoding, http::Response& response);

// stats.cc
[[nodiscard]] http::Response show_stats(RequestContext& context);

/// Counts one request for /stats, from construction to destruction.
class RequestCount {
 public:
  explicit RequestCount(const RequestContext& context);
  ~RequestCount();
  RequestCount(const RequestCount&) = delete;
  RequestCount& operator=(const RequestCount&) = delete;

  /// Counts the response.
  void write(const http::Response& response) const;

 private:
  const RequestContext& context_;
};

// access_log.cc
/// Returns the line of Salt's `log_access_file` as CherryPy writes it, in Apache's combined format: `ADDRESS
/// - - [TIME] "REQUEST" STATUS BYTES "REFERER" "USER-AGENT"`. Everything that could be a token and the values
/// of credentials in the query are replaced by `***`. Quotes, backslashes and characters that are not
/// printable ASCII are escaped, so that no request can forge a line.
[[nodiscard]] std::string access_line(const http::Environ& environ, const http::Response& response,
                                      WallTime when);

// rest_application.cc
/// Makes an application. Errors: configuration, for a malformed address or origin, and for two routes with
/// the same path.
[[nodiscard]] Result<http::Application> make_rest(const Dialect& dialect, RestCherrypyOptions options,
                                                  bool open_to_all, std::vector<Route> routes,
                                                  std::shared_ptr<const client::NetapiClient> client,
                                                  std::shared_ptr<StreamRegistry> streams,
                                                  const Clock& clock);

}  // namespace rest_fcgi::netapi
