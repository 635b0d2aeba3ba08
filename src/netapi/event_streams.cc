// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "netapi/event_feed.h"
#include "netapi/handlers.h"
#include "netapi/lowstate_run.h"
#include "rest_fcgi/core/base64.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

// The handlers of URLs with event streams.

namespace rest_fcgi::netapi {
namespace {

using http::Response;
using http::Status;
using master::Session;
using Shows = FeedFormat::Shows;

constexpr std::uint16_t kLoggedOutOfWs = 4401;

bool has_word(std::string_view header, std::string_view word) {
  while (!header.empty()) {
    if (equal_without_case(trimmed(next_token(header, ',')), word)) return true;
  }
  return false;
}

/// Returns whether the text is a Sec-WebSocket-Key: 16 bytes in base64 (RFC 6455, section 4.2.1).
bool is_key(std::string_view text) {
  return text.size() == 24 && decoded_base64(text).value_or(std::string()).size() == 16;
}

/// Returns whether the request uses HTTP/1.0. A WebSocket needs HTTP/1.1 (RFC 6455, section 4.1).
bool is_too_old(const RequestContext& context) {
  return context.environ.get("SERVER_PROTOCOL") == "HTTP/1.0";
}

bool asks_to_upgrade(const RequestContext& context) {
  return context.target.method == "GET" && has_word(context.environ.get("HTTP_UPGRADE"), "websocket");
}

bool is_carried(const RequestContext& context, std::string_view variable) {
  return context.environ.get(variable) == "1";
}

Response needs_http(const RequestContext& context) {
  return refuse(
      context, Status::service_unavailable,
      "WebSockets cannot be sent over FastCGI. Set a port for this module in the master file, and let "
      "the web server pass WebSockets to that port.");
}

std::optional<Response> refused_version_or_key(const RequestContext& context) {
  if (context.environ.get("HTTP_SEC_WEBSOCKET_VERSION") != "13") {
    Response response = refuse(context, Status::upgrade_required,
                               "Sec-WebSocket-Version: found another version, expected 13.");
    response.headers.emplace_back("Sec-WebSocket-Version", "13");
    return response;
  }
  if (is_key(context.environ.get("HTTP_SEC_WEBSOCKET_KEY"))) return std::nullopt;
  return refuse(context, Status::bad_request, "Sec-WebSocket-Key: expected 16 bytes in base64.");
}

/// Returns the globs of the query fields `tag`. Errors: invocation, for too many or too long globs.
Result<std::vector<std::string>> tags_of(const RequestContext& context) {
  constexpr std::size_t kMaxTags = 8;
  constexpr std::size_t kMaxBytes = 128;
  constexpr std::ptrdiff_t kMaxStars = 4;
  std::vector<std::string> tags;
  for (const FormField& field : context.target.query) {
    if (field.name != "tag") continue;
    const auto stars = std::count(field.value.begin(), field.value.end(), '*');
    if (field.value.size() > kMaxBytes || stars > kMaxStars || tags.size() == kMaxTags) {
      return Error{
          ErrorKind::invocation,
          format("At most {} tags, each of at most {} bytes with at most {} '*', can be subscribed to.",
                 kMaxTags, kMaxBytes, kMaxStars)};
    }
    tags.push_back(field.value);
  }
  return tags;
}

/// If `after` is not empty, the stream begins after the event with this id.
Result<std::unique_ptr<EventFeed>> open_feed(const RequestContext& context, const Session& session,
                                             FeedFormat form, std::string_view after) {
  const App& app = context.app;
  auto tags = tags_of(context);
  if (!tags) return std::move(tags).error();
  form.tags = *std::move(tags);
  const auto permit = app.client->admit_events(session);
  if (!permit) return permit.error();
  auto subscription = app.streams->open(session, *permit);
  if (!subscription) return std::move(subscription).error();
  auto reader = app.client->master().events(*permit, after);
  const bool lost = !reader && reader.error().kind == ErrorKind::not_found && !after.empty();
  if (lost) reader = app.client->master().events(*permit, {});
  if (!reader) return std::move(reader).error();
  auto feed =
      std::make_unique<EventFeed>(std::move(form), *std::move(subscription), *std::move(reader), app.clock);
  if (lost) feed->report_lost_events(after);
  if (!lost && !after.empty()) feed->resume();
  return feed;
}

Response start(const RequestContext& context, const Session& session, Result<std::unique_ptr<EventFeed>> feed,
               Response head) {
  context.trail.write_other("events", session.user, session.eauth,
                            feed ? "ok" : row_for(feed.error().kind).outcome);
  if (!feed) return fail(context, feed.error());
  head.body = std::unique_ptr<http::Feed>(*std::move(feed));
  return head;
}

/// Opens a WebSocket. The stream begins to collect events before this function calls `make_setup`, so that no
/// event during the call is lost.
Response start_socket(const RequestContext& context, const Session& session, const FeedFormat& form,
                      const std::function<FormattedSetup()>& make_setup = {}) {
  auto feed = open_feed(context, session, form, in_query(context.target, "last_event_id"));
  if (feed && make_setup) (*feed)->set_formatted_setup(make_setup());
  return start(context, session, std::move(feed),
               {Status::switching_protocols, {{"Sec-WebSocket-Version", "13"}}, std::string()});
}

/// Returns a function that runs a lowstate chunk for the user of a session. The function copies what it needs
/// from `context`, because it runs later on another thread.
CallMaster master_caller(const RequestContext& context) {
  const Clock* const clock = &context.app.clock;
  return [clock, as_json = context.app.options.common.audit_as_json,
          limits = context.app.options.common.lowstate, remote = std::string(context.remote())](
             const client::NetapiClient& client, SecretView token, std::string_view json) {
    constexpr std::chrono::seconds kSessionTimeout{2};
    JsonDocument document;
    if (!document.parse(json)) return Json();
    auto chunks = lowstate::read(document.root(), limits, {.has_credentials = true});
    if (!chunks) return Json();
    for (lowstate::Chunk& chunk : *chunks) {
      chunk.credentials = {.kind = auth::Credentials::Kind::token,
                           .token = token,
                           .remote = remote,
                           .request_start = clock->steady()};
    }
    AuditTrail trail(*clock, remote, as_json);
    const Admission admission = admit(client, *chunks, {clock->steady() + kSessionTimeout, true}, trail);
    if (admission.refusal) return Json();
    const RunResult ran = run(client, admission.permits, trail);
    if (ran.failure || ran.completed.front().reply.items.empty()) return Json();
    return ran.completed.front().reply.items.front();
  };
}

/// Returns the data for rest_tornado's formatted view: the grains in the master's cache. If the user may not
/// run `grains.items` on all minions, returns only the text of the refusal.
FormattedSetup formatted_setup(const RequestContext& context, const Session& session) {
  FormattedSetup needs;
  needs.call = master_caller(context);
  JsonDocument document;
  const std::string chunk = R"([{"client": "local", "fun": "grains.items", "tgt": "*"}])";
  static_cast<void>(document.parse(chunk));
  auto chunks =
      lowstate::read(document.root(), context.app.options.common.lowstate, {.has_credentials = true});
  if (!chunks) return needs;
  chunks->front().credentials = {.kind = auth::Credentials::Kind::token,
                                 .token = session.token,
                                 .remote = context.remote(),
                                 .request_start = context.start};
  const auto permit = context.app.client->admit(chunks->front(), context.deadline);
  if (!permit) {
    needs.refused = permit.error().message;
    return needs;
  }
  needs.grains = needs.call(*context.app.client, session.token,
                            R"({"client": "runner", "fun": "cache.grains", "tgt": "*"})");
  return needs;
}

/// Returns the session of the token at the end of the path of rest_tornado's WebSocket.
std::variant<Session, Response> session_of_path(const RequestContext& context) {
  if (!is_carried(context, "rest_fcgi.websocket")) return needs_http(context);
  const std::string token = context.below.empty() ? std::string() : context.below.front();
  // The possible lengths of tokens in digits, for the values of Salt's `hash_type`.
  static constexpr std::array<std::size_t, 6> kLengths{32, 40, 56, 64, 96, 128};
  const bool is_one = only_of(token, kHexDigits) &&
                      std::find(kLengths.begin(), kLengths.end(), token.size()) != kLengths.end() &&
                      context.target.path == path_text(*context.route) + "/" + token;
  if (!is_one) return refuse(context, Status::not_found, "The last part of the path must be a token.");
  auto session = session_with(context, SecretView(token));
  if (!session) return fail(context, session.error());
  const auto bad = [&context](std::string_view why) { return refuse(context, Status::bad_request, why); };
  if (!asks_to_upgrade(context)) return bad(R"(Can "Upgrade" only to "WebSocket".)");
  if (!has_word(context.environ.get("HTTP_CONNECTION"), "upgrade")) {
    return bad(R"("Connection" must be "Upgrade".)");
  }
  if (is_too_old(context)) return bad("A WebSocket needs HTTP/1.1.");
  const Origins& origins = context.app.origins;
  if (!origins.allow_all() && origins.is_foreign(context.environ)) {
    return refuse(context, Status::forbidden, "Cross origin websockets not allowed");
  }
  if (auto refused = refused_version_or_key(context)) return *std::move(refused);
  return *std::move(session);
}

}  // namespace

Response stream_events(RequestContext& context, std::string_view content_type) {
  auto session = request_session(context);
  if (!session) return fail(context, session.error());
  if (!is_carried(context, "rest_fcgi.streams")) {
    return refuse(context, Status::service_unavailable,
                  "Apache's mod_fcgid cannot send event streams, because it waits for the end of each reply. "
                  "Use mod_proxy_fcgi, nginx or an HTTP port of rest_fcgi.");
  }
  context.session = *std::move(session);
  Response head{Status::ok,
                {{"Content-Type", std::string(content_type)},
                 {"Cache-Control", "no-cache"},
                 {"X-Accel-Buffering", "no"},
                 {"X-Auth-User", percent_encoded(context.session->user, "@\\+")}},
                std::string()};
  return start(context, *context.session,
               open_feed(context, *context.session, {}, context.environ.get("HTTP_LAST_EVENT_ID")),
               std::move(head));
}

Response open_websocket(RequestContext& context) {
  if (!is_carried(context, "rest_fcgi.websocket")) return needs_http(context);
  if (!in_query(context.target, "token").empty() || !in_query(context.target, "salt_token").empty()) {
    return refuse(
        context, Status::bad_request,
        "Send the token as X-Auth-Token, as a cookie, or as the last part of the path, not in the query.");
  }
  if (is_too_old(context) || !asks_to_upgrade(context) ||
      !has_word(context.environ.get("HTTP_CONNECTION"), "upgrade")) {
    return refuse(context, Status::upgrade_required, "Expected the handshake of a WebSocket (RFC 6455).");
  }
  if (auto refused = refused_version_or_key(context)) return *std::move(refused);
  auto session = context.below.empty() ? request_session(context)
                                       : session_with(context, SecretView(context.below.front()));
  if (!session) return fail(context, session.error());
  FeedFormat form{.shows = Shows::lines, .answers = true, .logged_out = kLoggedOutOfWs};
  const auto is_format = [](const FormField& field) { return field.name == "format_events"; };
  const auto& query = context.target.query;
  if (std::none_of(query.begin(), query.end(), is_format)) return start_socket(context, *session, form);
  form.shows = Shows::formatted;
  form.style.minions_are_listed = true;
  return start_socket(context, *session, form,
                      [&] { return FormattedSetup{.call = master_caller(context)}; });
}

Response open_all_events(RequestContext& context) {
  auto checked = session_of_path(context);
  if (auto* answer = std::get_if<Response>(&checked)) return std::move(*answer);
  return start_socket(context, std::get<Session>(checked), {.shows = Shows::json});
}

Response open_formatted_events(RequestContext& context) {
  auto checked = session_of_path(context);
  if (auto* answer = std::get_if<Response>(&checked)) return std::move(*answer);
  const Session& session = std::get<Session>(checked);
  const FeedFormat form{
      .shows = Shows::formatted,
      .style = {.minions_are_listed = false, .hears_presence_changes = true, .end = "\n\n"}};
  return start_socket(context, session, form, [&] { return formatted_setup(context, session); });
}

}  // namespace rest_fcgi::netapi
