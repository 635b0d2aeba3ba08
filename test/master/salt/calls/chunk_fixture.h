// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "master/salt/packed/packed.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/secret.h"
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

inline std::string bytes_of(const WipedBytes& message) {
  return {message.begin(), message.end()};
}

inline std::string json_of(const WipedBytes& message) {
  const auto json = salt::to_json({message.data(), message.size()});
  REQUIRE(json);
  return json->text();
}

}  // namespace rest_fcgi::test
