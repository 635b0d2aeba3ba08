// SPDX-License-Identifier: MIT
#include "rest_fcgi/netapi/rest_wsgi.h"

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "netapi/audit.h"
#include "netapi/lowstate_run.h"
#include "netapi/media.h"
#include "netapi/replies.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/http/url.h"
#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::netapi {
namespace {

using http::Environ;
using http::Response;
using http::Status;
using lowstate::Chunk;

constexpr std::string_view kGreeting =
    "This is rest_fcgi, which answers as Salt's rest_wsgi does: POST a JSON list of lowstate objects to this "
    "URL, "
    "with the header Content-Type: application/json.";

/// The application. Immutable, apart from what its members synchronize themselves; thread-safe.
class RestWsgi {
 public:
  RestWsgi(const Options& options, std::shared_ptr<const client::NetapiClient> client, const Clock& clock)
      : options_(options), client_(std::move(client)), clock_(clock) {}

  [[nodiscard]] Response answer(const Environ& environ) const {
    try {
      return dispatch(environ);
    } catch (const std::exception& exception) {
      return error_reply({ErrorKind::internal, exception.what()}, {}, environ.get("REMOTE_ADDR"));
    }
  }

 private:
  [[nodiscard]] Response dispatch(const Environ& environ) const;
  [[nodiscard]] Response greet() const;
  [[nodiscard]] Response post(const Environ& environ) const;
  [[nodiscard]] Result<std::vector<Chunk>> read(const Environ& environ, JsonDocument& document) const;

  Options options_;
  std::shared_ptr<const client::NetapiClient> client_;
  const Clock& clock_;
};

Response RestWsgi::dispatch(const Environ& environ) const {
  if (http::path_of(environ).below != "/") return status_reply(Status::not_found, "Not Found");
  const std::string_view method = environ.get("REQUEST_METHOD");
  if (method == "POST") return post(environ);
  if (method == "GET" || method == "HEAD") return greet();
  Response response = status_reply(Status::method_not_allowed, "Method Not Allowed");
  response.headers.emplace_back("Allow", "GET, HEAD, POST");
  return response;
}

Response RestWsgi::greet() const {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("return").string(kGreeting).key("clients").begin_array();
  for (const lowstate::Client client : client_->enabled()) writer.string(name_of(client));
  writer.end_array().end_object();
  return json_reply(Status::ok, std::move(text));
}

/// The one way in. All chunks are read and then admitted, one after the other, before the first one runs.
Response RestWsgi::post(const Environ& environ) const {
  const auto media = media_in(environ.get("CONTENT_TYPE"));
  if (!media || *media != Media::json) return status_reply(Status::not_acceptable, "JSON required");
  const SteadyTime deadline = client_->deadline();
  const std::string_view remote = environ.get("REMOTE_ADDR");
  AuditTrail trail(clock_, remote, options_.audit_as_json);
  const BorrowedDocument document;
  const auto chunks = guarded([&] { return read(environ, *document); });
  if (!chunks) {
    trail.write_unreadable(row_for(chunks.error().kind).outcome);
    return error_reply(chunks.error(), {}, remote);
  }
  const Admission admission = admit(*client_, *chunks, {deadline}, trail);
  if (admission.refusal) return error_reply(*admission.refusal, {}, remote);
  Ran ran = run(*client_, admission.permits, trail);
  return ran.failure ? error_reply(*ran.failure, ran.completed, remote)
                     : items_reply(std::move(ran.completed));
}

Result<std::vector<Chunk>> RestWsgi::read(const Environ& environ, JsonDocument& document) const {
  if (!environ.body) return environ.body.error();
  if (environ.body->size() > options_.max_request_body_size) {
    return Error{ErrorKind::too_large, format("Request body is larger than max_request_body_size ({} bytes)",
                                              options_.max_request_body_size)};
  }
  if (Result<void> parsed = document.parse(*environ.body, options_.lowstate.json); !parsed)
    return parsed.error();
  Result<std::vector<Chunk>> chunks = lowstate::read(document.root(), options_.lowstate);
  if (!chunks) return chunks;
  for (Chunk& chunk : *chunks) chunk.credentials.remote = environ.get("REMOTE_ADDR");
  return chunks;
}

}  // namespace

http::Application make_rest_wsgi(const Options& options, std::shared_ptr<const client::NetapiClient> client,
                                 const Clock& clock) {
  return [application = std::make_shared<const RestWsgi>(options, std::move(client), clock)](
             const http::Environ& environ) { return application->answer(environ); };
}

}  // namespace rest_fcgi::netapi
