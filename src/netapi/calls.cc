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

Result<std::vector<Chunk>> read_chunks(const RequestContext& context, JsonValue value, const RunOptions& call,
                                       Result<void> (*check)(const RequestContext&, JsonValue)) {
  if (const auto hint = hint_of_json_in_form(context.environ, context.body); !hint.empty()) {
    return Error{ErrorKind::invocation, format("Lowstates must be a list{}", hint)};
  }
  const bool is_list = value.is(JsonValue::Kind::array);
  if (!is_list && (!value.is(JsonValue::Kind::object) || value.size() == 0)) {
    return Error{ErrorKind::invocation, "Lowstates must be a list"};
  }
  const auto fun = context.body.value.find("fun");
  if (context.body.media == Media::form && fun && fun->is(JsonValue::Kind::array)) {
    return Error{ErrorKind::invocation,
                 "'fun' is in the form more than once, expected once: a form calls one function."};
  }
  if (call.session == nullptr) {
    if (auto checked = check_tokens(value); !checked) return std::move(checked).error();
  }
  if (auto checked = check_raw_shell(value); !checked) return std::move(checked).error();
  if (check != nullptr) {
    if (auto checked = check(context, value); !checked) return std::move(checked).error();
  }
  lowstate::ReadOptions reading = call.reading;
  reading.has_expr_form = true;
  reading.has_credentials = call.session != nullptr;
  auto chunks = lowstate::read(value, context.app.options.common.lowstate, reading);
  if (!chunks) return chunks;
  for (Chunk& chunk : *chunks) {
    if (call.session != nullptr) {
      const auto& holder = call.session->identity;
      chunk.credentials = {.kind = Credentials::Kind::token,
                           .token = call.session->token,
                           .holder = holder ? &*holder : nullptr};
    }
    chunk.credentials.remote = context.remote();
    chunk.credentials.request_start = context.start;
  }
  return chunks;
}

/// Returns Salt's text for the error of a chunk that was refused or failed. A chunk may be refused while it
/// runs, because some masters check permissions only then.
std::string salt_text_of(const Chunk& chunk, const Error& error) {
  if (error.kind != ErrorKind::authentication && error.kind != ErrorKind::authorization) return error.message;
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

}  // namespace

RunResult run_lowstate(RequestContext& context, JsonValue value, const RunOptions& call,
                       decltype(&run) run_permits, Result<void> (*check)(const RequestContext&, JsonValue)) {
  RunResult ran;
  const auto chunks = guarded([&] { return read_chunks(context, value, call, check); });
  if (!chunks) {
    context.trail.write_unreadable(row_for(chunks.error().kind).outcome);
    ran.failure = chunks.error();
    return ran;
  }
  if (!chunks->empty()) context.client = name_of(chunks->front().client);
  AdmissionOptions options{context.deadline};
  options.own = call.own;
  // Checks the client's address only without a session, because the check of a session includes the address.
  if (context.app.options.api_acl && call.session == nullptr) {
    options.check_address = [&](std::string_view user) {
      return context.app.acl.check(user, context.remote());
    };
  }
  const client::NetapiClient& client = *context.app.client;
  Admission admission = admit(client, *chunks, options, context.trail);
  // Calls that this program made have no Idempotency-Key, as in `GET /minions`.
  if (!call.own) ran.replay = context.keyed.begin(admission, client.master(), context.trail);
  if (ran.replay) return ran;
  if (admission.refusal) {
    ran.failure = std::move(admission.refusal);
    ran.failed = admission.refused;
  } else {
    ran = run_permits(client, admission.permits, context.trail);
    context.gates = take_gates(ran.completed);
    if (!ran.may_have_run) context.keyed.release();
  }
  if (ran.failure) ran.failure->message = salt_text_of(*ran.failed, *ran.failure);
  ran.failed = nullptr;  // The chunks end with this function.
  return ran;
}

std::variant<client::Reply, Response> run_own(RequestContext& context, std::string_view chunk,
                                              const RunOptions& call) {
  JsonDocument document;
  if (auto parsed = document.parse(chunk, context.app.options.common.lowstate.json); !parsed) {
    return fail(context, parsed.error());
  }
  auto ran = context.app.dialect.run_chunks(context, document.root(), call);
  if (auto* answer = std::get_if<Response>(&ran)) return std::move(*answer);
  return std::move(std::get<0>(ran).front().reply);
}

Response run_body(RequestContext& context, const RunOptions& call) {
  auto ran = context.app.dialect.run_chunks(context, context.body.value, call);
  if (auto* answer = std::get_if<Response>(&ran)) return std::move(*answer);
  return reply(context, Status::ok, items_text(std::get<0>(std::move(ran))));
}

Response run_for_session(RequestContext& context) {
  return run_body(context, {.session = &*context.session});
}

Response greet(RequestContext& context, std::span<const Client> clients) {
  if (context.media == Media::html) return home_page(context);
  std::string json;
  JsonWriter writer(json);
  writer.begin_object().key("return").string("Welcome").key("clients").begin_array();
  for (const Client client : clients) {
    if (context.app.client->master().has(client)) writer.string(name_of(client));
  }
  writer.end_array().end_object();
  return reply(context, Status::ok, std::move(json));
}

}  // namespace rest_fcgi::netapi
