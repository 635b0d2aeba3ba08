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

/// Returns whether clients use this key in chunks for themselves, for example to choose the client or how
/// long to wait. A function may have a parameter with the same name. `match` is such a key only for runners,
/// since wheels of Salt's module `key` have it as a parameter.
[[nodiscard]] bool is_client_key(std::string_view key, bool of_runner);

/// Returns whether the function gets this keyword argument. Empty: it gets all.
using KeywordFilter = std::function<bool(std::string_view key)>;

/// Arguments of a runner or wheel, with their own document, so that they outlive the request. Immutable.
struct MasterArguments {
  JsonDocument document;
  std::vector<JsonValue> args;     ///< borrow from `document`
  std::vector<JsonMember> kwargs;  ///< each key once; borrow from `document`

  /// Copies the arguments of a chunk. `as_command_line`: positional texts are read as Salt's runner client
  /// reads them, `1` as a number and `name=value` as a keyword argument; those of `kwarg` win. Integers of 20
  /// digits are job ids and become text. Keyword arguments for which `keeps` is false are dropped. Errors:
  /// internal.
  [[nodiscard]] static Result<std::shared_ptr<const MasterArguments>> copy_of(
      const Function& function, bool as_command_line, const KeywordFilter& keeps = nullptr);

  /// Returns Salt's `fun_args`: the positional arguments, followed by an object with the keyword arguments,
  /// if there are any.
  [[nodiscard]] Json json() const;
};

/// Arguments as a minion passes them to a Python function.
struct Arguments {
  std::vector<JsonValue> positional;
  std::vector<JsonMember> keywords;       ///< each key once
  std::unique_ptr<JsonDocument> derived;  ///< values that were parsed from `name=value`
  /// error for the first `name=value` that JSON cannot represent, such as `a=.nan`; it stays text
  std::optional<Error> refused{};
};

/// Sorts a job's arguments as a minion does (salt.minion.load_args_and_kwargs): texts `name=value` become
/// keyword arguments. Objects with `__kwarg__` were sorted when the request was read. Borrows.
[[nodiscard]] Arguments sort_arguments(std::span<const JsonValue> args, std::span<const JsonMember> kwargs);

/// Merges members with equal keys like a Python dictionary: the place of the first, the value of the last.
[[nodiscard]] std::vector<JsonMember> merge_equal_keys(const std::vector<JsonMember>& members);

/// Returns the value of a text `name=value` (salt.utils.args.yamlify_arg): null, booleans, integers and
/// floats of YAML 1.1, quoted strings, and lists and maps in brackets. All other texts, and texts that are
/// not YAML, stay text. Errors: invocation, for a list or map with an alias, which could expand to much more
/// than was sent.
[[nodiscard]] Result<Json> yamlify_scalar(std::string_view text);

/// Returns name and value of `name=value`, if the name can be a Python argument; absent for other texts, also
/// for `name==value` (salt.utils.args.parse_kwarg). Borrows.
[[nodiscard]] std::optional<std::pair<std::string_view, std::string_view>> split_keyword(
    std::string_view text);

}  // namespace rest_fcgi::lowstate
