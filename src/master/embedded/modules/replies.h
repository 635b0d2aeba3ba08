// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
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

/// How much of what a caller gave a function repeats, such as one default for many keys.
inline constexpr std::size_t kMaxRepeated = 4 << 20;

/// What Python raises where the system refuses: `[Errno 2] No such file or directory: '/x'`, under the name
/// that Python has for this error.
[[nodiscard]] Raised os_error(int error, const std::string& path);

}  // namespace rest_fcgi::embedded
