// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "netapi/access.h"
#include "netapi/audit.h"
#include "netapi/media.h"
#include "netapi/replies.h"
#include "netapi/request.h"
#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/http/application.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/netapi/options.h"
#include "rest_fcgi/netapi/streams.h"

/// One request on its way through an application of Salt's REST interfaces, and what all of them share.
namespace rest_fcgi::netapi {

/// All in which the two interfaces differ, but for which URLs there are: that is in their tables of routes.
struct Dialect {
  std::span<const lowstate::Client> clients;  ///< what the greeting names, where the engine has them
  std::string_view no_session;                ///< what somebody without a session is told
  bool status_lines;                          ///< an error's `status` is `404 Not Found`; else the number
  bool pages;                                 ///< browsers get pages
  bool session_last;         ///< a wrong method or Accept is refused before the session is looked at
  bool exact_slashes;        ///< a slash too many makes another URL
  bool typed_forms;          ///< see `BodyRules`; without, forms also have the fields of the query
  bool text_may_be_no_json;  ///< see `BodyRules`
  bool login_is_401;         ///< GET /login
  bool strict_logins;        ///< a missing key is named; who may do nothing does not get in
  bool lasting_cookies;      ///< they say when they end
  bool run_takes_sessions;   ///< /run looks for a token in the header and the cookie first
  bool runs_at_once;         ///< the chunks of a list; else one after the other
  bool own_words;            ///< why a chunk gave nothing is said in the list of items, in its own words
  bool jobs_have_info;       ///< /jobs/JID has all of a job, and its returns by themselves
  bool started_have_links;   ///< POST /minions says where the jobs are that it started
  bool overrides_client;     ///< POST /minions runs all chunks as `local_async`; else others are refused
  bool missing_is_404;       ///< a minion or job that is not there
  bool hooks_have_body;      ///< a hook's event has the raw body, and `query` where the other has `get`
  bool full_headers;         ///< Allow, what may be cached, gzip, and all of CORS; else nothing is cached
};

struct Exchange;
using Handler = http::Response (*)(Exchange&);

/// One row of a table of URLs.
struct Route {
  enum class Needs { nothing, session_to_get, session_to_post, session };

  std::vector<std::string> path;  ///< its parts
  std::string_view option{};      ///< the key of the configuration that says the path; empty: it is fixed
  Handler get = nullptr;          ///< and HEAD; null: not allowed
  Handler post = nullptr;
  Needs needs = Needs::nothing;
  bool needs_permission = false;  ///< a session of somebody who may do nothing does not count
  static constexpr std::size_t kAny = static_cast<std::size_t>(-1);
  std::size_t most_parts = 0;     ///< of the path below it
  bool shows_pages = false;       ///< GET has an HTML form, where the dialect has pages
  bool serves_files = false;      ///< as they are, or something of its own, whatever Accept says
  bool sends_events = false;      ///< is a stream of events
  bool posts_negotiate = true;    ///< a POST is answered in JSON or YAML; else as it is
  bool post_below = true;         ///< POST is allowed below it as well
  bool reads_body = true;         ///< of a POST
  bool takes_lowstate = true;     ///< see `BodyRules::forms_are_lowstate`; a hook takes anything
  std::string_view no_session{};  ///< instead of the dialect's sentence
  std::string_view cache{};       ///< Cache-Control, whoever asks
};

/// Its path as one text: `/hook`.
[[nodiscard]] std::string path_text(const Route& route);

/// Requests that were answered.
struct Counters {
  WallTime since;
  std::atomic<std::uint64_t> requests{0}, current{0}, bytes_read{0}, bytes_written{0}, errors{0};
  std::mutex mutex;
  std::map<std::string, std::uint64_t> by_url;  // guarded by mutex; by a route's path
};

/// An application: what all its requests share. Immutable but for `counters`; thread-safe.
struct App {
  const Dialect& dialect;
  RestCherrypyOptions options;
  std::shared_ptr<const client::NetapiClient> client;
  std::shared_ptr<Streams> streams;
  const Clock& clock;
  std::vector<Route> routes;
  Acl acl;
  http::Addresses authorized;
  Origins origins;
  std::vector<std::string> root;  ///< parts of `root_prefix`
  std::unique_ptr<Counters> counters;
};

/// One request. Borrows all that it refers to; lives as long as the request.
struct Exchange {
  const App& app;
  const http::Environ& environ;
  const Target& target;
  JsonDocument& document;
  AuditTrail& trail;
  SteadyTime deadline;
  const Route* route = nullptr;
  std::vector<std::string> below;            ///< the path's parts behind the route's
  std::string base;                          ///< what stands before all URLs, without a slash at its end
  std::optional<Media> media = Media::json;  ///< of the reply; absent: nothing that we speak is wanted
  Media error_media = Media::json;
  std::optional<master::Session> session;
  Body body;
  std::vector<master::StartGate> gates{};  ///< of the asynchronous jobs among its chunks

  [[nodiscard]] std::string_view remote() const { return environ.get("REMOTE_ADDR"); }
};

/// The text as it is, in JSON, or as YAML where that is wanted. `json` is one JSON value.
[[nodiscard]] http::Response reply(const Exchange& exchange, http::Status status, std::string json);

/// An error that has a status of its own.
[[nodiscard]] http::Response refuse(const Exchange& exchange, http::Status status, std::string_view sentence);

/// An error, with what ran before it, and a line in the log.
[[nodiscard]] http::Response fail(const Exchange& exchange, const Error& error,
                                  const std::vector<Completed>& completed = {});

/// `text/html;charset=utf-8`, with a policy that lets the page use nothing but itself, and scripts and styles
/// that carry the nonce.
[[nodiscard]] http::Response page_reply(http::Status status, std::string html, std::string_view nonce);

/// Text for HTML.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace rest_fcgi::netapi
