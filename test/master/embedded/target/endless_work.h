// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include <doctest/doctest.h>

#include "master/embedded/target/target.h"

namespace rest_fcgi::embedded {

/// Data that branch at each of their levels are looked through for what is not there, with as many levels as
/// a target may have.
inline void check_that_work_ends(target::DataMatcher::How how, std::size_t levels) {
  std::string data = "1";
  for (int i = 0; i < 60; ++i) data = "{\"a\": " + data + ", \"b\": " + (i < 12 ? data : "2") + "}";
  JsonDocument document;
  REQUIRE(document.parse(data));
  std::string expression = "nosuch";
  for (std::size_t i = 0; i < levels; ++i) expression = "*:" + expression;
  const auto matcher = target::DataMatcher::compile(expression, ":", how);
  REQUIRE(matcher);
  int work_left = target::kMaxWork;
  CHECK_FALSE(matcher->matches(document.root(), work_left));
  CHECK(work_left == 0);
}

}  // namespace rest_fcgi::embedded
