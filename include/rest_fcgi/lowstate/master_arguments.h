// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::lowstate {

/// Returns whether the client interface itself uses this key of a chunk, as it uses `client` and `timeout`.
/// The called function does not get such a key, even if it has a parameter with this name. `match` is such a
/// key only for runners, because the wheels of Salt's module `key` have a parameter `match`.
[[nodiscard]] bool is_client_key(std::string_view key, bool of_runner);

/// A function that returns whether the called function gets this keyword argument. If the filter is empty,
/// the called function gets all keyword arguments.
using KeywordFilter = std::function<bool(std::string_view key)>;

/// Arguments of a runner or wheel. They are in their own document, so that they outlive the request.
/// Immutable.
struct MasterArguments {
  JsonDocument document;
  std::vector<JsonValue> args;     ///< positional arguments, which borrow from `document`
  std::vector<JsonMember> kwargs;  ///< keyword arguments with different names, which borrow from `document`

  /// Copies the arguments of a chunk. If `as_command_line` is true, positional texts are parsed as Salt's
  /// runner client does: `1` becomes a number, and `name=value` becomes a keyword argument. A keyword
  /// argument in `kwarg` wins over a text `name=value` with the same name. Integers of 20 digits are job ids
  /// and become text. Keyword arguments for which `keeps` returns false are dropped. Errors: internal.
  [[nodiscard]] static Result<std::shared_ptr<const MasterArguments>> copy_of(
      const Function& function, bool as_command_line, const KeywordFilter& keeps = nullptr);

  /// Returns the arguments in the form of Salt's `fun_args`: a list of the positional arguments. If there are
  /// keyword arguments, the last element is an object with these.
  [[nodiscard]] Json json() const;
};

/// Arguments as a minion passes them to a Python function.
struct Arguments {
  std::vector<JsonValue> positional;
  std::vector<JsonMember> keywords;       ///< keyword arguments with different names
  std::unique_ptr<JsonDocument> derived;  ///< owner of the values that were parsed from texts `name=value`
  /// The error for the first text `name=value` whose value JSON cannot represent, such as `a=.nan`. This text
  /// stays a positional argument.
  std::optional<Error> refused{};
};

/// Separates a job's positional and keyword arguments as a minion does (salt.minion.load_args_and_kwargs):
/// texts `name=value` become keyword arguments. Objects with `__kwarg__` were already separated when the
/// request was read. The result borrows from the arguments.
[[nodiscard]] Arguments sort_arguments(std::span<const JsonValue> args, std::span<const JsonMember> kwargs);

/// Merges members with equal keys as a Python dictionary does. The merged member has the position of the
/// first and the value of the last.
[[nodiscard]] std::vector<JsonMember> merge_equal_keys(const std::vector<JsonMember>& members);

/// Parses the value of an argument `name=value` as Salt does (salt.utils.args.yamlify_arg). Recognizes null,
/// booleans, integers and floats of YAML 1.1, quoted strings, and lists and maps in brackets. All other
/// texts, including malformed YAML, stay text. Errors: invocation, for a list or map with an alias, because
/// an alias could expand a short text to a very large value.
[[nodiscard]] Result<Json> yamlify_scalar(std::string_view text);

/// Returns the name and the value of a text `name=value`, if the name is valid for a Python argument. Returns
/// absent for other texts, including `name==value` (salt.utils.args.parse_kwarg). The result borrows from
/// `text`.
[[nodiscard]] std::optional<std::pair<std::string_view, std::string_view>> split_keyword(
    std::string_view text);

}  // namespace rest_fcgi::lowstate
