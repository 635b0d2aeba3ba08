// SPDX-License-Identifier: MIT
#include <array>
#include <string>

#include <doctest/doctest.h>

#include "netapi/request.h"
#include "rest_fcgi/core/format.h"

using namespace rest_fcgi;
using namespace rest_fcgi::netapi;

namespace {

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
  const auto read = fields_in(text);
  REQUIRE(read);
  for (const FormField& field : *read) all += format("<{}={}>", field.name, field.value);
  return all;
}

}  // namespace

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

TEST_CASE("unsupported media types are not acceptable") {
  for (const char* accept :
       {"text/html", "text/plain", "application/vnd.foo+json", "application/json;q=0", "text/*"}) {
    CHECK_MESSAGE(out(accept) == "none", accept);
  }
  CHECK(out("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", kPages) == "text/html");
  CHECK(out("text/html;q=0.5, application/json", kPages) == "application/json");
  CHECK(out("*/*", kPages) == "application/json");
}

TEST_CASE("a quality outside of 0 to 1 is a malformed header") {
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
      "text/plain, in "
      "UTF-8";
  for (const char* type :
       {"multipart/form-data; boundary=x", "text/xml", "text/html", "application/vnd.api+json",
        "application/json; charset=latin-1", "json", "text/event-stream"}) {
    CHECK(in(type) == format("Content type not supported: {}{}", type, accepted));
  }
  CHECK(in("") == "Content type not supported: the request has no Content-Type" + accepted);
}

TEST_CASE("form fields are decoded in order") {
  CHECK(fields("fun=test.ping&arg=a+b&arg=%41%zz%4") == "<fun=test.ping><arg=a b><arg=A%zz%4>");
  CHECK(fields("a&b=&=c&&d=e=f;g") == "<a=><b=><=c><d=e=f;g>");
  CHECK(fields("") == "");
  CHECK(fields("x=%C3%A4%FF") == "<x=\xC3\xA4\xFF>");
  CHECK_FALSE(fields_in("a&b&c", 2).ok());
  CHECK(fields_in("a&b", 2).ok());
}
