// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "netapi/handlers.h"
#include "netapi/lowstate_run.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::netapi {
namespace {

using auth::Credentials;
using http::Response;
using http::Status;
using lowstate::Chunk;
using lowstate::Client;

/// A token that cannot be one is told apart from one that nobody holds, as Salt does.
Result<void> check_tokens(JsonValue chunks) {
  const auto is_bad = [](JsonValue chunk) {
    const auto token = lowstate::find_nonempty(chunk, "token");
    if (!token) return chunk.find("token") && !lowstate::find_nonempty(chunk, "eauth");
    return !token->is(JsonValue::Kind::string) || !looks_like_token(token->text());
  };
  bool bad = is_bad(chunks);
  for (const JsonValue chunk : chunks.elements()) bad = bad || is_bad(chunk);
  if (bad) return Error{ErrorKind::authentication, "Invalid token"};
  return {};
}

/// `raw_shell` has a shell run a chunk's words. Salt allows it where the master's `netapi_allow_raw_shell` is
/// set; here that option does not exist, and a chunk that asks for it is always refused. As in Salt, any
/// value asks for it that is true to Python.
Result<void> check_raw_shell(JsonValue chunks) {
  const auto asks = [](JsonValue chunk) {
    const auto raw = lowstate::find_nonempty(chunk, "raw_shell");
    return raw && raw->json() != Json::boolean(false) && raw->number() != 0;
  };
  bool any = asks(chunks);
  for (const JsonValue chunk : chunks.elements()) any = any || asks(chunk);
  if (any) return Error{ErrorKind::authentication, "Raw shell option not allowed."};
  return {};
}

/// rest_tornado's own words for a client that there is not; it knows `ssh` where that is enabled.
Result<void> check_clients(JsonValue chunks, const std::vector<Client>& enabled) {
  std::size_t index = 0;
  const auto check = [&](JsonValue chunk) -> Result<void> {
    const auto client = lowstate::client_named(chunk.find("client").value_or(JsonValue()).text());
    const bool has_ssh = std::find(enabled.begin(), enabled.end(), Client::ssh) != enabled.end();
    if (client && (*client != Client::ssh || has_ssh)) return {};
    return Error{ErrorKind::invocation,
                 format("Invalid Client: Client not found in salt clients (lowstate chunk {})", index)};
  };
  if (!chunks.is(JsonValue::Kind::array)) return check(chunks);
  for (const JsonValue chunk : chunks.elements()) {
    if (auto checked = check(chunk); !checked) return checked;
    ++index;
  }
  return {};
}

/// A form that says `fun` twice has two functions, and no way to say whose the arguments are.
bool is_double_form(const Exchange& exchange) {
  const auto fun = exchange.body.value.find("fun");
  return exchange.body.media == Media::form && fun && fun->is(JsonValue::Kind::array);
}

Result<std::vector<Chunk>> read_chunks(const Exchange& exchange, JsonValue value, const Call& call) {
  const bool is_list = value.is(JsonValue::Kind::array);
  if (!is_list && (!value.is(JsonValue::Kind::object) || value.size() == 0)) {
    return Error{ErrorKind::invocation, "Lowstates must be a list"};
  }
  if (is_double_form(exchange)) {
    return Error{ErrorKind::invocation,
                 "'fun' stands twice in the form; a form is one call of one function."};
  }
  if (call.token.size() == 0) {
    if (auto checked = check_tokens(value); !checked) return std::move(checked).error();
  }
  if (auto checked = check_raw_shell(value); !checked) return std::move(checked).error();
  if (exchange.app.dialect.own_words && !call.reading.client) {
    if (auto checked = check_clients(value, exchange.app.client->enabled()); !checked)
      return std::move(checked).error();
  }
  lowstate::ReadOptions reading = call.reading;
  reading.has_expr_form = true;
  reading.has_credentials = call.token.size() > 0;
  auto chunks = lowstate::read(value, exchange.app.options.common.lowstate, reading);
  if (!chunks) return chunks;
  for (Chunk& chunk : *chunks) {
    if (call.token.size() > 0) {
      chunk.credentials = {.kind = Credentials::Kind::token, .token = call.token};
    }
    chunk.credentials.remote = exchange.remote();
  }
  return chunks;
}

/// Salt's words for a chunk whose credentials are not good, or not good enough.
std::string words_for(const Chunk& chunk, const Error& error) {
  const Credentials& credentials = chunk.credentials;
  const bool denied = error.kind == ErrorKind::authorization;
  if (credentials.kind == Credentials::Kind::none) return error.message;
  const bool ssh = chunk.client == Client::ssh;  // asked by Salt's netapi itself, and not by a master
  if (denied && chunk.is_local()) return "Authorization error occurred.";
  if (chunk.is_local() && !ssh) return "Authentication error occurred.";
  const bool by_token = credentials.kind == Credentials::Kind::token;
  // Whose token it is, only those read who may use it from where they are.
  const bool known = denied && !error.user.empty();
  const std::string_view user = known ? std::string_view(error.user) : credentials.username;
  return format(R"(Authentication failure of type "{}" occurred{}.)", by_token ? "token" : "eauth",
                user.empty() ? std::string() : format(" for user {}", excerpt(user, 256)));
}

/// rest_tornado's answer to those who may not.
Response failed_to_authenticate(const Exchange& exchange) {
  return reply(exchange, Status::unauthorized,
               R"({"status": "401 Unauthorized", "return": ["Failed to authenticate"]})");
}

/// rest_tornado's answer to one runner that there is not: like one that failed.
Response unknown_runner(const Exchange& exchange, const Error& error) {
  std::string json;
  const std::string sentence = "Unexpected exception while handling request: " + error.message;
  JsonWriter(json).begin_object().key("return").begin_array().string(sentence).end_array().end_object();
  return reply(exchange, Status::ok, std::move(json));
}

/// The answer where a chunk may not run, or failed: some masters say only then that it may not. `chunks`: how
/// many there are.
Response refused(const Exchange& exchange, Error error, const Chunk& chunk, std::size_t chunks,
                 const std::vector<Completed>& completed) {
  const bool own_words = exchange.app.dialect.own_words;
  if (error.kind == ErrorKind::authentication || error.kind == ErrorKind::authorization) {
    error.message = words_for(chunk, error);
    if (own_words && completed.empty()) {
      static_cast<void>(told(error, exchange.remote()));  // for the log
      return failed_to_authenticate(exchange);
    }
  }
  const bool is_unknown = error.kind == ErrorKind::invocation && chunk.client == Client::runner &&
                          error.message.ends_with("is not available.");
  if (own_words && is_unknown && chunks == 1) return unknown_runner(exchange, error);
  return fail(exchange, error, completed);
}

/// rest_tornado says in words that nobody was there.
void put_into_words(std::vector<Completed>& completed) {
  for (Completed& one : completed) {
    const bool waits = one.client == Client::local || one.client == Client::local_subset;
    if (!waits || !one.reply.jid.empty()) continue;
    for (Json& item : one.reply.items) item = Json::string(kNoMinions);
  }
}

Response items_or_answer(Exchange& exchange, const Call& call) {
  auto ran = run_chunks(exchange, exchange.body.value, call);
  if (auto* answer = std::get_if<Response>(&ran)) return std::move(*answer);
  return reply(exchange, Status::ok, items_text(std::get<0>(std::move(ran))));
}

}  // namespace

std::variant<std::vector<Completed>, Response> run_chunks(Exchange& exchange, JsonValue value,
                                                          const Call& call) {
  const auto chunks = guarded([&] { return read_chunks(exchange, value, call); });
  if (!chunks) {
    exchange.trail.write_unreadable(row_for(chunks.error().kind).outcome);
    const bool denied = chunks.error().kind == ErrorKind::authentication;
    if (denied && exchange.app.dialect.own_words) return failed_to_authenticate(exchange);
    return fail(exchange, chunks.error());
  }
  Terms terms{exchange.deadline};
  terms.own = call.own;
  if (exchange.app.options.api_acl && call.token.size() == 0) {  // a session's user was asked about before
    terms.may_come = [&](std::string_view user) { return exchange.app.acl.check(user, exchange.remote()); };
  }
  const client::NetapiClient& client = *exchange.app.client;
  const Admission admission = admit(client, *chunks, terms, exchange.trail);
  if (admission.refusal) {
    return refused(exchange, *admission.refusal, *admission.refused, chunks->size(), {});
  }
  Ran ran = exchange.app.dialect.runs_at_once ? run_at_once(client, admission.permits, exchange.trail)
                                              : run(client, admission.permits, exchange.trail);
  exchange.gates = take_gates(ran.completed);
  if (ran.failure) return refused(exchange, *ran.failure, *ran.failed, chunks->size(), ran.completed);
  if (exchange.app.dialect.own_words) put_into_words(ran.completed);
  return std::move(ran.completed);
}

std::variant<client::Reply, Response> run_own(Exchange& exchange, std::string_view chunk, const Call& call) {
  JsonDocument document;
  if (auto parsed = document.parse(chunk, exchange.app.options.common.lowstate.json); !parsed) {
    return fail(exchange, parsed.error());
  }
  auto ran = run_chunks(exchange, document.root(), call);
  if (auto* answer = std::get_if<Response>(&ran)) return std::move(*answer);
  return std::move(std::get<0>(ran).front().reply);
}

Response greet(Exchange& exchange) {
  if (exchange.media == Media::html) return own_page(exchange);
  std::string json;
  JsonWriter writer(json);
  writer.begin_object().key("return").string("Welcome").key("clients").begin_array();
  for (const Client client : exchange.app.dialect.clients) {
    if (exchange.app.client->master().has(client)) writer.string(name_of(client));
  }
  writer.end_array().end_object();
  return reply(exchange, Status::ok, std::move(json));
}

Response run_for_session(Exchange& exchange) {
  return items_or_answer(exchange, {.token = exchange.session->token});
}

Response run_by_credentials(Exchange& exchange) {
  if (exchange.app.dialect.run_takes_sessions && presented(exchange.environ).token.size() > 0) {
    auto session = session_of(exchange);
    if (session) return items_or_answer(exchange, {.token = session->token});
    const bool denied = session.error().kind == ErrorKind::authentication;
    return denied ? failed_to_authenticate(exchange) : fail(exchange, session.error());
  }
  return items_or_answer(exchange, {});
}

}  // namespace rest_fcgi::netapi
