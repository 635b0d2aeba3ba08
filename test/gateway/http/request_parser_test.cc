// SPDX-License-Identifier: MIT
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "parser_driver.h"

using rest_fcgi::gateway::RequestLimits;
using rest_fcgi::gateway::test::ParserDriver;

namespace {

constexpr RequestLimits kLimits = {.max_head_size = 2000, .max_body_size = 100};

/// Returns the variables and the body as text, the reason of a refusal, or `incomplete`.
std::string outcome(ParserDriver& driver) {
  if (driver.refusal()) {
    return std::to_string(static_cast<int>(driver.refusal()->status)) + " " +
           std::string(driver.refusal()->sentence);
  }
  if (!driver.is_complete()) return "incomplete";
  const rest_fcgi::http::Environ& environ = driver.parser().finish();
  std::string text;
  for (const char* name :
       {"REQUEST_METHOD", "REQUEST_URI", "PATH_INFO", "QUERY_STRING", "SERVER_PROTOCOL", "SERVER_NAME",
        "CONTENT_TYPE", "CONTENT_LENGTH", "HTTP_HOST", "HTTP_X", "HTTP_COOKIE", "HTTP_PROXY"}) {
    const std::string_view value = environ.get(name);
    if (!value.empty()) text += std::string(name) + "=" + std::string(value) + "\n";
  }
  text += driver.parser().keep_alive() ? "kept\n" : "last\n";
  return text + "\n" + std::string(*environ.body);
}

/// Parses `bytes` in parts of `step` bytes. Returns the outcome and the number of bytes that the parser used.
std::pair<std::string, std::size_t> parse_in_steps(std::string_view bytes, std::size_t step) {
  ParserDriver driver(kLimits);
  std::size_t used = 0;
  while (used < bytes.size() && !driver.is_complete() && !driver.refusal()) {
    used += driver.take(bytes.substr(used, step));
  }
  return {outcome(driver), used};
}

std::string parse(std::string_view bytes) {
  return parse_in_steps(bytes, bytes.size()).first;
}

std::string with_headers(std::string_view headers, std::string_view body = {}) {
  return "POST / HTTP/1.1\r\nHost: a\r\n" + std::string(headers) + "\r\n" + std::string(body);
}

std::string chunked(std::string_view chunks) {
  return with_headers("Transfer-Encoding: chunked\r\n", chunks);
}

const std::vector<std::string> kGoodRequests = {
    "GET /a%20b/c?x=%20y HTTP/1.1\r\nHost: salt.example:8000\r\nX: 1\r\nx: 2\r\n\r\n",
    "GET http://other.example/p?q HTTP/1.1\r\nHost: [::1]:8000\r\nCookie: a=b\r\nCookie: c=d\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
    "HEAD / HTTP/1.0\r\n\r\n",
    "\r\nGET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    with_headers("Content-Type: text/plain\r\nContent-Length: 4\r\nConnection: close\r\n", "body"),
    with_headers("Content-Length: 0\r\n"),
    chunked("4\r\nbody\r\n0\r\n\r\n"),
    chunked("1;x=y\r\nb\r\n003\r\nody\r\n0\r\nTrailer: x\r\nX: trailer\r\n\r\n"),
    chunked("0\r\n\r\n"),  // beast#2861: before Boost 1.86, Beast fails if this request arrives byte by byte.
};

}  // namespace

TEST_CASE("a request is parsed into CGI variables, without the trailers of a chunked body") {
  CHECK(parse(kGoodRequests[0]) ==
        "REQUEST_METHOD=GET\nREQUEST_URI=/a%20b/c?x=%20y\nPATH_INFO=/a b/c\nQUERY_STRING=x=%20y\n"
        "SERVER_PROTOCOL=HTTP/1.1\nSERVER_NAME=salt.example\nHTTP_HOST=salt.example:8000\nHTTP_X=1, "
        "2\nkept\n\n");
  CHECK(parse(kGoodRequests[1]) ==
        "REQUEST_METHOD=GET\nREQUEST_URI=/p?q\nPATH_INFO=/p\nQUERY_STRING=q\nSERVER_PROTOCOL=HTTP/1.1\n"
        "SERVER_NAME=[::1]\nHTTP_HOST=[::1]:8000\nHTTP_COOKIE=a=b; c=d\nkept\n\n");
  CHECK(parse(kGoodRequests[3]) ==
        "REQUEST_METHOD=HEAD\nREQUEST_URI=/\nPATH_INFO=/\nSERVER_PROTOCOL=HTTP/1.0\nlast\n\n");
  CHECK(parse(kGoodRequests[4]) ==
        "REQUEST_METHOD=GET\nREQUEST_URI=/\nPATH_INFO=/\nSERVER_PROTOCOL=HTTP/1.0\nkept\n\n");
  CHECK(parse(kGoodRequests[5]) ==
        "REQUEST_METHOD=POST\nREQUEST_URI=/\nPATH_INFO=/\nSERVER_PROTOCOL=HTTP/1.1\nSERVER_NAME=a\n"
        "CONTENT_TYPE=text/plain\nCONTENT_LENGTH=4\nHTTP_HOST=a\nlast\n\nbody");
  const std::string head =
      "REQUEST_METHOD=POST\nREQUEST_URI=/\nPATH_INFO=/\nSERVER_PROTOCOL=HTTP/1.1\nSERVER_NAME=a\n";
  CHECK(parse(kGoodRequests[7]) == head + "CONTENT_LENGTH=4\nHTTP_HOST=a\nkept\n\nbody");
  CHECK(parse(kGoodRequests[8]) == head + "CONTENT_LENGTH=4\nHTTP_HOST=a\nkept\n\nbody");
  CHECK(parse(kGoodRequests[9]) == head + "CONTENT_LENGTH=0\nHTTP_HOST=a\nkept\n\n");
}

TEST_CASE("a request that arrives in parts is parsed alike, and the next request stays unread") {
  for (const std::string& request : kGoodRequests) {
    const std::string whole = parse(request);
    const std::string bytes = request + "GET /next";
    for (const std::size_t step : {1U, 2U, 3U, 7U, 1000U}) {
      const auto [text, used] = parse_in_steps(bytes, step);
      CHECK(text == whole);
      CHECK(used == request.size());
    }
  }
}

TEST_CASE("headers whose variable could be another header's or a library's setting are dropped") {
  ParserDriver driver(kLimits);
  driver.take(with_headers(
      "X_Auth_Token: spoofed\r\nRemote_Addr: 1.2.3.4\r\nRemote-Addr: 1.2.3.4\r\nProxy: http://evil\r\n"
      "A.B: c\r\nX-Auth-Token: real\r\n"));
  REQUIRE(driver.is_complete());
  const auto& variables = driver.parser().finish();
  CHECK(variables.get("HTTP_X_AUTH_TOKEN") == "real");
  CHECK(variables.get("HTTP_PROXY").empty());
  CHECK(variables.get("REMOTE_ADDR").empty());
  CHECK(variables.get("HTTP_REMOTE_ADDR") == "1.2.3.4");
  CHECK(variables.get("HTTP_A.B").empty());
}

TEST_CASE("an ambiguous Content-Length or Transfer-Encoding is refused") {
  const std::string length = "400 Content-Length has to be one number of bytes in decimal digits";
  const std::string encoding =
      "400 Transfer-Encoding has to be chunked, in HTTP/1.1, and without a Content-Length";
  for (const char* value :
       {"+2", "-1", "abc", "", "2, 2", "2, 3", "2x", "0x2", "99999999999999999999", "2 2"}) {
    CAPTURE(value);
    CHECK(parse(with_headers("Content-Length: " + std::string(value) + "\r\n", "xx")) == length);
  }
  CHECK(parse(with_headers("Content-Length: 2\r\nContent-Length: 3\r\n", "xx")) == length);
  CHECK(parse(with_headers("Content-Length: 2\r\nContent-Length: 2\r\n", "xx")) == length);
  CHECK(parse(with_headers("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "xx")) == encoding);
  CHECK(parse(with_headers("Transfer-Encoding: chunked\r\nContent-Length: 2\r\n", "xx")) == length);
  for (const char* value : {"gzip", "gzip, chunked", "chunked, chunked", "chunked, identity", "xchunked",
                            "identity", "\"chunked\""}) {
    CAPTURE(value);
    CHECK(parse(with_headers("Transfer-Encoding: " + std::string(value) + "\r\n", "0\r\n\r\n")) == encoding);
  }
  CHECK(parse("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") == encoding);
  CHECK(parse(with_headers("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")) == encoding);
}

TEST_CASE("an invalid request line is refused") {
  const std::string method = "400 The method has to be a word in capital letters, and not CONNECT";
  const std::string target = "400 The request's target has to be a path, or a URL without a fragment";
  const std::string path = "400 The path has a control character, or a % without two hexadecimal digits";
  const std::string version = "505 Only HTTP/1.1 and HTTP/1.0 are supported";
  const std::string not_http = "400 This is not an HTTP/1.1 request";
  const auto first_line = [](const std::string& line) { return parse(line + "\r\nHost: a\r\n\r\n"); };
  for (const char* line : {"get / HTTP/1.1", "Get / HTTP/1.1", "G\x01T / HTTP/1.1", "CONNECT a:443 HTTP/1.1"})
    CHECK(first_line(line) == method);
  for (const char* line : {"GET a HTTP/1.1", "GET /a#b HTTP/1.1", "GET * HTTP/1.1", "GET ftp://a/ HTTP/1.1",
                           "GET /a\x7F HTTP/1.1", "GET /"})
    CHECK(first_line(line) == target);
  CHECK(first_line("GET http:// HTTP/1.1").find("PATH_INFO=/\n") != std::string::npos);
  for (const char* wrong : {"%", "%a", "%zz", "%0a", "%00", "%0D", "%7f", "/%1"}) {
    CAPTURE(wrong);
    CHECK(first_line("GET /" + std::string(wrong) + " HTTP/1.1") == path);
  }
  for (const char* line : {"GET / HTTP/2.0", "PRI * HTTP/2.0", "GET / HTTP/0.9"})
    CHECK(first_line(line) == version);
  CHECK(first_line("GET / HTTQ/1.1") == not_http);
  CHECK(parse("\x16\x03\x01") == not_http);
  CHECK(parse("SSH-2.0-x") == "incomplete");
}

TEST_CASE("a head with invalid, folded, missing or too large headers is refused") {
  const std::string host = "400 Expected exactly one Host header, with the name of this host";
  CHECK(parse("GET / HTTP/1.1\r\n\r\n") == host);
  CHECK(parse("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n") == host);
  CHECK(parse("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n") == host);
  const std::string header = "400 A header is malformed";
  for (const char* wrong :
       {"no colon\r\n", "a b: c\r\n", ": c\r\n", "a: \x01\r\n", "a : b\r\n", "a: b\nc: d\r\n"}) {
    CAPTURE(wrong);
    CHECK(parse(with_headers(wrong)) == header);
  }
  const std::string large = "431 The request's head is too large";
  for (const std::size_t step : {1U, 100U, 10000U}) {
    CHECK(parse_in_steps(with_headers("X: " + std::string(5000, 'x') + "\r\n"), step).first == large);
    CHECK(parse_in_steps("GET /" + std::string(5000, 'x'), step).first == large);
  }
  std::string many;
  for (int i = 0; i < 300; ++i) many += "a:\r\n";
  CHECK(parse(with_headers(many)) == large);
  const std::string folded = "400 A header must not continue on the next line";
  for (const std::string lines :
       {"A: b\r\n c\r\n", "A: b\r\n\tc\r\n", "Transfer-Encoding: \r\n chunked\r\n", "A:\r\n \r\n",
        "A: \r\n\t\r\n", "A:\r\n \r\n \r\n", "A: b\r\n \r\nC: d\r\n", "Content-Length:\r\n \r\n 5\r\n"}) {
    CAPTURE(lines);
    CHECK(parse(with_headers(lines)) == folded);
    CHECK(parse_in_steps(with_headers(lines), 1).first == folded);
  }
}

TEST_CASE("a body beyond max_body_size, and malformed chunks, are refused") {
  const std::string large = "413 Request body is larger than max_request_body_size";
  CHECK(parse(with_headers("Content-Length: 101\r\n")) == large);
  for (const std::string& chunks : {std::string("65\r\n"), "32\r\n" + std::string(50, 'x') + "\r\n33\r\n",
                                    std::string("ffffffffffffffff\r\n")})
    CHECK(parse(chunked(chunks)) == large);
  const std::string wrong = "400 The body's chunks are malformed";
  for (const char* chunks :
       {"x\r\n", "-1\r\n", "11111111111111111\r\n", "1 \r\nb", "1\r\nbody\r\n",
        "1;a=\"\n\"\r\nb\r\n0\r\n\r\n", "1;a=\"x\\\n\"\r\nb\r\n0\r\n\r\n", "1;a=\"\x01\"\r\nb\r\n0\r\n\r\n",
        "1;a=\nb\r\nb\r\n0\r\n\r\n", "1\nb\r\n0\r\n\r\n", "1;a\n\r\nb\r\n0\r\n\r\n",
        "1\r\nb\r\n0;a=\"\n\"\r\n\r\n", "1\r\nb\n0\r\n\r\n", "1\rb"}) {
    CAPTURE(chunks);
    CHECK(parse(chunked(chunks)) == wrong);
  }
  CHECK(parse(chunked("1;a=\"b \tc\";d\r\nb\r\n0\r\n\r\n")).ends_with("\n\nb"));
  for (const char* trailer : {"A: b\r\n c\r\n", "A:\r\n \r\n"}) {
    CAPTURE(trailer);
    CHECK(parse(chunked("1\r\nb\r\n0\r\n" + std::string(trailer) + "\r\n")) ==
          "400 A header must not continue on the next line");
  }
  CHECK(parse_in_steps(chunked("1;" + std::string(10'000, 'x')), 100).first == wrong);
  CHECK(parse_in_steps(chunked("0\r\n" + std::string(10'000, 'x')), 100).first != "incomplete");
}
