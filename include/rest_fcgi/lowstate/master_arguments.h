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

/// Returns whether this key of a chunk is for the client interface, and not for the called function. `match`
/// is such a key for runners, but not for wheels.
[[nodiscard]] bool is_client_key(std::string_view key, bool of_runner);

/// Returns whether to keep the keyword argument `key`. An empty filter keeps all arguments.
using KeywordFilter = std::function<bool(std::string_view key)>;

/// The arguments of a runner or wheel, in a document that outlives the request.
struct MasterArguments {
  JsonDocument document;
  std::vector<JsonValue> args;
  std::vector<JsonMember> kwargs;

  /// Copies the positional arguments, and the keyword arguments that `keeps` accepts. If `as_command_line` is
  /// true, parses texts as Salt's runner client does: `1` becomes a number. Errors: internal.
  static Result<std::shared_ptr<const MasterArguments>> copy_of(const Function& function,
                                                                bool as_command_line,
                                                                const KeywordFilter& keeps = nullptr);

  /// Returns Salt's `fun_args`: the positional arguments, and an object of the keyword arguments.
  [[nodiscard]] Json json() const;
};

struct Arguments {
  std::vector<JsonValue> positional;
  std::vector<JsonMember> keywords;
  /// Owns the values that were parsed from arguments `name=value`.
  std::unique_ptr<JsonDocument> derived;
  /// The error for the first argument whose value JSON cannot represent, such as `a=.nan`. Such an argument
  /// stays positional.
  std::optional<Error> refused{};
};

/// Separates positional and keyword arguments as a minion does (salt.minion.load_args_and_kwargs). Texts
/// `name=value` become keyword arguments. The result borrows from the arguments.
[[nodiscard]] Arguments sort_arguments(std::span<const JsonValue> args, std::span<const JsonMember> kwargs);

/// Merges members with equal keys as a Python dictionary does. The merged member has the position of the
/// first member and the value of the last member.
[[nodiscard]] std::vector<JsonMember> merge_equal_keys(const std::vector<JsonMember>& members);

/// Parses the value of an argument `name=value` as Salt does (salt.utils.args.yamlify_arg). Malformed YAML
/// becomes a string. Errors: invocation, for an alias, which could expand to a very large value.
Result<Json> yamlify_scalar(std::string_view text);

/// Returns the name and value of a text `name=value` (salt.utils.args.parse_kwarg). Returns std::nullopt for
/// other texts, such as `name==value`. The result borrows from `text`.
[[nodiscard]] std::optional<std::pair<std::string_view, std::string_view>> split_keyword(
    std::string_view text);

}  // namespace rest_fcgi::lowstate
