// SPDX-License-Identifier: MIT
#include "netapi/request.h"

#include <zlib.h>

#include <doctest/doctest.h>

#include "netapi/handlers.h"
#include "wsgi.h"

using namespace rest_fcgi;
using namespace rest_fcgi::netapi;

namespace {

Target target_with(const std::vector<std::pair<std::string, std::string>>& variables) {
  http::Environ environ;
  for (const auto& [name, value] : variables) environ.set(name, value);
  auto target = read_target(environ);
  REQUIRE(target);
  // `method` points into `environ`, which is destroyed when this function returns. Clears `method` for this
  // reason.
  target->method = {};
  return *std::move(target);
}

std::string json_of(const std::string& type, const std::string& text, BodyRules rules = {{}, 1000}) {
  http::Environ environ;
  environ.set("CONTENT_TYPE", type);
  environ.body = std::string_view(text);
  JsonDocument document;
  const auto body = read_body(environ, rules, document);
  return body ? body->value.json().text() : "error: " + body.error().message;
}

std::string unpacked(const std::string& text) {
  std::string out(100000, '\0');
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, MAX_WBITS + 16) == Z_OK);
  std::string in = text;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

std::string encoding_of(std::string text, std::string_view accept,
                        const std::string& type = "application/json") {
  http::Response response{http::Status::ok, {{"Content-Type", type}}, std::move(text)};
  compress_if_accepted(accept, response);
  return test::header(response, "Content-Encoding");
}

}  // namespace

TEST_CASE("the path comes from PATH_INFO, otherwise from REQUEST_URI") {
  const Target mounted =
      target_with({{"SCRIPT_NAME", "/salt/"}, {"PATH_INFO", "/a%41//b/"}, {"REQUEST_URI", "/x"}});
  CHECK(mounted.above == "/salt");
  CHECK(mounted.path == "/a%41//b/");
  CHECK(mounted.parts == std::vector<std::string>{"a%41", "b"});
  const Target bare = target_with({{"SCRIPT_NAME", "/x/y"}, {"REQUEST_URI", "/x%41/y?a=b"}});
  CHECK(bare.above.empty());
  CHECK(bare.path == "/xA/y");
  CHECK(target_with({}).path == "/");
}

TEST_CASE("the query comes from QUERY_STRING, otherwise from REQUEST_URI") {
  CHECK(in_query(target_with({{"REQUEST_URI", "/?a=1&b=2&a=3"}}), "a") == "3");
  CHECK(in_query(target_with({{"QUERY_STRING", "a=x+y"}, {"REQUEST_URI", "/?a=1"}}), "a") == "x y");
  CHECK(in_query(target_with({}), "a").empty());
  const Target target = target_with({{"QUERY_STRING", "a=1&b=2&a=3&token=secret&password=x"}});
  CHECK(query_json(target).text() == R"({"a": ["1", "3"], "b": "2"})");
}

TEST_CASE("control characters in a path and long queries are refused") {
  http::Environ mounted;
  mounted.set("PATH_INFO", "/a");
  mounted.set("SCRIPT_NAME", "/x\n");
  CHECK_FALSE(read_target(mounted));
  for (const char* const path : {"/a%0Ab", "/%00", "/%7f", "/a%1b"}) {
    http::Environ request;
    request.set("REQUEST_URI", path);
    CHECK_FALSE(read_target(request));
  }
  http::Environ request;
  std::string query;
  for (int i = 0; i < 2000; ++i) query += "a=b&";
  request.set("QUERY_STRING", query);
  CHECK_FALSE(read_target(request));
}

TEST_CASE("a body in any form is read as one JSON value") {
  CHECK(json_of("application/json", R"({"a": 1})") == R"({"a": 1})");
  CHECK(json_of("application/x-yaml", "a: [1, yes, 2026-11-22]") == R"({"a": [1, true, "2026-11-22"]})");
  CHECK(json_of("text/plain", "[1]") == "[1]");
  CHECK(json_of("text/plain", "just text") == R"("just text")");
  CHECK(
      json_of("application/x-www-form-urlencoded", "a=1&b=x&b=y&arg=2&arg[]=&arg[]={z: 1}&kwarg={c: 2.5}") ==
      R"({"a": "1", "arg": [2, {"z": 1}], "b": ["x", "y"], "kwarg": {"c": 2.5}})");
  CHECK(json_of("", "") == "null");
  CHECK(json_of("text/xml", "") == "null");
}

TEST_CASE("empty form fields are dropped, except for hooks") {
  const std::string type = "application/x-www-form-urlencoded";
  CHECK(json_of(type, "a=&b&c=1&c=&kwarg=&metadata={d: 2}") == R"({"c": "1", "metadata": {"d": 2}})");
  BodyRules hook{{}, 1000};
  hook.forms_are_lowstate = false;
  CHECK(json_of(type, "a=&b&c=1&c=&metadata={d: 2}", hook) ==
        R"({"a": "", "b": "", "c": ["1", ""], "metadata": "{d: 2}"})");
}

TEST_CASE("rest_tornado's forms have trimmed text and the fields of the query") {
  const std::vector<FormField> query{{"q", "1"}, {"password", "secret"}};
  const BodyRules rules{{}, 1000, false, false, &query};
  const std::string type = "application/x-www-form-urlencoded";
  CHECK(json_of(type, "a=+5%0a&q=2", rules) == R"({"a": "5", "q": ["1", "2"]})");
  CHECK(json_of(type, "arg=", rules) == R"({"q": "1"})");
  CHECK(json_of(type, "arg=&arg=true", rules) == R"({"arg": "true", "q": "1"})");
  CHECK(json_of("text/plain", "just text", rules).starts_with("error: "));
}

TEST_CASE("gzip is used for accepted large text only") {
  const std::string large(5000, 'x');
  CHECK(encoding_of(large, "gzip") == "gzip");
  CHECK(encoding_of(large, "br, gzip;q=0.5") == "gzip");
  CHECK(encoding_of(large, "gzip ; q=1.0") == "gzip");
  CHECK(encoding_of(large, "gzip;q=0") == "no Content-Encoding");
  CHECK(encoding_of(large, "gzip;q=0.000") == "no Content-Encoding");
  CHECK(encoding_of(large, "") == "no Content-Encoding");
  CHECK(encoding_of(large, "br") == "no Content-Encoding");
  CHECK(encoding_of(large, "gzip", "image/png") == "no Content-Encoding");
  CHECK(encoding_of(large, "gzip", "application/x-tar") == "no Content-Encoding");
  CHECK(encoding_of(std::string(1023, 'x'), "gzip") == "no Content-Encoding");
}

TEST_CASE("a large body is compressed completely, and random bytes are not") {
  std::string digits;
  std::string noise;
  std::uint32_t state = 1;
  for (int i = 0; i < 90000; ++i) {
    state = state * 1664525 + 1013904223;
    digits += static_cast<char>('0' + (state >> 24) % 10);
    noise += static_cast<char>(state >> 24);
  }
  http::Response response{http::Status::ok, {}, digits};
  compress_if_accepted("gzip", response);
  CHECK(response.text().size() > 32768);
  CHECK(unpacked(response.text()) == digits);
  CHECK(encoding_of(noise, "gzip") == "no Content-Encoding");
}
