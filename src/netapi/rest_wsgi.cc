// SPDX-License-Identifier: MIT
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "netapi/audit.h"
#include "netapi/keyed_run.h"
#include "netapi/lowstate_run.h"
#include "netapi/replies.h"
#include "netapi/request.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/http/url.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/netapi/rest.h"

namespace rest_fcgi::netapi {
namespace {

using http::Environ;
using http::Response;
using http::Status;
using lowstate::Chunk;

constexpr std::string_view kGreeting =
    "This is rest_fcgi, which answers as Salt's rest_wsgi does: POST a JSON list of lowstate objects to this "
    "URL, with the header Content-Type: application/json.";

struct RestWsgi {
  Options options;
  std::shared_ptr<const client::NetapiClient> client;
  const Clock& clock;
};

Response greeting(const RestWsgi& app) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("return").string(kGreeting).key("clients").begin_array();
  for (const lowstate::Client client : app.client->enabled()) {
    if (app.client->master().has(client)) writer.string(name_of(client));
  }
  writer.end_array().end_object();
  return json_reply(Status::ok, std::move(text));
}

Result<std::vector<Chunk>> chunks_in(const RestWsgi& app, const Environ& environ, JsonDocument& document) {
  const Options& options = app.options;
  if (!environ.body) return environ.body.error();
  if (environ.body->size() > options.max_request_body_size) {
    return Error{ErrorKind::too_large, format("Request body is larger than {} ({} bytes)", kWsgiBodyKey,
                                              options.max_request_body_size)};
  }
  if (Result<void> plain = check_encoding(environ); !plain) return std::move(plain).error();
  if (auto parsed = document.parse(*environ.body, options.lowstate.json); !parsed) return parsed.error();
  Result<std::vector<Chunk>> chunks = lowstate::read(document.root(), options.lowstate);
  if (!chunks) return chunks;
  for (Chunk& chunk : *chunks) {
    chunk.credentials.remote = environ.get("REMOTE_ADDR");
    chunk.credentials.request_start = app.clock.steady();
  }
  return chunks;
}

/// Sets `client_name` to the client of the first chunk.
Response run_posted(const RestWsgi& app, const Environ& environ, std::string_view& client_name) {
  const auto media = media_in(environ.get("CONTENT_TYPE"));
  if (!media || *media != Media::json) return status_reply(Status::not_acceptable, "JSON required");
  const client::NetapiClient& client = *app.client;
  const SteadyTime deadline = client.deadline();
  const std::string_view remote = environ.get("REMOTE_ADDR");
  AuditTrail trail(app.clock, remote, app.options.audit_as_json, app.options.refusals.get());
  const BorrowedDocument document;
  const auto chunks = guarded([&] { return chunks_in(app, environ, *document); });
  if (!chunks) {
    trail.write_unreadable(row_for(chunks.error().kind).outcome);
    return error_reply(chunks.error(), {}, remote);
  }
  if (!chunks->empty()) client_name = name_of(chunks->front().client);
  Admission admission = admit(client, *chunks, {deadline}, trail);
  KeyedRun keyed(app.options, environ, deadline);
  auto replay = keyed.begin(admission, client.master(), trail);
  if (replay) return *std::move(replay);
  if (admission.refusal) return error_reply(*admission.refusal, {}, remote);
  RunResult ran = run(client, admission.permits, trail);
  if (!ran.may_have_run) keyed.release();
  std::vector<master::StartGate> gates = take_gates(ran.completed);
  Response response = ran.failure ? error_reply(*ran.failure, ran.completed, remote)
                                  : json_reply(Status::ok, items_text(std::move(ran.completed)));
  keyed.end(response);
  response.held.assign(std::make_move_iterator(gates.begin()), std::make_move_iterator(gates.end()));
  return response;
}

Response answer_request(const RestWsgi& app, const Environ& environ) {
  if (http::path_of(environ).below != "/") return status_reply(Status::not_found, "Not Found");
  const std::string_view method = environ.get("REQUEST_METHOD");
  if (method == "POST") {
    std::string_view client_name;
    Response response = run_posted(app, environ, client_name);
    response.metric_label = client_name;
    return response;
  }
  if (method == "GET" || method == "HEAD") return greeting(app);
  Response response = status_reply(Status::method_not_allowed, "Method Not Allowed");
  response.headers.emplace_back("Allow", "GET, HEAD, POST");
  return response;
}

}  // namespace

http::Application make_rest_wsgi(const Options& options, std::shared_ptr<const client::NetapiClient> client,
                                 const Clock& clock) {
  auto app = std::make_shared<const RestWsgi>(RestWsgi{options, std::move(client), clock});
  return [app = std::move(app)](const Environ& environ) {
    try {
      return answer_request(*app, environ);
    } catch (const std::exception& exception) {
      return error_reply(error_of_exception(exception), {}, environ.get("REMOTE_ADDR"));
    }
  };
}

}  // namespace rest_fcgi::netapi
