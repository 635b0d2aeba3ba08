// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "master/salt/packed/packed.h"
#include "master/salt/packed/packer.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::test {

class ReadChunk {
 public:
  explicit ReadChunk(std::string_view json) {
    REQUIRE(document_.parse(json));
    auto read = lowstate::read(document_.root(), {});
    if (!read) FAIL(read.error().message);
    REQUIRE(read->size() == 1);
    chunks_ = *std::move(read);
  }
  ReadChunk(const ReadChunk&) = delete;
  ReadChunk& operator=(const ReadChunk&) = delete;

  [[nodiscard]] const lowstate::Chunk& operator*() const { return chunks_.front(); }
  [[nodiscard]] const lowstate::Chunk* operator->() const { return &chunks_.front(); }

 private:
  JsonDocument document_;
  std::vector<lowstate::Chunk> chunks_;
};

inline std::string json_of(const std::string& message) {
  const auto json = salt::to_json(message);
  REQUIRE(json);
  return json->text();
}

inline std::string packed(std::string_view json) {
  JsonDocument document;
  REQUIRE(document.parse(json));
  std::string bytes;
  salt::Packer(bytes).value(document.root());
  return bytes;
}

/// Checks that a reply gives an internal error. Returns the error's message.
template <class Read>
std::string failure(Read read, std::string_view bytes) {
  const auto answer = read(bytes);
  REQUIRE_FALSE(answer);
  CHECK(answer.error().kind == ErrorKind::internal);
  return answer.error().message;
}

/// A reply that every reader refuses, and the error message for the caller.
struct BadReply {
  std::string_view json;
  std::string_view message;
};

inline constexpr std::array<BadReply, 11> kBadReplies = {{
    {R"("bad load")", R"(The Salt master answered "bad load".)"},
    {R"({"error": "Routing error"})", R"(The Salt master answered "Routing error".)"},
    {R"({"error": "Master failed to assign jid"})",
     R"(The Salt master answered "Master failed to assign jid".)"},
    {R"({"msg": "bad load"})", R"(The Salt master answered "bad load".)"},
    {R"({"error": {"name": "OSError", "args": [28, "full"], "message": "full"}})",
     R"(The Salt master answered "OSError: full".)"},
    {R"({"error": {}})", R"(The Salt master answered ": ".)"},
    {R"({"error": 5})",
     "Malformed reply of the Salt master: 'error': found an int, expected a map or a string."},
    {"null", "Malformed reply of the Salt master: found nil, expected a map."},
    {"false", "Malformed reply of the Salt master: found a bool, expected a map."},
    {"[{}]", "Malformed reply of the Salt master: found an array, expected a map."},
    {"7", "Malformed reply of the Salt master: found an int, expected a map."},
}};

template <class Read>
void check_bad_replies(Read read) {
  for (const BadReply& reply : kBadReplies) {
    CAPTURE(reply.json);
    CHECK(failure(read, packed(reply.json)) == reply.message);
  }
  CHECK(failure(read, "").find("Malformed reply of the Salt master: Malformed msgpack") == 0);
  CHECK(failure(read, std::string(1, '\xC1')).find("Malformed msgpack") != std::string::npos);
}

}  // namespace rest_fcgi::test
