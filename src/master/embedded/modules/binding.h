// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "master/embedded/modules/loader.h"

namespace rest_fcgi::embedded {

/// Arguments as a minion hands them to Python: what is positional, and what goes by name.
struct Arguments {
  std::vector<JsonValue> positional;
  std::vector<JsonMember> keywords;  ///< each key once
  std::unique_ptr<JsonDocument>
      derived;  ///< values that no request held: those out of `name=value`, `__pub_fun`, ...
};

/// Sorts the arguments of a job as a minion does before it calls (salt.minion.load_args_and_kwargs): texts
/// `name=value` are keyword arguments, too (objects with `__kwarg__` were taken apart with the request), and
/// functions with `**kwargs` are told about the job. Errors: invocation, for keyword arguments that the
/// function does not take. Borrows `args` and `kwargs`.
[[nodiscard]] std::variant<Arguments, Raised> sort_arguments(const LoadedFunction& function,
                                                             std::span<const JsonValue> args,
                                                             std::span<const JsonMember> kwargs,
                                                             const JobContext& job);

/// Calls `function` as Python would. Errors: type_error with Python's own sentence where the arguments do not
/// fit; what the function raises.
[[nodiscard]] Reply call_function(const LoadedFunction& function, const Context& context,
                                  std::span<const JsonValue> positional,
                                  std::span<const JsonMember> keywords);

}  // namespace rest_fcgi::embedded
