// SPDX-License-Identifier: MIT
#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "master/embedded/execution.h"

namespace rest_fcgi::test {

/// Runs execution functions on one minion, with arguments as JSON text. Not synchronized.
class Execution {
 public:
  explicit Execution(std::string_view grains = "{}") {
    minion_.id = "ms-0";
    REQUIRE(minion_.grains.parse(grains).ok());
  }

  /// REQUIRES: `args` is an array, `kwargs` an object.
  embedded::Outcome run(std::string_view fun, std::string_view args = "[]", std::string_view kwargs = "{}",
                        std::stop_token stop = {}) {
    JsonDocument arg_document;
    JsonDocument kwarg_document;
    REQUIRE(arg_document.parse(args).ok());
    REQUIRE(kwarg_document.parse(kwargs).ok());
    std::vector<JsonValue> positional;
    for (const JsonValue value : arg_document.root().elements()) positional.push_back(value);
    std::vector<JsonMember> keywords;
    for (const JsonMember member : kwarg_document.root().members()) keywords.push_back(member);
    std::string published;
    JsonWriter writer(published);
    writer.begin_array();
    for (const JsonValue& value : positional) value.write(writer);
    if (!keywords.empty()) kwarg_document.root().write(writer);
    writer.end_array();
    const embedded::JobContext job{"20260101000000000001", fun, "saltdev", "glob", "", "\"*\"", published};
    return embedded::execute(minion_, fun, positional, keywords, job, stop);
  }

  /// The return's JSON text.
  std::string ret(std::string_view fun, std::string_view args = "[]", std::string_view kwargs = "{}") {
    return run(fun, args, kwargs).ret.text();
  }

  /// The first line of a return that is a text, without quotes.
  std::string sentence(std::string_view fun, std::string_view args = "[]", std::string_view kwargs = "{}") {
    const std::string text = ret(fun, args, kwargs);
    JsonDocument document;
    REQUIRE(document.parse(text).ok());
    const std::string_view whole = document.root().text();
    return std::string(whole.substr(0, whole.find('\n')));
  }

 private:
  embedded::Minion minion_;
};

}  // namespace rest_fcgi::test
