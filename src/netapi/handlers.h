// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "netapi/exchange.h"
#include "netapi/lowstate_run.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/master/master.h"

/// What answers each URL; the tables of routes in rest_cherrypy.cc and rest_tornado.cc say which one. A
/// handler is called when method, session, body and Accept header are fine.
namespace rest_fcgi::netapi {

// sessions.cc

/// Who asks, by X-Auth-Token or the cookie. Errors: forbidden, for a cookie that a foreign page had sent;
/// authentication, in the dialect's words; those of `Master::session`.
[[nodiscard]] Result<master::Session> session_of(const Exchange& exchange);
/// The same, whoever's page made the browser send its cookie: for what only the browser's user gets to see.
[[nodiscard]] Result<master::Session> shown_session(const Exchange& exchange);
/// Who has this token, and may come from where the request comes from. Errors: as of session_of.
[[nodiscard]] Result<master::Session> session_with(const Exchange& exchange, SecretView token);
/// Does no rule name them?
[[nodiscard]] bool has_no_permissions(const master::Session& session);
/// What somebody without a session is told.
[[nodiscard]] Error no_session(const Exchange& exchange);

[[nodiscard]] http::Response ask_to_log_in(Exchange& exchange);  ///< GET /login
[[nodiscard]] http::Response log_in(Exchange& exchange);
[[nodiscard]] http::Response log_out(Exchange& exchange);
[[nodiscard]] http::Response make_tokens(Exchange& exchange);  ///< POST /token

// calls.cc

inline constexpr std::string_view kNoMinions =
    "No minions matched the target. No command was sent, no jid was assigned.";

/// How chunks are run.
struct Call {
  SecretView token{};  ///< whose they are; empty: each chunk says it
  lowstate::ReadOptions reading{};
  bool own = false;  ///< client and function are ours, not the caller's
};

/// What the chunks gave; or the answer, where one was refused or failed.
[[nodiscard]] std::variant<std::vector<Completed>, http::Response> run_chunks(Exchange& exchange,
                                                                              JsonValue chunks,
                                                                              const Call& call);
/// The same for one chunk that is ours and gives one item. `chunk` is JSON.
[[nodiscard]] std::variant<client::Reply, http::Response> run_own(Exchange& exchange, std::string_view chunk,
                                                                  const Call& call);

[[nodiscard]] http::Response greet(Exchange& exchange);               ///< GET /
[[nodiscard]] http::Response run_for_session(Exchange& exchange);     ///< POST /
[[nodiscard]] http::Response run_by_credentials(Exchange& exchange);  ///< POST /run

// convenience.cc: URLs that stand for one call

[[nodiscard]] http::Response show_minions(Exchange& exchange);
[[nodiscard]] http::Response start_job(Exchange& exchange);  ///< POST /minions
[[nodiscard]] http::Response show_jobs(Exchange& exchange);
[[nodiscard]] http::Response show_keys(Exchange& exchange);
[[nodiscard]] http::Response make_keys(Exchange& exchange);  ///< POST /keys

// hooks.cc
[[nodiscard]] http::Response fire_hook(Exchange& exchange);

// event_streams.cc
[[nodiscard]] http::Response stream_events(Exchange& exchange);          ///< GET /events
[[nodiscard]] http::Response open_websocket(Exchange& exchange);         ///< GET /ws
[[nodiscard]] http::Response open_all_events(Exchange& exchange);        ///< GET /all_events/TOKEN
[[nodiscard]] http::Response open_formatted_events(Exchange& exchange);  ///< GET /formatted_events/TOKEN

// files.cc
[[nodiscard]] http::Response serve_static(Exchange& exchange);
[[nodiscard]] http::Response serve_app(Exchange& exchange);
[[nodiscard]] http::Response serve_favicon(Exchange& exchange);
/// Is the file of the option `app` what a browser gets here?
[[nodiscard]] bool wants_app_page(const Exchange& exchange);
/// Tells the log which of the options' files and folders cannot be opened now.
void warn_of_missing_files(const RestCherrypyOptions& options);

// page.cc
[[nodiscard]] http::Response own_page(Exchange& exchange);

// tar.cc

/// One file of an archive.
struct TarMember {
  std::string_view name;  ///< REQUIRES: at most 100 bytes
  std::string_view content;
  unsigned mode;
};

/// A tar archive (POSIX.1-1988, ustar) of root's files, from the year 1970, whose size is a multiple of
/// 10240 bytes, as tar writes it.
[[nodiscard]] std::string tar_of(const std::vector<TarMember>& members);

// gzip.cc
/// Packs a text of 1 KiB and more where an Accept-Encoding header takes gzip (RFC 9110, section 12.5.3) and
/// it becomes shorter. What is packed in itself, such as a picture, stays as it is.
void pack_where_accepted(std::string_view accept_encoding, http::Response& response);

// stats.cc
[[nodiscard]] http::Response show_stats(Exchange& exchange);

/// Counts one request, for /stats.
class Counted {
 public:
  explicit Counted(const Exchange& exchange);
  ~Counted();
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  /// What was answered.
  void write(const http::Response& response) const;

 private:
  const Exchange& exchange_;
};

// access_log.cc
/// The line of one request for Salt's `log_access_file`, as CherryPy writes it, with a time zone: the
/// combined format of Apache's logs, `ADDRESS - - [TIME] "REQUEST" STATUS BYTES "REFERER" "USER-AGENT"`. What
/// could be a token, and what a query says about who somebody is, stands there as `***`; quotes, backslashes
/// and what is not printable ASCII is escaped as Apache does it, so that no request can forge a line.
[[nodiscard]] std::string access_line(const http::Environ& environ, const http::Response& response,
                                      WallTime when);

// rest_application.cc
/// Puts an application together. Errors: configuration, for addresses and origins that are none, and
/// for a path of the configuration where another route is.
[[nodiscard]] Result<http::Application> make_rest(const Dialect& dialect, RestCherrypyOptions options,
                                                  bool open_to_all, std::vector<Route> routes,
                                                  std::shared_ptr<const client::NetapiClient> client,
                                                  std::shared_ptr<Streams> streams, const Clock& clock);

}  // namespace rest_fcgi::netapi
