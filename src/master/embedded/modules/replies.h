// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "master/embedded/jobs/jobs.h"
#include "master/embedded/modules/module.h"

/// The replies that functions give, in few words.
namespace rest_fcgi::embedded {

/// Returns what `write`, called with a JsonWriter, writes.
template <class Write>
Reply written(Write write) {
  std::string text;
  JsonWriter writer(text);
  write(writer);
  return Returned{Json::trusted(std::move(text))};
}

/// SaltInvocationError.
[[nodiscard]] inline Raised invocation_error(std::string message) {
  return {Raised::Kind::invocation, "SaltInvocationError", std::move(message)};
}

/// CommandExecutionError.
[[nodiscard]] inline Raised command_error(std::string message) {
  return {Raised::Kind::command, "CommandExecutionError", std::move(message)};
}

/// A call that was asked to stop.
[[nodiscard]] inline Raised terminated() {
  return Raised::interrupted(std::string(kTerminated));
}

/// How long what a call starts may run: `limit`, but not beyond the call's own deadline.
[[nodiscard]] inline std::optional<std::chrono::milliseconds> time_left(
    const Context& context, std::optional<std::chrono::milliseconds> limit) {
  if (!context.deadline) return limit;
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(*context.deadline - SteadyTime::clock::now());
  return std::min(limit.value_or(left), std::max(left, std::chrono::milliseconds(1)));
}

/// A keyword argument that is no parameter; absent where it was not given.
[[nodiscard]] inline std::optional<JsonValue> keyword(const Call& call, std::string_view name) {
  const auto found = std::find_if(call.keywords.begin(), call.keywords.end(),
                                  [name](const JsonMember& member) { return member.key == name; });
  if (found == call.keywords.end()) return std::nullopt;
  return found->value;
}

/// How much of what a caller gave a function repeats, such as one default for many keys.
inline constexpr std::size_t kMaxRepeated = 4 << 20;

}  // namespace rest_fcgi::embedded
