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
  // As in Salt, the back end `sharedsecret` may get its secret in the key `sharedsecret`.
  if (!is_set && key == "password") value = object.find("sharedsecret");
  if (!value || !value->is(JsonValue::Kind::string)) return std::nullopt;
  return value->text();
}

/// Returns the first required key whose value is not a text. Only the password may be an empty text. If
/// `takes_token` is true, a `token` may replace the password. Returns an empty text if there is no such key.
std::string_view missing_key(JsonValue object, bool takes_token = false) {
  for (const std::string_view key : kKeys) {
    if (takes_token && key == "password" && !text_at(object, "token").value_or("").empty()) continue;
    const auto text = text_at(object, key);
    if (!text || (text->empty() && key != "password")) return key;
  }
  return {};
}

/// Reads `token_expire` in seconds. Shortens a time that exceeds the longest life of a token. Returns
/// std::nullopt if the key is missing. Errors: invocation, if the value is neither a number above 0 nor a
/// string with such a number.
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
               is_text || value->number() ? quoted_excerpt(value->text()) : std::string(value->type_name()))};
  }
  const std::chrono::duration<double> life(std::min<double>(*seconds, auth::kLongestTokenLife.count()));
  return std::optional(std::chrono::duration_cast<std::chrono::milliseconds>(life));
}

Credentials credentials_in(const RequestContext& context, JsonValue object) {
  Credentials credentials;
  credentials.kind = Credentials::Kind::eauth;
  credentials.username = text_at(object, "username").value_or("");
  credentials.password = SecretView(text_at(object, "password").value_or(""));
  if (context.app.client->master().takes_login_token())
    credentials.token = SecretView(text_at(object, "token").value_or(""));
  credentials.eauth = text_at(object, "eauth").value_or("");
  credentials.remote = context.remote();
  if (const auto life = token_life_in(object)) credentials.token_life = *life;
  return credentials;
}

double seconds_of(WallTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

std::string cookie(const RequestContext& context, std::string_view token, std::optional<WallTime> end) {
  std::string text = format("session_id={}; ", token);
  if (end) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(*end - context.app.clock.wall());
    text +=
        format("expires={}; Max-Age={}; ", http::http_date(*end), std::max<std::int64_t>(left.count(), 0));
  }
  text += format("Path={}; HttpOnly; SameSite=Lax", context.base.empty() ? "/" : context.base);
  if (is_encrypted(context.environ)) text += "; Secure";
  return text;
}

}  // namespace

bool has_no_permissions(const Session& session) {
  return session.events == auth::EventScope::nothing;
}

Error no_session(const RequestContext& context) {
  return {ErrorKind::authentication, std::string(context.app.dialect.no_session)};
}

Result<Session> request_session(const RequestContext& context) {
  const PresentedToken shown = presented_token(context.environ);
  if (shown.is_cookie && context.app.origins.is_foreign(context.environ)) {
    return foreign_page_error(context.environ);
  }
  return session_of_any_origin(context);
}

Result<Session> session_of_any_origin(const RequestContext& context) {
  return session_with(context, presented_token(context.environ).token);
}

Result<Session> session_with(const RequestContext& context, SecretView token) {
  if (!looks_like_token(token.reveal())) return no_session(context);
  Result<Session> session = context.app.client->master().session(token, context.deadline);
  if (!session && session.error().kind == ErrorKind::authentication) return no_session(context);
  if (!session) return session;
  if (auto check_address = context.app.acl.check(session->user, context.remote()); !check_address) {
    const Error& refused = check_address.error();
    context.trail.write_other("session", session->user, session->eauth, row_for(refused.kind).outcome,
                              refused.reason);
    return no_session(context);
  }
  return session;
}

Result<JsonValue> login_object(const RequestContext& context) {
  JsonValue value = context.body.value;
  if (value.is(JsonValue::Kind::array) && value.size() > 0) value = *value.elements().begin();
  if (value.is(JsonValue::Kind::object)) return value;
  return Error{ErrorKind::invocation, "The body must be an object with username, password and eauth."};
}

Result<void> check_login(const RequestContext& context, JsonValue object) {
  const std::string_view missing = missing_key(object, context.app.client->master().takes_login_token());
  if (missing.empty()) return {};
  return Error{ErrorKind::authentication,
               format("'{}' is missing, empty or not a text; a login needs username, password and eauth{}.",
                      missing, hint_of_json_in_form(context.environ, context.body))};
}

Error refused_login(const RequestContext& context, JsonValue object, std::string_view what, Error error) {
  const Credentials given = credentials_in(context, object);
  context.trail.write_refused_login(what, given.username, given.eauth, row_for(error.kind).outcome,
                                    error.reason);
  return error;
}

Result<Session> log_in_with(const RequestContext& context, JsonValue object, std::string_view what,
                            bool needs_permission) {
  const Credentials credentials = credentials_in(context, object);
  const auto refused = [&](Error error) { return refused_login(context, object, what, std::move(error)); };
  Error unknown{ErrorKind::authentication, std::string(kUnknown)};
  if (auto check_address = context.app.acl.check(credentials.username, context.remote()); !check_address) {
    unknown.reason = check_address.error().reason;
    return refused(std::move(unknown));
  }
  Result<Session> session = context.app.client->master().login(credentials, context.deadline);
  if (!session) {
    const bool bad = session.error().kind == ErrorKind::authentication;
    return refused(bad ? unknown : session.error());
  }
  if (needs_permission && has_no_permissions(*session)) {
    static_cast<void>(context.app.client->master().logout(session->token, context.deadline));
    return refused(unknown);
  }
  const auto life = token_life_in(object);
  if (!life && context.app.options.common.token_life.allows(session->eauth, session->user)) {
    static_cast<void>(context.app.client->master().logout(session->token, context.deadline));
    return refused(life.error());
  }
  context.trail.write_other(what, session->user, session->eauth, "ok");
  return session;
}

Response logged_in(const RequestContext& context, const Session& session,
                   std::optional<WallTime> cookie_end) {
  std::string json;
  JsonWriter writer(json);
  const std::string_view token = session.token.reveal().text;
  writer.begin_object().key("return").begin_array().begin_object();
  writer.key("token").string(token);
  writer.key("expire").number(seconds_of(session.expire));
  writer.key("start").number(seconds_of(session.start));
  writer.key("user").string(session.user);
  writer.key("eauth").string(session.eauth);
  writer.key("perms").json(session.perms);
  writer.end_object().end_array().end_object();
  Response response = reply(context, Status::ok, std::move(json));
  response.headers.emplace_back("X-Auth-Token", token);
  // A page of another origin gets the token in the body, but gets no cookie.
  if (!context.app.origins.is_foreign(context.environ)) {
    response.headers.emplace_back("Set-Cookie", cookie(context, token, cookie_end));
  }
  return response;
}

Response bad_request(const RequestContext& context, std::string sentence) {
  context.trail.write_unreadable("invalid");
  return fail(context, {ErrorKind::invocation, std::move(sentence)});
}

Response log_out(RequestContext& context) {
  const Session& session = *context.session;
  if (auto ended = context.app.client->master().logout(session.token, context.deadline); !ended) {
    context.trail.write_other("logout", session.user, session.eauth, row_for(ended.error().kind).outcome);
    const bool is_gone = ended.error().kind == ErrorKind::authentication;
    return fail(context, is_gone ? no_session(context) : ended.error());
  }
  context.app.streams->end_streams(session.token);
  context.trail.write_other("logout", session.user, session.eauth, "ok");
  Response response = reply(context, Status::ok, R"({"return": "Your token has been cleared"})");
  const WallTime past = context.app.clock.wall() - std::chrono::hours(24 * 365);
  response.headers.emplace_back("Set-Cookie", cookie(context, {}, past));
  return response;
}

Response make_tokens(RequestContext& context) {
  const JsonValue body = context.body.value;
  std::vector<JsonValue> objects;
  if (body.is(JsonValue::Kind::object)) objects.push_back(body);
  for (const JsonValue one : body.elements()) objects.push_back(one);
  const bool is_list = body.is(JsonValue::Kind::array);
  if (!is_list && objects.empty()) return bad_request(context, "Lowstates must be a list");
  if (objects.size() > context.app.options.common.lowstate.max_chunks) {
    return bad_request(context, format("At most {} tokens can be made in one request.",
                                       context.app.options.common.lowstate.max_chunks));
  }
  const auto lacks = [](JsonValue one) { return !missing_key(one).empty(); };
  if (std::any_of(objects.begin(), objects.end(), lacks)) {
    return bad_request(context, format(R"(Require "username", "password", and "eauth" params{})",
                                       hint_of_json_in_form(context.environ, context.body)));
  }
  std::vector<Session> sessions;
  for (const JsonValue object : objects) {
    auto session = log_in_with(context, object, "token");
    if (session) {
      sessions.push_back(*std::move(session));
      continue;
    }
    for (const Session& made : sessions) {
      static_cast<void>(context.app.client->master().logout(made.token, context.deadline));
    }
    Error error = std::move(session).error();
    if (error.kind == ErrorKind::authentication) {
      error.message = format(R"(Authentication failure of type "eauth" occurred for user {}.)",
                             excerpt(credentials_in(context, object).username, 256));
    }
    return fail(context, error);
  }
  std::string json;
  JsonWriter writer(json);
  writer.begin_array();
  for (const Session& session : sessions) {
    writer.begin_object().key("start").number(seconds_of(session.start));
    writer.key("expire").number(seconds_of(session.expire));
    writer.key("name").string(session.user).key("eauth").string(session.eauth);
    writer.key("token").string(session.token.reveal().text).end_object();
  }
  writer.end_array();
  return reply(context, Status::ok, std::move(json));
}

}  // namespace rest_fcgi::netapi
