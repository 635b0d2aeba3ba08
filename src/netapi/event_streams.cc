// SPDX-License-Identifier: MIT
#include <algorithm>
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
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

// Streams of events: who may have one, and in which form.

namespace rest_fcgi::netapi {
namespace {

using http::Response;
using http::Status;
using master::Session;
using Shows = FeedForm::Shows;

constexpr std::uint16_t kLoggedOutOfWs = 4401;

/// Is it one of a header's words, which have commas between?
bool has_word(std::string_view header, std::string_view word) {
  while (!header.empty()) {
    if (equal_without_case(trimmed(next_token(header, ',')), word)) return true;
  }
  return false;
}

/// 16 bytes in base64 (RFC 6455, 4.2.1).
bool is_key(std::string_view text) {
  constexpr std::size_t kDigits = 22;
  const auto is_of_key = [](char c) { return is_letter(c) || is_digit(c) || c == '+' || c == '/'; };
  return text.size() == kDigits + 2 && text.ends_with("==") &&
         std::all_of(text.begin(), text.begin() + kDigits, is_of_key);
}

/// WebSockets begin with HTTP/1.1.
bool is_too_old(const Exchange& exchange) {
  return exchange.environ.get("SERVER_PROTOCOL") == "HTTP/1.0";
}

/// Does the request ask for this, as it has to with HTTP/1.1?
bool asks_to_upgrade(const Exchange& exchange) {
  return exchange.target.method == "GET" && has_word(exchange.environ.get("HTTP_UPGRADE"), "websocket");
}

bool is_carried(const Exchange& exchange, std::string_view variable) {
  return exchange.environ.get(variable) == "1";
}

Response needs_http(const Exchange& exchange) {
  return refuse(exchange, Status::service_unavailable,
                "FastCGI carries no WebSockets: they need the HTTP listener. Give this module a port in the "
                "master file, and have the web server pass them on to it.");
}

std::optional<Response> refused_version(const Exchange& exchange) {
  if (exchange.environ.get("HTTP_SEC_WEBSOCKET_VERSION") == "13") return std::nullopt;
  Response response =
      refuse(exchange, Status::upgrade_required, "Sec-WebSocket-Version: only 13 is spoken here.");
  response.headers.emplace_back("Sec-WebSocket-Version", "13");
  return response;
}

std::optional<Response> refused_key(const Exchange& exchange) {
  if (is_key(exchange.environ.get("HTTP_SEC_WEBSOCKET_KEY"))) return std::nullopt;
  return refuse(exchange, Status::bad_request, "Sec-WebSocket-Key: it has to be 16 bytes in base64.");
}

/// The globs of the query's fields `tag`. Errors: invocation.
Result<std::vector<std::string>> tags_of(const Exchange& exchange) {
  constexpr std::size_t kMostTags = 8;
  constexpr std::size_t kMostBytes = 128;
  constexpr std::ptrdiff_t kMostStars = 4;
  std::vector<std::string> tags;
  for (const FormField& field : exchange.target.query) {
    if (field.name != "tag") continue;
    const auto stars = std::count(field.value.begin(), field.value.end(), '*');
    if (field.value.size() > kMostBytes || stars > kMostStars || tags.size() == kMostTags) {
      return Error{ErrorKind::invocation,
                   format("At most {} tags, each of at most {} bytes with at most {} '*', can be asked for.",
                          kMostTags, kMostBytes, kMostStars)};
    }
    tags.push_back(field.value);
  }
  return tags;
}

/// A feed for that session, and the way in which it begins.
Result<std::unique_ptr<EventFeed>> open_feed(const Exchange& exchange, const Session& session, FeedForm form,
                                             std::string_view after) {
  const App& app = exchange.app;
  auto tags = tags_of(exchange);
  if (!tags) return std::move(tags).error();
  form.tags = *std::move(tags);
  const auto permit = app.client->admit_events(session);
  if (!permit) return permit.error();
  auto seat = app.streams->open(session, *permit);
  if (!seat) return std::move(seat).error();
  auto reader = app.client->master().events(*permit, after);
  const bool lost = !reader && reader.error().kind == ErrorKind::not_found && !after.empty();
  if (lost) reader = app.client->master().events(*permit, {});
  if (!reader) return std::move(reader).error();
  auto feed = std::make_unique<EventFeed>(std::move(form), *std::move(seat), *std::move(reader), app.clock);
  if (lost) feed->tell_of_loss(after);
  if (!lost && !after.empty()) feed->keep_from_start();
  return feed;
}

/// The answer that goes on with a feed, or why there is none; an audit line says which.
Response start(const Exchange& exchange, const Session& session, Result<std::unique_ptr<EventFeed>> feed,
               Response head) {
  exchange.trail.write_other("events", session.user, session.eauth,
                             feed ? "ok" : row_for(feed.error().kind).outcome);
  if (!feed) return fail(exchange, feed.error());
  head.body = std::unique_ptr<http::Feed>(*std::move(feed));
  return head;
}

/// Calls `needs`, if it is there, once the stream collects events: an event that comes meanwhile is not
/// missed.
Response start_socket(const Exchange& exchange, const Session& session, const FeedForm& form,
                      const std::function<FormattedNeeds()>& needs = {}) {
  auto feed = open_feed(exchange, session, form, in_query(exchange.target, "last_event_id"));
  if (feed && needs) (*feed)->set_needs(needs());
  return start(exchange, session, std::move(feed),
               {Status::switching_protocols, {{"Sec-WebSocket-Version", "13"}}, std::string()});
}

/// Runs a chunk in the name of a session's user, for another thread.
AskMaster asker(const Exchange& exchange) {
  const Clock* const clock = &exchange.app.clock;
  return [clock, as_json = exchange.app.options.common.audit_as_json,
          limits = exchange.app.options.common.lowstate, remote = std::string(exchange.remote())](
             const client::NetapiClient& client, SecretView token, std::string_view json) {
    constexpr std::chrono::seconds kPatience{2};
    JsonDocument document;
    if (!document.parse(json)) return Json();
    auto chunks = lowstate::read(document.root(), limits, {.has_credentials = true});
    if (!chunks) return Json();
    for (lowstate::Chunk& chunk : *chunks) {
      chunk.credentials = {.kind = auth::Credentials::Kind::token, .token = token, .remote = remote};
    }
    AuditTrail trail(*clock, remote, as_json);
    const Admission admission = admit(client, *chunks, {clock->steady() + kPatience, true}, trail);
    if (admission.refusal) return Json();
    const Ran ran = run(client, admission.permits, trail);
    if (ran.failure || ran.completed.front().reply.items.empty()) return Json();
    return ran.completed.front().reply.items.front();
  };
}

/// What the formatted view of rest_tornado begins with: the grains that the master has, for those who may ask
/// all minions for them.
FormattedNeeds needs_of(const Exchange& exchange, const Session& session) {
  FormattedNeeds needs;
  needs.ask = asker(exchange);
  JsonDocument document;
  const std::string chunk = R"([{"client": "local", "fun": "grains.items", "tgt": "*"}])";
  static_cast<void>(document.parse(chunk));
  auto chunks =
      lowstate::read(document.root(), exchange.app.options.common.lowstate, {.has_credentials = true});
  if (!chunks) return needs;
  chunks->front().credentials = {
      .kind = auth::Credentials::Kind::token, .token = session.token, .remote = exchange.remote()};
  const auto permit = exchange.app.client->admit(chunks->front(), exchange.deadline);
  if (!permit) {
    needs.refused = permit.error().message;
    return needs;
  }
  needs.grains = needs.ask(*exchange.app.client, session.token,
                           R"({"client": "runner", "fun": "cache.grains", "tgt": "*"})");
  return needs;
}

bool is_digest_length(std::size_t digits) {
  static constexpr std::size_t kLengths[] = {32, 40, 56, 64, 96, 128};  // of Salt's `hash_type`s, in hex
  return std::find(std::begin(kLengths), std::end(kLengths), digits) != std::end(kLengths);
}

/// Who opens a WebSocket of rest_tornado, whose token is the path's last part; or the answer.
std::variant<Session, Response> session_of_path(const Exchange& exchange) {
  if (!is_carried(exchange, "rest_fcgi.websocket")) return needs_http(exchange);
  const std::string token = exchange.below.empty() ? std::string() : exchange.below.front();
  const bool is_one = only_of(token, kHexDigits) && is_digest_length(token.size()) &&
                      exchange.target.path == path_text(*exchange.route) + "/" + token;
  if (!is_one) return refuse(exchange, Status::not_found, "A token has to be the last part of the path.");
  auto session = session_with(exchange, SecretView(token));
  if (!session) return fail(exchange, session.error());
  const auto bad = [&exchange](std::string_view why) { return refuse(exchange, Status::bad_request, why); };
  if (!asks_to_upgrade(exchange)) return bad(R"(Can "Upgrade" only to "WebSocket".)");
  if (!has_word(exchange.environ.get("HTTP_CONNECTION"), "upgrade")) {
    return bad(R"("Connection" must be "Upgrade".)");
  }
  if (is_too_old(exchange)) return bad("WebSockets begin with HTTP/1.1.");
  const Origins& origins = exchange.app.origins;
  if (!origins.are_open() && origins.is_foreign(exchange.environ)) {
    return refuse(exchange, Status::forbidden, "Cross origin websockets not allowed");
  }
  if (auto refused = refused_version(exchange)) return *std::move(refused);
  if (auto refused = refused_key(exchange)) return *std::move(refused);
  return *std::move(session);
}

/// Who listens at /events.
Result<Session> listener(const Exchange& exchange) {
  return exchange.below.empty() ? session_of(exchange)
                                : session_with(exchange, SecretView(exchange.below.front()));
}

}  // namespace

Response stream_events(Exchange& exchange) {
  const Dialect& dialect = exchange.app.dialect;
  const auto is_other = [](const FormField& field) { return field.name != "tag"; };
  const auto& query = exchange.target.query;
  if (dialect.full_headers && std::any_of(query.begin(), query.end(), is_other)) {
    return refuse(
        exchange, Status::bad_request,
        "The query of this URL has nothing but 'tag'. A token does not belong into a URL: send it as "
        "X-Auth-Token or as a cookie.");
  }
  auto session = listener(exchange);
  if (!session) return fail(exchange, session.error());
  if (!is_carried(exchange, "rest_fcgi.streams")) {
    return refuse(exchange, Status::service_unavailable,
                  "Apache's mod_fcgid carries no streams of events: it passes on what is whole. Use "
                  "mod_proxy_fcgi, nginx, or the HTTP listener.");
  }
  exchange.session = *std::move(session);
  Response head{
      Status::ok,
      {{"Content-Type", dialect.full_headers ? "text/event-stream;charset=utf-8" : "text/event-stream"},
       {"Cache-Control", "no-cache"},
       {"X-Accel-Buffering", "no"}},
      std::string()};
  return start(exchange, *exchange.session,
               open_feed(exchange, *exchange.session, {}, exchange.environ.get("HTTP_LAST_EVENT_ID")),
               std::move(head));
}

Response open_websocket(Exchange& exchange) {
  if (!is_carried(exchange, "rest_fcgi.websocket")) return needs_http(exchange);
  if (!in_query(exchange.target, "token").empty() || !in_query(exchange.target, "salt_token").empty()) {
    return refuse(
        exchange, Status::bad_request,
        "A token does not belong into a query: send it as X-Auth-Token, as a cookie, or as the last "
        "part of the path.");
  }
  if (is_too_old(exchange) || !asks_to_upgrade(exchange) ||
      !has_word(exchange.environ.get("HTTP_CONNECTION"), "upgrade")) {
    return refuse(exchange, Status::upgrade_required, "This is a WebSocket; see RFC 6455.");
  }
  if (auto refused = refused_version(exchange)) return *std::move(refused);
  if (auto refused = refused_key(exchange)) return *std::move(refused);
  auto session = listener(exchange);
  if (!session) return fail(exchange, session.error());
  FeedForm form{.shows = Shows::lines, .answers = true, .logged_out = kLoggedOutOfWs};
  const auto is_format = [](const FormField& field) { return field.name == "format_events"; };
  const auto& query = exchange.target.query;
  if (std::none_of(query.begin(), query.end(), is_format)) return start_socket(exchange, *session, form);
  form.shows = Shows::formatted;
  form.style.minions_are_listed = true;
  return start_socket(exchange, *session, form, [&] { return FormattedNeeds{.ask = asker(exchange)}; });
}

Response open_all_events(Exchange& exchange) {
  auto checked = session_of_path(exchange);
  if (auto* answer = std::get_if<Response>(&checked)) return std::move(*answer);
  return start_socket(exchange, std::get<Session>(checked), {.shows = Shows::json});
}

Response open_formatted_events(Exchange& exchange) {
  auto checked = session_of_path(exchange);
  if (auto* answer = std::get_if<Response>(&checked)) return std::move(*answer);
  const Session& session = std::get<Session>(checked);
  const FeedForm form{.shows = Shows::formatted,
                      .style = {.minions_are_listed = false, .hears_presence_changes = true, .end = "\n\n"}};
  return start_socket(exchange, session, form, [&] { return needs_of(exchange, session); });
}

}  // namespace rest_fcgi::netapi
