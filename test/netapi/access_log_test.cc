// SPDX-License-Identifier: MIT
#include <chrono>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "netapi/handlers.h"

using namespace rest_fcgi;
using http::Environ;
using http::Response;
using http::Status;

namespace {

Environ request(std::string_view uri) {
  Environ made;
  made.set("REMOTE_ADDR", "127.0.0.1");
  made.set("REQUEST_METHOD", "GET");
  made.set("REQUEST_URI", uri);
  made.set("SERVER_PROTOCOL", "HTTP/1.1");
  made.set("HTTP_USER_AGENT", "curl/7.88.1");
  return made;
}

std::string line(const Environ& environ, const Response& response = {Status::ok, {}, "12345"}) {
  return netapi::access_line(environ, response, WallTime(std::chrono::seconds(1795222393)));
}

std::string shown(std::string_view uri) {
  const std::string text = line(request(uri));
  const std::size_t begin = text.find("GET ") + 4;
  return text.substr(begin, text.find(" HTTP/1.1") - begin);
}

class NoStream final : public http::Stream {
 public:
  Result<std::string_view> next() override { return std::string_view(); }
};

const std::string kToken(64, 'a');

}  // namespace

TEST_CASE("an access line has CherryPy's format with the size of the body") {
  CHECK(line(request("/minions?x=1")) ==
        R"(127.0.0.1 - - [21/Nov/2026:00:53:13 +0000] "GET /minions?x=1 HTTP/1.1" 200 5 "" "curl/7.88.1")");
  const auto bytes = [](const Response& response) {
    const std::string text = line(request("/"), response);
    const std::size_t begin = text.find("HTTP/1.1\" ") + 10;
    return text.substr(begin, text.find(" \"", begin) - begin);
  };
  CHECK(bytes({Status::not_found, {}, ""}) == "404 0");
  CHECK(bytes({Status::not_modified, {}, ""}) == "304 -");
  CHECK(bytes({Status::ok, {}, std::make_unique<NoStream>(), 70}) == "200 70");
  CHECK(bytes({Status::ok, {}, std::make_unique<NoStream>()}) == "200 -");
}

TEST_CASE("an access line masks tokens, escapes control characters and is limited in length") {
  CHECK(shown("/ws/" + kToken) == "/ws/***");
  CHECK(shown("/ws/" + std::string(32, 'F') + "/x") == "/ws/***/x");
  CHECK(shown("/events?token=abc&x=1;salt_token=q&y") == "/events?token=***&x=1;salt_token=***&y");
  CHECK(shown("/run?p%61ssword=pw&username=fred&a=" + kToken) == "/run?p%61ssword=***&username=***&a=***");
  CHECK(shown("/jobs/20261121005313000000") == "/jobs/20261121005313000000");
  Environ other = request("/");
  other.set("HTTP_REFERER", "https://a/?token=secret");
  other.set("HTTP_USER_AGENT", kToken);
  CHECK(line(other).ends_with(R"("https://a/?token=***" "***")"));
  CHECK(shown("/a\"b\\c\n\x1b\xff") == R"(/a\"b\\c\x0a\x1b\xff)");
  CHECK(shown("/" + std::string(3000, 'x')) == "/" + std::string(2047, 'x') + "...");
}
