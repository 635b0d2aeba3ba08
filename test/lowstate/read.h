// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::test {

/// The chunks of a body. If the body is invalid, `chunks` is empty and `error` has the reason.
class Read {
 public:
  explicit Read(std::string_view body, const lowstate::Options& options = {},
                const lowstate::ReadOptions& reading = {}) {
    const Result<void> parsed = document_.parse(body);
    if (!parsed) return;
    auto chunks = lowstate::read(document_.root(), options, reading);
    if (chunks) {
      chunks_ = *std::move(chunks);
    } else {
      error_ = chunks.error();
    }
  }

  [[nodiscard]] const std::vector<lowstate::Chunk>& chunks() const { return chunks_; }
  [[nodiscard]] const lowstate::Chunk& chunk() const { return chunks_.at(0); }
  [[nodiscard]] const lowstate::LocalCall& local() const { return chunk().local(); }
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  JsonDocument document_;
  std::vector<lowstate::Chunk> chunks_;
  Error error_;
};

[[nodiscard]] inline std::string refusal(std::string_view body, const lowstate::Options& options = {}) {
  const Read read(body, options);
  return read.error().kind == ErrorKind::invocation ? read.error().message : "not refused";
}

/// The first text of a pair is a body, which is refused with `Lowstate chunk 0: ` and the second text.
inline void check_refused(std::initializer_list<std::pair<std::string, std::string>> rows) {
  for (const auto& row : rows) {
    CAPTURE(row.first);
    CHECK(refusal(row.first) == "Lowstate chunk 0: " + row.second);
  }
}

[[nodiscard]] inline std::string local_with(std::string_view keys, std::string_view client = "local") {
  return std::string(R"({"client": ")") + std::string(client) + R"(", "tgt": "*", "fun": "test.arg", )" +
         std::string(keys) + "}";
}

[[nodiscard]] inline std::string as_json(const std::vector<JsonValue>& values) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_array();
  for (const JsonValue& value : values) value.write(writer);
  writer.end_array();
  return text;
}

[[nodiscard]] inline std::string as_json(const std::vector<JsonMember>& members) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const JsonMember& member : members) {
    writer.key(member.key);
    member.value.write(writer);
  }
  writer.end_object();
  return text;
}

}  // namespace rest_fcgi::test
