// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "../../../support/embedded_engine.h"

namespace rest_fcgi::test {

inline std::string ret(EmbeddedEngine& engine, std::string_view members) {
  return engine.runner(members).ret.text();
}

inline std::string text_of(const Json& json) {
  JsonDocument document;
  REQUIRE(document.parse(json.text()));
  return std::string(document.root().text());
}

inline std::string text(EmbeddedEngine& engine, std::string_view members) {
  return text_of(engine.runner(members).ret);
}

}  // namespace rest_fcgi::test
