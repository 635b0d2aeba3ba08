// SPDX-License-Identifier: MIT
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "etcd/watch_wire.h"

namespace rest_fcgi::etcd {
namespace {

const std::string kTricky = R"({"result":{"created":true}}{"a":[{"b":"}]{["},{"c":"\"}"}],"d":"\\"})"
                            "\n \r\n\t{}\n"
                            R"({"e":"\\\"{","f":{}})";
const std::vector<std::string> kObjects = {R"({"result":{"created":true}})",
                                           R"({"a":[{"b":"}]{["},{"c":"\"}"}],"d":"\\"})", "{}",
                                           R"({"e":"\\\"{","f":{}})"};

/// All objects of `text`, which comes in pieces of `size` bytes; the last is "error" where one comes.
std::vector<std::string> read(std::string_view text, std::size_t size, std::size_t most = 1000) {
  ObjectReader reader(most);
  std::vector<std::string> objects;
  for (std::size_t at = 0; at < text.size(); at += size) {
    reader.append(text.substr(at, size));
    for (;;) {
      auto object = reader.next();
      if (!object) {
        objects.emplace_back("error");
        return objects;
      }
      if (!*object) break;
      objects.push_back(**object);
    }
  }
  return objects;
}

}  // namespace

TEST_CASE("objects of a stream are told apart wherever it is split") {
  for (std::size_t size = 1; size <= kTricky.size(); ++size) CHECK(read(kTricky, size) == kObjects);
}

TEST_CASE("what is cut short gives the objects before and no error") {
  for (std::size_t length = 0; length < kTricky.size(); ++length) {
    const auto objects = read(std::string_view(kTricky).substr(0, length), 7);
    CAPTURE(length);
    REQUIRE(objects.size() < kObjects.size());
    CHECK(std::equal(objects.begin(), objects.end(), kObjects.begin()));
  }
}

TEST_CASE("a stream that is no longer made of objects is an error that shows none of it") {
  for (const char* text : {"[1]", "secret", "\"a\"", "}", "]", "1"}) {
    CAPTURE(text);
    CHECK(read(std::string("{} ") + text, 100) == std::vector<std::string>{"{}", "error"});
    ObjectReader reader(100);
    reader.append(text);
    const auto object = reader.next();
    REQUIRE_FALSE(object);
    CHECK(object.error().kind == ErrorKind::internal);
    CHECK(object.error().message.find("not with an object") != std::string::npos);
    CHECK(object.error().message.find("secret") == std::string::npos);
  }
}

TEST_CASE("an object above the limit is an error, also before its end has come") {
  const std::string object = R"({"a":"0123456789"})";
  CHECK(read(object + object, 5, object.size()) == std::vector<std::string>{object, object});
  CHECK(read(object, 5, object.size() - 1) == std::vector<std::string>{"error"});
  CHECK(read(R"({"a":"01234567890123456789)", 5, 12) == std::vector<std::string>{"error"});
}

TEST_CASE("bytes that are changed at random break nothing, and what is read is as long as what came") {
  std::mt19937 random(6);
  std::uniform_int_distribution<std::size_t> anywhere(0, kTricky.size() - 1);
  std::uniform_int_distribution<int> any_byte(0, 255);
  for (int i = 0; i < 5000; ++i) {
    std::string text = kTricky;
    for (int changes = 0; changes < 3; ++changes)
      text[anywhere(random)] = static_cast<char>(any_byte(random));
    const auto whole = read(text, text.size());
    CHECK(read(text, 1 + anywhere(random)) == whole);
    std::size_t bytes = 0;
    for (const std::string& object : whole) bytes += object == "error" ? 0 : object.size();
    CHECK(bytes <= text.size());
  }
}

}  // namespace rest_fcgi::etcd
