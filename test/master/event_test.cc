// SPDX-License-Identifier: MIT
#include "rest_fcgi/master/event.h"

#include <string>

#include <doctest/doctest.h>

using namespace rest_fcgi;
using master::check_event;

namespace {

std::string refusal(std::string_view tag, const Json& data = Json::empty_object()) {
  const auto checked = check_event(tag, data);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().kind == ErrorKind::invocation);
  return checked.error().message;
}

}  // namespace

TEST_CASE("an event is a tag and an object") {
  const auto checked = check_event("salt/netapi/hook/\xC3\xA4 b", Json::trusted(R"({"post": {"a": [1]}})"));
  REQUIRE(checked);
  CHECK(checked->root().find("post").has_value());
  CHECK(check_event(std::string(512, 'a'), Json::empty_object()));
}

TEST_CASE("a tag that could break out of its line, or is none, is refused, saying what was found") {
  CHECK(refusal("") ==
        "An event's tag is 1 to 512 bytes of UTF-8 without control characters; an empty one was found.");
  CHECK(refusal(std::string(513, 'a')).find("one of 513 bytes") != std::string::npos);
  for (const std::string_view tag : {std::string_view("a\nb"), std::string_view("a\r"),
                                     std::string_view("a\0b", 3), std::string_view("\x7F")}) {
    CHECK(refusal(tag).find("one with a control character") != std::string::npos);
  }
  for (const char* tag : {"\xFF", "a\xC3", "\xED\xA0\x80", "\x80"}) {
    CHECK(refusal(tag).find("one that is no UTF-8") != std::string::npos);
  }
}

TEST_CASE("an event's data is an object, nested no deeper than its listeners can read") {
  CHECK(refusal("a", Json::trusted("[1]")) == "An event's data is an object; list was found.");
  CHECK(refusal("a", Json::string("x")) == "An event's data is an object; str was found.");
  const auto nested = [](std::size_t depth) {
    return Json::trusted(R"({"a": )" + std::string(depth, '[') + std::string(depth, ']') + "}");
  };
  CHECK(check_event("a", nested(399)));
  CHECK(refusal("a", nested(400)).starts_with("An event's data: "));
}
