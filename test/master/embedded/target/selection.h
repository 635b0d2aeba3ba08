// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "master/embedded/target/target.h"

namespace rest_fcgi::test {

using Groups = std::vector<master::NodegroupOptions>;

inline lowstate::Target target_of(lowstate::TargetType type, std::string_view expression,
                                  std::string_view delimiter = ":") {
  lowstate::Target target;
  target.type = type;
  target.expression = expression;
  target.delimiter = delimiter;
  return target;
}

/// Returns the ids of the minions that the target matches, with a space between two ids.
inline std::string matched(const std::vector<embedded::MinionOptions>& options,
                           const lowstate::Target& target, const Groups& nodegroups = {}) {
  const auto minions = embedded::Minions::make(options, nodegroups);
  REQUIRE(minions);
  const Result<embedded::Selection> selection = embedded::select(**minions, target);
  if (!selection) FAIL(selection.error().message);
  std::string ids;
  for (const std::size_t position : selection->positions) {
    ids.append(ids.empty() ? "" : " ").append((*minions)->all()[position].id);
  }
  return ids;
}

/// Returns the message of the error for a target. Checks that the error is an invocation error.
inline std::string refusal(const std::vector<embedded::MinionOptions>& options,
                           const lowstate::Target& target, const Groups& nodegroups = {}) {
  const auto minions = embedded::Minions::make(options, nodegroups);
  REQUIRE(minions);
  const Result<embedded::Selection> selection = embedded::select(**minions, target);
  REQUIRE_FALSE(selection);
  CHECK(selection.error().kind == ErrorKind::invocation);
  return selection.error().message;
}

}  // namespace rest_fcgi::test
