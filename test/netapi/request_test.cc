// SPDX-License-Identifier: MIT
#include "netapi/request.h"

#include <zlib.h>

#include <array>
#include <string>

#include <doctest/doctest.h>

#include "netapi/handlers.h"
#include "rest_fcgi/core/format.h"
#include "wsgi.h"

using namespace rest_fcgi;
using namespace rest_fcgi::netapi;

namespace {

Target target_with(const std::vector<std::pair<std::string, std::string>>& variables) {
  http::Environ environ;
  for (const auto& [name, value] : variables) environ.set(name, value);
  auto target = read_target(environ);
  REQUIRE(target);
  // `method` would point into `environ`, which this function destroys on return.
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

constexpr std::array kValues{Media::json, Media::yaml};
constexpr std::array kPages{Media::json, Media::yaml, Media::html};

std::string out(std::string_view accept, std::span<const Media> offered = kValues) {
  const auto media = media_out(accept, offered);
  if (!media) return media.error().message;
  return *media ? std::string(content_type_of(**media)) : "none";
}

std::string in(std::string_view content_type) {
  const auto media = media_in(content_type);
  return media ? std::string(content_type_of(*media)) : media.error().message;
}

std::string fields(std::string_view text) {
  std::string all;
  const auto read = *fields_in(text);
  for (const FormField& field : read) all += format("<{}={}>", field.name, field.value);
  return all;
}

}  // namespace

TEST_CASE("the path comes from PATH_INFO, the query from QUERY_STRING, and else from REQUEST_URI") {
  const Target mounted =
      target_with({{"SCRIPT_NAME", "/salt/"}, {"PATH_INFO", "/a%41//b/"}, {"REQUEST_URI", "/x"}});
  CHECK(mounted.above == "/salt");
  CHECK(mounted.path == "/a%41//b/");
  CHECK(mounted.parts == std::vector<std::string>{"a%41", "b"});
  const Target bare = target_with({{"SCRIPT_NAME", "/x/y"}, {"REQUEST_URI", "/x%41/y?a=b"}});
  CHECK(bare.above.empty());
  CHECK(bare.path == "/xA/y");
  CHECK(target_with({}).path == "/");
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

TEST_CASE("a body in any form is read as one JSON value, and form fields are decoded in order") {
  CHECK(json_of("application/json", R"({"a": 1})") == R"({"a": 1})");
  CHECK(json_of("application/x-yaml", "a: [1, yes, 2026-11-22]") == R"({"a": [1, true, "2026-11-22"]})");
  CHECK(json_of("text/plain", "[1]") == "[1]");
  CHECK(json_of("text/plain", "just text") == R"("just text")");
  CHECK(
      json_of("application/x-www-form-urlencoded", "a=1&b=x&b=y&arg=2&arg[]=&arg[]={z: 1}&kwarg={c: 2.5}") ==
      R"({"a": "1", "arg": [2, {"z": 1}], "b": ["x", "y"], "kwarg": {"c": 2.5}})");
  CHECK(json_of("", "") == "null");
  CHECK(json_of("text/xml", "") == "null");
  CHECK(fields("fun=test.ping&arg=a+b&arg=%41%zz%4") == "<fun=test.ping><arg=a b><arg=A%zz%4>");
  CHECK(fields("a&b=&=c&&d=e=f;g") == "<a=><b=><=c><d=e=f;g>");
  CHECK(fields("") == "");
  CHECK(fields("x=%C3%A4%FF") == "<x=\xC3\xA4\xFF>");
  CHECK_FALSE(fields_in("a&b&c", 2).ok());
  CHECK(fields_in("a&b", 2).ok());
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
  for (const char* accept : {"gzip", "br, gzip;q=0.5", "gzip ; q=1.0"})
    CHECK(encoding_of(large, accept) == "gzip");
  for (const char* accept : {"gzip;q=0", "gzip;q=0.000", "", "br"})
    CHECK(encoding_of(large, accept) == "no Content-Encoding");
  for (const char* type : {"image/png", "application/x-tar"})
    CHECK(encoding_of(large, "gzip", type) == "no Content-Encoding");
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

TEST_CASE("the reply is JSON unless Accept prefers YAML") {
  for (const char* accept :
       {"", "*/*", "application/*", "application/json", "application/json; charset=utf-8",
        "application/json;version=1", "application/JSON", " application/json , ",
        "application/xml;q=0.9, application/json;q=0.1", "application/x-yaml, application/json",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}) {
    CHECK_MESSAGE(out(accept) == "application/json", accept);
  }
  for (const char* accept : {"application/x-yaml", "application/yaml", "text/yaml",
                             "application/json;q=0.1, application/x-yaml;q=0.9", "application/json;q=0, */*",
                             "application/json;q=0.5, application/*", "TEXT/YAML;Q=0.2"}) {
    CHECK_MESSAGE(out(accept) == "application/x-yaml", accept);
  }
}

TEST_CASE("unsupported media types are not acceptable, and a quality outside of 0 to 1 is malformed") {
  for (const char* accept :
       {"text/html", "text/plain", "application/vnd.foo+json", "application/json;q=0", "text/*"}) {
    CHECK_MESSAGE(out(accept) == "none", accept);
  }
  CHECK(out("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", kPages) == "text/html");
  CHECK(out("text/html;q=0.5, application/json", kPages) == "application/json");
  CHECK(out("*/*", kPages) == "application/json");
  for (const char* quality : {"abc", "", "1.1", "-1", "nan", "0.5x"}) {
    const std::string header = format("application/json;q={}", quality);
    CHECK(out(header) == format("Malformed HTTP header: `{}`", header));
  }
}

TEST_CASE("Content-Type selects how a body is read, and other types and charsets are refused") {
  CHECK(in("application/json") == "application/json");
  CHECK(in("Application/JSON ; charset=\"UTF-8\"; x=y") == "application/json");
  CHECK(in("application/x-yaml") == "application/x-yaml");
  CHECK(in("text/yaml;charset=utf8") == "application/x-yaml");
  CHECK(in("application/x-www-form-urlencoded") == "application/x-www-form-urlencoded");
  CHECK(in("text/plain") == "text/plain");
  const std::string accepted =
      "; accepted are application/json, application/x-yaml, application/x-www-form-urlencoded and "
      "text/plain, in UTF-8";
  for (const char* type :
       {"multipart/form-data; boundary=x", "text/xml", "text/html", "application/vnd.api+json",
        "application/json; charset=latin-1", "json", "text/event-stream"}) {
    CHECK(in(type) == format("Content type not supported: {}{}", type, accepted));
  }
  CHECK(in("") == "Content type not supported: the request has no Content-Type" + accepted);
}
