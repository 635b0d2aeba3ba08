// SPDX-License-Identifier: MIT
#include <new>
#include <stdexcept>

#include <doctest/doctest.h>

#include "rest_fcgi/netapi/rest.h"
#include "wsgi.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;

namespace {

std::string asked(const Wsgi& wsgi, const std::string& method, const std::string& name,
                  const std::string& value) {
  http::Environ request;
  request.set("REQUEST_METHOD", method);
  request.set(name, value);
  return text_of(wsgi.ask(request));
}

}  // namespace

TEST_CASE("a POST of lowstate to / is answered with what each chunk returned") {
  const Wsgi wsgi;
  const http::Response response = wsgi.post("[" + Wsgi::chunk(kPingKeys) + ", " +
                                            Wsgi::chunk(R"("client": "runner", "fun": "manage.up")") + "]");
  CHECK(text_of(response) == R"(200 {"return": [{"ms-0": true, "ms-1": true, "ms-2": true}, ["ms-0"]]})");
  CHECK(header(response, "Content-Type") == "application/json");
}

TEST_CASE("an empty list returns an empty list") {
  CHECK(text_of(Wsgi().post("[]")) == R"(200 {"return": []})");
}

TEST_CASE("one object is a list of one") {
  CHECK(text_of(Wsgi().post(Wsgi::chunk(kPingKeys))) ==
        R"(200 {"return": [{"ms-0": true, "ms-1": true, "ms-2": true}]})");
}

TEST_CASE("a batch has one item of the list for each return") {
  CHECK(text_of(Wsgi().run(R"("client": "local_batch", "tgt": "*", "fun": "test.ping", "batch": "1")")) ==
        R"(200 {"return": [{"ms-0": true}, {"ms-1": true}, {"ms-2": true}]})");
}

TEST_CASE("GET and HEAD say what this is, and which clients are on") {
  client::Options options;
  options.enabled = {lowstate::Client::local, lowstate::Client::wheel};
  const Wsgi wsgi(options);
  const std::string greeting = asked(wsgi, "GET", "REQUEST_URI", "/");
  CHECK(greeting.substr(0, 29) == R"(200 {"return": "This is rest_)");
  CHECK(greeting.find(R"(, "clients": ["local", "wheel"]})") != std::string::npos);
  CHECK(asked(wsgi, "HEAD", "REQUEST_URI", "/") == greeting);
}

TEST_CASE("GET names no client that the engine does not have") {
  client::Options options;
  options.enabled = {lowstate::Client::local, lowstate::Client::ssh};
  const Wsgi wsgi(options);
  CHECK(asked(wsgi, "GET", "REQUEST_URI", "/").find(R"("clients": ["local", "ssh"]})") != std::string::npos);
  wsgi.master().has_ssh = false;
  CHECK(asked(wsgi, "GET", "REQUEST_URI", "/").find(R"("clients": ["local"]})") != std::string::npos);
}

TEST_CASE("any other method is not allowed") {
  const Wsgi wsgi;
  for (const std::string method : {"PUT", "DELETE", "OPTIONS", "get", ""}) {
    CHECK(asked(wsgi, method, "REQUEST_URI", "/") == R"(405 {"return": "405: Method Not Allowed"})");
  }
  http::Environ put;
  put.set("REQUEST_METHOD", "PUT");
  CHECK(header(wsgi.ask(put), "Allow") == "GET, HEAD, POST");
}

TEST_CASE("any path but / is not found, whatever the method") {
  const Wsgi wsgi;
  for (const std::string path : {"/run", "//", "/%2F", "/index.html?x", "*", "?", "/.."}) {
    CHECK(asked(wsgi, "GET", "REQUEST_URI", path) == R"(404 {"return": "404: Not Found"})");
    CHECK(asked(wsgi, "PUT", "PATH_INFO", path) == R"(404 {"return": "404: Not Found"})");
  }
}

TEST_CASE("the path is PATH_INFO, else that of the URI without its query, else /") {
  const Wsgi wsgi;
  CHECK(asked(wsgi, "GET", "REQUEST_URI", "/?x=/y").substr(0, 3) == "200");
  CHECK(asked(wsgi, "GET", "SCRIPT_NAME", "/salt").substr(0, 3) == "200");
  http::Environ mounted;
  mounted.set("REQUEST_METHOD", "GET");
  mounted.set("REQUEST_URI", "/salt/");
  mounted.set("PATH_INFO", "/");
  CHECK(text_of(wsgi.ask(mounted)).substr(0, 3) == "200");
}

TEST_CASE("a body that does not say that it is JSON is not read") {
  const Wsgi wsgi;
  for (const std::string type :
       {"", "text/plain", "application/json; charset=latin1", "multipart/form-data; boundary=x"}) {
    http::Environ request = Wsgi::post_of("[]");
    request.set("CONTENT_TYPE", type);
    CHECK(text_of(wsgi.ask(request)) == R"(406 {"return": "406: JSON required"})");
  }
}

TEST_CASE("a body is refused where its coding changes the bytes, and for no other coding") {
  const Wsgi wsgi;
  http::Environ request = Wsgi::post_of("[]");
  request.set("HTTP_CONTENT_ENCODING", "UTF-8");
  CHECK(text_of(wsgi.ask(request)) == R"(200 {"return": []})");
  request.set("HTTP_CONTENT_ENCODING", "identity, GZIP");
  CHECK(text_of(wsgi.ask(request)).starts_with("415 "));
}

TEST_CASE("a media type's parameters do not change it") {
  const Wsgi wsgi;
  http::Environ request = Wsgi::post_of("[]");
  request.set("CONTENT_TYPE", "application/json; charset=utf-8");
  CHECK(text_of(wsgi.ask(request)) == R"(200 {"return": []})");
}

TEST_CASE("a body that is no JSON is refused with what is wrong and at which byte") {
  const Wsgi wsgi;
  CHECK(text_of(wsgi.post("")) == R"(400 {"return": "400: Expecting value: byte 0"})");
  CHECK(text_of(wsgi.post("[nonsense]")) == R"(400 {"return": "400: Expecting value: byte 1"})");
}

TEST_CASE("limits on the form of JSON are kept") {
  netapi::Options options;
  options.lowstate.json.max_depth = 3;
  CHECK(text_of(Wsgi(quick_options(), options).post("[[[[]]]]")).substr(0, 19) == R"(400 {"return": "400)");
}

TEST_CASE("a body that the front end could not read is refused as it says") {
  const Wsgi wsgi;
  http::Environ request = Wsgi::post_of("");
  request.body = Error{ErrorKind::too_large, "The body has more than 10 bytes", {}};
  CHECK(text_of(wsgi.ask(request)) == R"(413 {"return": "413: The body has more than 10 bytes"})");
  request.body = Error{ErrorKind::malformed, "The body is short", {}};
  CHECK(text_of(wsgi.ask(request)) == R"(400 {"return": "400: The body is short"})");
}

TEST_CASE("a body beyond the limit is refused") {
  netapi::Options options;
  options.max_request_body_size = 2;
  const Wsgi wsgi(quick_options(), options);
  CHECK(text_of(wsgi.post("[]")) == R"(200 {"return": []})");
  CHECK(text_of(wsgi.post("[ ]")) ==
        R"x(413 {"return": "413: Request body is larger than max_request_body_size (2 bytes)"})x");
}

TEST_CASE("a mistake in the lowstate is one plain sentence") {
  const Wsgi wsgi;
  CHECK(text_of(wsgi.post("42")) ==
        R"(400 {"return": "The body must be a list of lowstate objects; found int."})");
  CHECK(text_of(wsgi.post(R"([{"client": "foo"}])")) ==
        R"(400 {"return": "Invalid client specified: 'foo'"})");
  CHECK(
      text_of(wsgi.run(R"("client": "local", "tgt": "*")")) ==
      R"(400 {"return": "Lowstate chunk 0: 'fun' is missing; a local chunk needs 'client', 'tgt' and 'fun'."})");
}

TEST_CASE("a disabled client, missing and bad credentials have Salt's words") {
  client::Options options = quick_options();
  options.enabled = {lowstate::Client::local};
  const Wsgi wsgi(options);
  CHECK(
      text_of(wsgi.run(R"("client": "wheel", "fun": "key.list_all")")) ==
      R"(400 {"return": "Client disabled: 'wheel'. Add to 'netapi_enable_clients' master config option to enable."})");
  CHECK(text_of(wsgi.post(R"({"client": "local", "tgt": "*", "fun": "test.ping"})")) ==
        R"(401 {"return": "No authentication credentials given"})");
  CHECK(
      text_of(wsgi.post(
          R"({"client": "local", "tgt": "*", "fun": "test.ping", "eauth": "auto", "password": "wrong"})")) ==
      R"(401 {"return": "Authorization error occurred."})");
}

TEST_CASE("the client ssh answers like any other, and its keys are few") {
  CHECK(text_of(Wsgi().run(R"("client": "ssh", "tgt": "*", "fun": "test.ping")")) ==
        R"(200 {"return": [{"web1": {"return": true}}]})");
  CHECK(text_of(Wsgi().run(R"("client": "ssh", "tgt": "*", "fun": "test.ping", "raw_shell": true)"))
            .starts_with(R"(400 {"return": "Lowstate chunk 0: the key 'raw_shell' is not accepted)"));
}

TEST_CASE("an unknown runner is the caller's mistake") {
  const Wsgi wsgi;
  wsgi.master().on_admit = [](const lowstate::Chunk&) {
    return Error{ErrorKind::invocation, "'nosuch.fun' is not available.", {}};
  };
  CHECK(text_of(wsgi.run(R"("client": "runner", "fun": "nosuch.fun")")) ==
        R"(400 {"return": "'nosuch.fun' is not available."})");
}

TEST_CASE("a master that is not there is 503, and may be asked again soon") {
  const Wsgi wsgi;
  wsgi.master().on_start = [](const std::string&) {
    return Error{ErrorKind::unavailable, "Salt Master is not available.", {}};
  };
  const http::Response response = wsgi.run(kPingKeys);
  CHECK(text_of(response) == R"(503 {"return": "Salt Master is not available."})");
  CHECK(header(response, "Retry-After") == "1");
}

TEST_CASE("a job that takes too long is 504, and named") {
  const Wsgi wsgi;
  wsgi.master().on_runner = [](auto) {};
  CHECK(text_of(wsgi.run(R"("client": "runner", "fun": "test.sleep", "timeout": 0)")) ==
        R"(504 {"return": "RunnerClient job ')" + fake_jid(1) + R"(' timed out", "jid": ")" + fake_jid(1) +
            R"("})");
}

TEST_CASE("an error of ours shows a reference, under which the log has the cause") {
  const Wsgi wsgi;
  wsgi.master().on_start = [](const std::string&) { return Error{ErrorKind::internal, "disk on fire", {}}; };
  const std::string text = text_of(wsgi.run(kPingKeys));
  const std::string start = R"(500 {"return": "An unexpected error occurred (reference )";
  REQUIRE(text.size() == start.size() + 8 + 3);
  CHECK(text.substr(0, start.size()) == start);
  CHECK(text.substr(start.size() + 8) == ")\"}");
  CHECK(wsgi.log().has("error 500 for 192.0.2.7: reference " + text.substr(start.size(), 8) +
                       ": disk on fire\n"));
}

TEST_CASE("an exception is an error of ours, wherever it comes from") {
  const Wsgi wsgi;
  wsgi.master().on_start = [](const std::string&) -> std::optional<Error> {
    throw std::runtime_error("surprise");
  };
  CHECK(text_of(wsgi.run(kPingKeys)).substr(0, 38) == R"(500 {"return": "An unexpected error oc)");
  wsgi.master().on_admit = [](const lowstate::Chunk&) -> std::optional<Error> {
    throw std::logic_error("shock");
  };
  CHECK(text_of(wsgi.run(kPingKeys)).substr(0, 38) == R"(500 {"return": "An unexpected error oc)");
  CHECK(wsgi.log().has("surprise"));
  CHECK(wsgi.log().has("shock"));
}

TEST_CASE("where memory is short, another try is worth it") {
  const Wsgi wsgi;
  wsgi.master().on_start = [](const std::string&) -> std::optional<Error> { throw std::bad_alloc(); };
  const std::string text = text_of(wsgi.run(kPingKeys));
  CHECK(text.starts_with(R"(503 {"return": "There is not enough memory for this now.")"));
}

TEST_CASE("one request leaves nothing behind for the next one") {
  const Wsgi wsgi;
  CHECK(text_of(wsgi.run(kPingKeys)).substr(0, 3) == "200");
  CHECK(text_of(wsgi.post("[]")) == R"(200 {"return": []})");
  CHECK(text_of(wsgi.post("[")).substr(0, 3) == "400");
  CHECK(text_of(wsgi.run(kPingKeys)).substr(0, 3) == "200");
}
