// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "netapi/handlers.h"
#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::netapi {
namespace {

using auth::Credentials;
using http::Response;
using http::Status;
using master::Session;

constexpr std::string_view kUnknown = "Could not authenticate using provided credentials";
constexpr std::array<std::string_view, 3> kKeys{"username", "password", "eauth"};

std::optional<std::string_view> text_at(JsonValue object, std::string_view key) {
  auto value = object.find(key);
  const bool is_set = value && !value->is(JsonValue::Kind::null);
  // Salt's back end of that name has its secret in a key of that name as well.
  if (!is_set && key == "password") value = object.find("sharedsecret");
  if (!value || !value->is(JsonValue::Kind::string)) return std::nullopt;
  return value->text();
}

/// The first of the keys that is missing, or no text; empty: they are all there.
std::string_view missing_key(JsonValue object) {
  for (const std::string_view key : kKeys) {
    if (!text_at(object, key)) return key;
  }
  return {};
}

/// Reads `token_expire`, a number of seconds or a text with one. Absent: the caller does not choose. More
/// than the longest life is that. Errors: invocation.
Result<std::optional<std::chrono::milliseconds>> token_life_in(JsonValue object) {
  constexpr std::string_view kKey = "token_expire";
  const auto value = lowstate::find_nonempty(object, kKey);
  if (!value) return std::optional<std::chrono::milliseconds>();
  const bool is_text = value->is(JsonValue::Kind::string);
  const auto seconds = is_text ? parse_number<double>(stripped(value->text())) : value->number();
  constexpr double kShortest = 0.001;
  if (!seconds || !(*seconds >= kShortest) || !std::isfinite(*seconds)) {
    return Error{
        ErrorKind::invocation,
        format("'{}' must be a number of seconds above 0, or a text with one; found {}.", kKey,
               is_text || value->number() ? quoted(value->text()) : std::string(value->type_name()))};
  }
  const std::chrono::duration<double> life(std::min<double>(*seconds, auth::kLongestTokenLife.count()));
  return std::optional(std::chrono::duration_cast<std::chrono::milliseconds>(life));
}

Credentials credentials_in(const Exchange& exchange, JsonValue object) {
  Credentials credentials;
  credentials.kind = Credentials::Kind::eauth;
  credentials.username = text_at(object, "username").value_or("");
  credentials.password = SecretView(text_at(object, "password").value_or(""));
  credentials.eauth = text_at(object, "eauth").value_or("");
  credentials.remote = exchange.remote();
  if (const auto life = token_life_in(object)) credentials.token_life = *life;
  return credentials;
}

/// Logs in with the name and password in the object, and writes an audit line. A bad `token_expire` is told
/// after the login, and to users who may choose one alone: Salt ignores the value of the others.
Result<Session> trade(const Exchange& exchange, JsonValue object, std::string_view what) {
  const Credentials credentials = credentials_in(exchange, object);
  const auto refused = [&](Error error) {
    exchange.trail.write_other(what, credentials.username, credentials.eauth, row_for(error.kind).outcome,
                               error.reason);
    return error;
  };
  Error unknown{ErrorKind::authentication, std::string(kUnknown)};
  if (auto may_come = exchange.app.acl.check(credentials.username, exchange.remote()); !may_come) {
    unknown.reason = may_come.error().reason;
    return refused(std::move(unknown));
  }
  Result<Session> session = exchange.app.client->master().login(credentials, exchange.deadline);
  if (!session) {
    const bool bad = session.error().kind == ErrorKind::authentication;
    return refused(bad ? unknown : session.error());
  }
  if (exchange.app.dialect.strict_logins && has_no_permissions(*session)) {
    static_cast<void>(exchange.app.client->master().logout(session->token, exchange.deadline));
    return refused(unknown);
  }
  const auto life = token_life_in(object);
  if (!life && exchange.app.options.common.token_life.allows(session->eauth, session->user)) {
    static_cast<void>(exchange.app.client->master().logout(session->token, exchange.deadline));
    return refused(life.error());
  }
  exchange.trail.write_other(what, session->user, session->eauth, "ok");
  return session;
}

double seconds_of(WallTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

std::string cookie(const Exchange& exchange, std::string_view token, std::optional<WallTime> end) {
  std::string text = format("session_id={}; ", token);
  if (end) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(*end - exchange.app.clock.wall());
    text +=
        format("expires={}; Max-Age={}; ", http::http_date(*end), std::max<std::int64_t>(left.count(), 0));
  }
  text += format("Path={}; HttpOnly; SameSite=Lax", exchange.base.empty() ? "/" : exchange.base);
  if (is_encrypted(exchange.environ)) text += "; Secure";
  return text;
}

void write_session(JsonWriter& writer, const Session& session) {
  writer.begin_object();
  writer.key("token").string(session.token.reveal().text);
  writer.key("expire").number(seconds_of(session.expire));
  writer.key("start").number(seconds_of(session.start));
  writer.key("user").string(session.user);
  writer.key("eauth").string(session.eauth);
  writer.key("perms").json(session.perms);
  writer.end_object();
}

/// The object of a login: the body, or the first of its list.
std::optional<JsonValue> first_object(const Exchange& exchange) {
  JsonValue value = exchange.body.value;
  if (value.is(JsonValue::Kind::array) && value.size() > 0) value = *value.elements().begin();
  if (!value.is(JsonValue::Kind::object)) return std::nullopt;
  return value;
}

Response bad_request(const Exchange& exchange, std::string sentence) {
  exchange.trail.write_unreadable("invalid");
  return fail(exchange, {ErrorKind::invocation, std::move(sentence)});
}

void write_token(JsonWriter& writer, const Session& session) {
  writer.begin_object();
  writer.key("start").number(seconds_of(session.start));
  writer.key("expire").number(seconds_of(session.expire));
  writer.key("name").string(session.user);
  writer.key("eauth").string(session.eauth);
  writer.key("token").string(session.token.reveal().text);
  writer.end_object();
}

}  // namespace

bool has_no_permissions(const Session& session) {
  return session.events == auth::EventScope::nothing;
}

Error no_session(const Exchange& exchange) {
  const std::string_view own = exchange.route == nullptr ? "" : exchange.route->no_session;
  return {ErrorKind::authentication, std::string(own.empty() ? exchange.app.dialect.no_session : own)};
}

Result<Session> session_of(const Exchange& exchange) {
  const Presented shown = presented(exchange.environ);
  if (shown.by_browser && exchange.app.origins.is_foreign(exchange.environ)) {
    return foreign_page(exchange.environ);
  }
  return shown_session(exchange);
}

Result<Session> shown_session(const Exchange& exchange) {
  return session_with(exchange, presented(exchange.environ).token);
}

Result<Session> session_with(const Exchange& exchange, SecretView token) {
  if (!looks_like_token(token.reveal())) return no_session(exchange);
  Result<Session> session = exchange.app.client->master().session(token, exchange.deadline);
  if (!session && session.error().kind == ErrorKind::authentication) return no_session(exchange);
  if (!session) return session;
  if (auto may_come = exchange.app.acl.check(session->user, exchange.remote()); !may_come) {
    const Error& refused = may_come.error();
    exchange.trail.write_other("session", session->user, session->eauth, row_for(refused.kind).outcome,
                               refused.reason);
    return no_session(exchange);
  }
  return session;
}

Response ask_to_log_in(Exchange& exchange) {
  if (exchange.media == Media::html) return own_page(exchange);
  if (exchange.app.dialect.login_is_401) {
    return refuse(exchange, Status::unauthorized, exchange.app.dialect.no_session);
  }
  Response response = reply(exchange, Status::ok, R"({"status": 200, "return": "Please log in"})");
  response.headers.emplace_back("WWW-Authenticate", "Session");
  return response;
}

Response log_in(Exchange& exchange) {
  const auto object = first_object(exchange);
  if (!object) return bad_request(exchange, "The body must be an object with username, password and eauth.");
  const Dialect& dialect = exchange.app.dialect;
  const std::string_view missing = missing_key(*object);
  if (!missing.empty() && dialect.strict_logins) {
    return bad_request(
        exchange,
        format("'{}' is missing, or no text; a login needs username, password and eauth.", missing));
  }
  if (!missing.empty()) {
    const Credentials given = credentials_in(exchange, *object);
    exchange.trail.write_other("login", given.username, given.eauth, "denied");
    return fail(exchange, {ErrorKind::authentication, std::string(kUnknown)});
  }
  auto session = trade(exchange, *object, "login");
  if (!session) return fail(exchange, session.error());
  std::string json;
  JsonWriter writer(json);
  writer.begin_object().key("return").begin_array();
  write_session(writer, *session);
  writer.end_array().end_object();
  Response response = reply(exchange, Status::ok, std::move(json));
  const std::string_view token = session->token.reveal().text;
  response.headers.emplace_back("X-Auth-Token", token);
  // A foreign page may get a token to send by itself; it may not log the browser in.
  if (!exchange.app.origins.is_foreign(exchange.environ)) {
    response.headers.emplace_back(
        "Set-Cookie",
        cookie(exchange, token, dialect.lasting_cookies ? std::optional(session->expire) : std::nullopt));
  }
  return response;
}

Response log_out(Exchange& exchange) {
  const Session& session = *exchange.session;
  if (auto ended = exchange.app.client->master().logout(session.token, exchange.deadline); !ended) {
    exchange.trail.write_other("logout", session.user, session.eauth, row_for(ended.error().kind).outcome);
    const bool is_gone = ended.error().kind == ErrorKind::authentication;
    return fail(exchange, is_gone ? no_session(exchange) : ended.error());
  }
  exchange.app.streams->end(session.token);
  exchange.trail.write_other("logout", session.user, session.eauth, "ok");
  Response response = reply(exchange, Status::ok, R"({"return": "Your token has been cleared"})");
  const WallTime past = exchange.app.clock.wall() - std::chrono::hours(24 * 365);
  response.headers.emplace_back("Set-Cookie", cookie(exchange, {}, past));
  return response;
}

Response make_tokens(Exchange& exchange) {
  const JsonValue body = exchange.body.value;
  std::vector<JsonValue> objects;
  if (body.is(JsonValue::Kind::object)) objects.push_back(body);
  for (const JsonValue one : body.elements()) objects.push_back(one);
  const bool is_list = body.is(JsonValue::Kind::array);
  if (!is_list && objects.empty()) return bad_request(exchange, "Lowstates must be a list");
  if (objects.size() > exchange.app.options.common.lowstate.max_chunks) {
    return bad_request(exchange, format("At most {} tokens are made at once.",
                                        exchange.app.options.common.lowstate.max_chunks));
  }
  const auto lacks = [](JsonValue one) { return !missing_key(one).empty(); };
  if (std::any_of(objects.begin(), objects.end(), lacks)) {
    return bad_request(exchange, R"(Require "username", "password", and "eauth" params)");
  }
  std::vector<Session> sessions;
  for (const JsonValue object : objects) {
    auto session = trade(exchange, object, "token");
    if (session) {
      sessions.push_back(*std::move(session));
      continue;
    }
    for (const Session& made : sessions) {
      static_cast<void>(exchange.app.client->master().logout(made.token, exchange.deadline));
    }
    Error error = std::move(session).error();
    if (error.kind == ErrorKind::authentication) {
      error.message = format(R"(Authentication failure of type "eauth" occurred for user {}.)",
                             excerpt(credentials_in(exchange, object).username, 256));
    }
    return fail(exchange, error);
  }
  std::string json;
  JsonWriter writer(json);
  writer.begin_array();
  for (const Session& session : sessions) write_token(writer, session);
  writer.end_array();
  return reply(exchange, Status::ok, std::move(json));
}

}  // namespace rest_fcgi::netapi
