// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/pam_wire.h"

#include <string>

#include <doctest/doctest.h>

namespace rest_fcgi::auth::pam {
namespace {

std::string_view body_of(const WipedBytes& frame) {
  const std::string_view bytes(frame.data(), frame.size());
  REQUIRE(body_size(bytes.substr(0, kHeader)) == bytes.size() - kHeader);
  return bytes.substr(kHeader);
}

}  // namespace

TEST_CASE("a truncated or longer body is refused") {
  const WipedBytes request = to_frame({Ask::check, "login", "fred", SecretView("sesame"), "192.0.2.7"});
  for (std::size_t size = 0; size < body_of(request).size(); ++size) {
    CHECK_FALSE(read_request(body_of(request).substr(0, size)));
  }
  CHECK_FALSE(read_request(std::string(body_of(request)) + "x"));
  const WipedBytes answer = to_frame(Answer{Outcome::good, "why", {"fred"}});
  for (const std::size_t size : {0U, 1U, 3U, 6U, 8U})
    CHECK_FALSE(read_answer(body_of(answer).substr(0, size)));
}

TEST_CASE("another version, unknown codes and too long texts are refused") {
  std::string body(body_of(to_frame({Ask::verify, "login"})));
  for (const auto& [place, value] : {std::pair{0, '\2'}, std::pair{1, '\0'}, std::pair{1, '\3'}}) {
    std::string wrong = body;
    wrong[static_cast<std::size_t>(place)] = value;
    CHECK_FALSE(read_request(wrong));
  }
  CHECK_FALSE(read_answer(std::string("\1\0\0\0", 4)));
  CHECK_FALSE(read_answer(std::string("\1\6\0\0", 4)));
  CHECK_FALSE(read_answer(std::string("\2\1\0\0", 4)));
  const std::string text(kMaxField + 1, 'x');
  CHECK(to_frame({Ask::verify, "login", "fred", SecretView(text)}).empty());
  CHECK(to_frame(Answer{Outcome::good, "", std::vector<std::string>(100, text)}).empty());
  CHECK(body_size(std::string_view("\0\1\0\0", 4)) == 65536);
  CHECK_FALSE(body_size(std::string_view("\0\1\0\1", 4)));
  CHECK_FALSE(body_size("\1\1"));
}

TEST_CASE("names with a special meaning to modules are not user names, and a service is a plain file name") {
  using Names = std::vector<std::string>;
  for (const std::string& name :
       Names{"fred", "fred.smith", "DOM\\fred", "fred@example.org", "fr\u00e9d", "_x", "a b"}) {
    CAPTURE(name);
    CHECK(is_username(name));
  }
  for (const std::string& name : Names{"", "-x", "+x", "~x", " x", ".", "..", "a/b", "a:b", "a,b", "a\nb",
                                       "a\x7f", std::string("a\0b", 3), std::string(257, 'x')}) {
    CAPTURE(name);
    CHECK_FALSE(is_username(name));
  }
  for (const char* name : {"login", "common-auth", "a.b_c"}) CHECK(is_service(name));
  for (const std::string& name : Names{"", ".x", "-x", "a/b", "a b", "../login", std::string(65, 'x')})
    CHECK_FALSE(is_service(name));
}

}  // namespace rest_fcgi::auth::pam
