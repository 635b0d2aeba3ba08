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

/// Declares the functions that answer each URL. The route tables in rest_cherrypy.cc and rest_tornado.cc
/// refer to these handlers. A handler is called after the method, the session, the body and the Accept header
/// were checked.
namespace rest_fcgi::netapi {

// sessions.cc

/// Returns the session of the header X-Auth-Token or of the cookie. Errors: forbidden, for a cookie that a
/// page of another origin sent; authentication, with the dialect's text; the errors of `Master::session`.
[[nodiscard]] Result<master::Session> request_session(const RequestContext& context);
/// Returns the session of the request without checking the page's origin. Only a page that scripts of other
/// origins cannot read may use this session.
[[nodiscard]] Result<master::Session> session_of_any_origin(const RequestContext& context);
/// Returns the session of this token. Its user must be allowed to use it from the client's address. Errors:
/// those of `request_session`.
[[nodiscard]] Result<master::Session> session_with(const RequestContext& context, SecretView token);
/// Returns whether the rules give the user no permission at all.
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

/// The options for running chunks.
struct Call {
  SecretView token{};  ///< The token for all chunks. If it is empty, each chunk has its own credentials.
  lowstate::ReadOptions reading{};
  bool own = false;  ///< This program chose the client and the function. If false, the caller chose them.
};

/// Returns the results of the chunks, or the error response if one was refused or failed.
[[nodiscard]] std::variant<std::vector<Completed>, http::Response> run_chunks(RequestContext& context,
                                                                              JsonValue chunks,
                                                                              const Call& call);
/// Runs one chunk that this program made. `chunk` is JSON, and its call returns one item.
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
/// Returns whether the response to this request is the file of the option `app`.
[[nodiscard]] bool wants_app_page(const RequestContext& context);
/// Logs a warning for each configured file or folder that cannot be opened.
void warn_of_missing_files(const RestCherrypyOptions& options);

// page.cc
[[nodiscard]] http::Response home_page(RequestContext& context);

// gzip.cc
/// Compresses the body if Accept-Encoding has gzip (RFC 9110, section 12.5.3). Bodies below 1 KiB stay as
/// they are, and so do bodies that would not become shorter. Compressed formats, such as pictures, are not
/// compressed again.
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
/// Returns the line for Salt's `log_access_file` in the format of CherryPy, which is Apache's combined
/// format: `ADDRESS - - [TIME] "REQUEST" STATUS BYTES "REFERER" "USER-AGENT"`. Replaces possible tokens, and
/// the values of credentials in the query, by `***`. Escapes quotes, backslashes and characters that are not
/// printable ASCII, so that a request cannot forge a line.
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
