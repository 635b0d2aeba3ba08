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

/// Returns whether this is a key that clients put into the chunk of any function: for whom the
/// call is, how to wait for it, or how to show what it returns. A function may have a parameter of that name.
/// `match` is such a key for runners alone: wheels of Salt's module `key` have it as a parameter.
[[nodiscard]] bool is_client_key(std::string_view key, bool of_runner);

/// Decides which keyword arguments a function gets; null: all.
using KeywordFilter = std::function<bool(std::string_view key)>;

/// Arguments of a runner or wheel as the function gets them, with a document of their own, so that they
/// outlive the request. Immutable.
struct MasterArguments {
  JsonDocument document;
  std::vector<JsonValue> args;     ///< look into `document`
  std::vector<JsonMember> kwargs;  ///< each key once; look into `document`

  /// Takes what a chunk brought. `as_command_line`: texts among the positional arguments are read as Salt's
  /// runner client reads them, `1` as a number and `name=value` as a keyword argument; those of `kwarg` win
  /// over these. Integers of 20 digits are jids, and become text. Keyword arguments that `keeps` refuses are
  /// left out. Errors: internal, where they cannot be copied.
  [[nodiscard]] static Result<std::shared_ptr<const MasterArguments>> take(
      const Function& function, bool as_command_line, const KeywordFilter& keeps = nullptr);

  /// As Salt's `fun_args`: the positional arguments, then the keyword arguments as one object, where there
  /// are any.
  [[nodiscard]] Json json() const;
};

/// Arguments as a minion hands them to Python: what is positional, and what goes by name.
struct Arguments {
  std::vector<JsonValue> positional;
  std::vector<JsonMember> keywords;       ///< each key once
  std::unique_ptr<JsonDocument> derived;  ///< values that no request held: those out of `name=value`
  /// The first of `name=value` that an engine with JSON cannot carry, such as `a=.nan`; it stays text.
  std::optional<Error> refused{};
};

/// Sorts the arguments of a job as a minion does before it calls (salt.minion.load_args_and_kwargs): texts
/// `name=value` are keyword arguments, too; objects with `__kwarg__` were taken apart with the request.
/// Borrows `args` and `kwargs`.
[[nodiscard]] Arguments sort_arguments(std::span<const JsonValue> args, std::span<const JsonMember> kwargs);

/// Members as a Python dictionary keeps them that gets one after the other: of those with the same key the
/// place of the first, and the value of the last.
[[nodiscard]] std::vector<JsonMember> as_dictionary(const std::vector<JsonMember>& members);

/// What Salt makes of the value of a keyword argument that came as text, `name=value`
/// (salt.utils.args.yamlify_arg): null, booleans, integers and floats by YAML 1.1's words, quoted strings
/// without their quotes, and lists and objects in brackets; all else, and text that is no YAML, is the text
/// itself. Errors: invocation, for a list or object with an alias in it: such a text could stand for much
/// more than was sent.
[[nodiscard]] Result<Json> yamlify_scalar(std::string_view text);

/// The two sides of `name=value`, where the name could be that of a Python argument; absent for any other
/// text, also for `name==value` (salt.utils.args.parse_kwarg). Borrows `text`.
[[nodiscard]] std::optional<std::pair<std::string_view, std::string_view>> split_keyword(
    std::string_view text);

}  // namespace rest_fcgi::lowstate
