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

/// Checks the form of the tokens in all chunks. The error has Salt's text.
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

/// Refuses chunks whose `raw_shell` is true, which Salt allows only with `netapi_allow_raw_shell`.
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

/// The error for an unknown client has the text of rest_tornado.
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

/// Returns whether a form has several fields `fun`. Such a form does not say which function gets the
/// arguments.
bool has_two_functions(const RequestContext& context) {
  const auto fun = context.body.value.find("fun");
  return context.body.media == Media::form && fun && fun->is(JsonValue::Kind::array);
}

Result<std::vector<Chunk>> read_chunks(const RequestContext& context, JsonValue value, const Call& call) {
  if (const auto hint = hint_of_json_in_form(context.environ, context.body); !hint.empty()) {
    return Error{ErrorKind::invocation, format("Lowstates must be a list{}", hint)};
  }
  const bool is_list = value.is(JsonValue::Kind::array);
  if (!is_list && (!value.is(JsonValue::Kind::object) || value.size() == 0)) {
    return Error{ErrorKind::invocation, "Lowstates must be a list"};
  }
  if (has_two_functions(context)) {
    return Error{ErrorKind::invocation,
                 "'fun' is in the form more than once, expected once: a form calls one function."};
  }
  if (call.token.size() == 0) {
    if (auto checked = check_tokens(value); !checked) return std::move(checked).error();
  }
  if (auto checked = check_raw_shell(value); !checked) return std::move(checked).error();
  if (context.app.dialect.uses_tornado_texts && !call.reading.client) {
    if (auto checked = check_clients(value, context.app.client->enabled()); !checked)
      return std::move(checked).error();
  }
  lowstate::ReadOptions reading = call.reading;
  reading.has_expr_form = true;
  reading.has_credentials = call.token.size() > 0;
  auto chunks = lowstate::read(value, context.app.options.common.lowstate, reading);
  if (!chunks) return chunks;
  for (Chunk& chunk : *chunks) {
    if (call.token.size() > 0) {
      chunk.credentials = {.kind = Credentials::Kind::token, .token = call.token};
    }
    chunk.credentials.remote = context.remote();
    chunk.credentials.request_start = context.start;
  }
  return chunks;
}

std::string salt_text_of(const Chunk& chunk, const Error& error) {
  const Credentials& credentials = chunk.credentials;
  const bool denied = error.kind == ErrorKind::authorization;
  if (credentials.kind == Credentials::Kind::none) return error.message;
  // For wrong credentials, `ssh` has another text than `local`, because Salt's netapi checks the credentials
  // of `ssh` without the master.
  const bool ssh = chunk.client == Client::ssh;
  if (denied && chunk.is_local()) return "Authorization error occurred.";
  if (chunk.is_local() && !ssh) return "Authentication error occurred.";
  const bool by_token = credentials.kind == Credentials::Kind::token;
  // The error names the owner of a token only if the client's address may use this token.
  const bool known = denied && !error.user.empty();
  const std::string_view user = known ? std::string_view(error.user) : credentials.username;
  return format(R"(Authentication failure of type "{}" occurred{}.)", by_token ? "token" : "eauth",
                user.empty() ? std::string() : format(" for user {}", excerpt(user, 256)));
}

Response failed_to_authenticate(const RequestContext& context) {
  return reply(context, Status::unauthorized,
               R"({"status": "401 Unauthorized", "return": ["Failed to authenticate"]})");
}

/// As in rest_tornado, an unknown runner gets the status 200.
Response unknown_runner(const RequestContext& context, const Error& error) {
  std::string json;
  const std::string sentence = "Unexpected exception while handling request: " + error.message;
  JsonWriter(json).begin_object().key("return").begin_array().string(sentence).end_array().end_object();
  return reply(context, Status::ok, std::move(json));
}

/// Returns the response for a chunk that was refused or failed. `chunks` is the number of chunks in the
/// request. A chunk may be refused while it runs, because some masters check permissions only then.
Response refused(const RequestContext& context, Error error, const Chunk& chunk, std::size_t chunks,
                 const std::vector<Completed>& completed) {
  const bool uses_tornado_texts = context.app.dialect.uses_tornado_texts;
  if (error.kind == ErrorKind::authentication || error.kind == ErrorKind::authorization) {
    error.message = salt_text_of(chunk, error);
    if (uses_tornado_texts && completed.empty()) {
      // Calls `report` only for its log line. The text that `report` returns is not used.
      static_cast<void>(report(error, context.remote()));
      return failed_to_authenticate(context);
    }
  }
  const bool is_unknown = error.kind == ErrorKind::unknown_runner && chunk.client == Client::runner;
  if (uses_tornado_texts && is_unknown && chunks == 1) return unknown_runner(context, error);
  return fail(context, error, completed);
}

void set_no_minions_text(std::vector<Completed>& completed) {
  for (Completed& one : completed) {
    const bool waits = one.client == Client::local || one.client == Client::local_subset;
    if (!waits || !one.reply.jid.empty()) continue;
    for (Json& item : one.reply.items) item = Json::string(kNoMinions);
  }
}

Response items_or_answer(RequestContext& context, const Call& call) {
  auto ran = run_chunks(context, context.body.value, call);
  if (auto* answer = std::get_if<Response>(&ran)) return std::move(*answer);
  return reply(context, Status::ok, items_text(std::get<0>(std::move(ran))));
}

}  // namespace

std::variant<std::vector<Completed>, Response> run_chunks(RequestContext& context, JsonValue value,
                                                          const Call& call) {
  const auto chunks = guarded([&] { return read_chunks(context, value, call); });
  if (!chunks) {
    context.trail.write_unreadable(row_for(chunks.error().kind).outcome);
    const bool denied = chunks.error().kind == ErrorKind::authentication;
    if (denied && context.app.dialect.uses_tornado_texts) return failed_to_authenticate(context);
    return fail(context, chunks.error());
  }
  if (!chunks->empty()) context.client = name_of(chunks->front().client);
  AdmissionOptions options{context.deadline};
  options.own = call.own;
  // Checks the client's address only without a session, because the check of a session includes the address.
  if (context.app.options.api_acl && call.token.size() == 0) {
    options.check_address = [&](std::string_view user) {
      return context.app.acl.check(user, context.remote());
    };
  }
  const client::NetapiClient& client = *context.app.client;
  const Admission admission = admit(client, *chunks, options, context.trail);
  if (admission.refusal) {
    return refused(context, *admission.refusal, *admission.refused, chunks->size(), {});
  }
  RunResult ran = context.app.dialect.runs_in_parallel
                      ? run_in_parallel(client, admission.permits, context.trail)
                      : run(client, admission.permits, context.trail);
  context.gates = take_gates(ran.completed);
  if (ran.failure) return refused(context, *ran.failure, *ran.failed, chunks->size(), ran.completed);
  if (context.app.dialect.uses_tornado_texts) set_no_minions_text(ran.completed);
  return std::move(ran.completed);
}

std::variant<client::Reply, Response> run_own(RequestContext& context, std::string_view chunk,
                                              const Call& call) {
  JsonDocument document;
  if (auto parsed = document.parse(chunk, context.app.options.common.lowstate.json); !parsed) {
    return fail(context, parsed.error());
  }
  auto ran = run_chunks(context, document.root(), call);
  if (auto* answer = std::get_if<Response>(&ran)) return std::move(*answer);
  return std::move(std::get<0>(ran).front().reply);
}

Response greet(RequestContext& context) {
  if (context.media == Media::html) return home_page(context);
  std::string json;
  JsonWriter writer(json);
  writer.begin_object().key("return").string("Welcome").key("clients").begin_array();
  for (const Client client : context.app.dialect.clients) {
    if (context.app.client->master().has(client)) writer.string(name_of(client));
  }
  writer.end_array().end_object();
  return reply(context, Status::ok, std::move(json));
}

Response run_for_session(RequestContext& context) {
  return items_or_answer(context, {.token = context.session->token});
}

Response run_by_credentials(RequestContext& context) {
  if (context.app.dialect.run_takes_sessions && presented_token(context.environ).token.size() > 0) {
    auto session = request_session(context);
    if (session) return items_or_answer(context, {.token = session->token});
    const bool denied = session.error().kind == ErrorKind::authentication;
    return denied ? failed_to_authenticate(context) : fail(context, session.error());
  }
  return items_or_answer(context, {});
}

}  // namespace rest_fcgi::netapi
