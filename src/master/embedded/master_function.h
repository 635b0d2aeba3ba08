// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/jobs.h"
#include "master/embedded/minion.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"

/// Functions that run on the master: runners and wheels.
namespace rest_fcgi::embedded {

/// Arguments of such a function, with a document of their own, so that they outlive the request. Immutable.
struct MasterArguments {
  JsonDocument document;
  std::vector<JsonValue> args;     ///< look into `document`
  std::vector<JsonMember> kwargs;  ///< each key once; look into `document`

  /// Takes what a chunk brought. `as_command_line`: texts among the positional arguments are read as Salt's
  /// runner client reads them, `1` as a number and `name=value` as a keyword argument; those of `kwarg` win
  /// over these. Integers of 20 digits are jids, and become text. Errors: internal, where they cannot be
  /// copied.
  [[nodiscard]] static Result<std::shared_ptr<const MasterArguments>> take(const lowstate::Function& function,
                                                                           bool as_command_line);

  /// As Salt's `fun_args`: the positional arguments, then the keyword arguments as one object, where there
  /// are any.
  [[nodiscard]] Json json() const;
};

/// Arguments in the order of a function's parameters. Borrows.
struct BoundArguments {
  std::vector<JsonValue> values;       ///< one for each parameter; null where the caller left it out
  std::span<const JsonValue> args;     ///< all positional ones
  std::span<const JsonMember> kwargs;  ///< all keyword arguments
};

/// What a function on the master works with. Borrows.
struct MasterContext {
  const Minions& minions;
  Jobs& jobs;
  const std::stop_token& stop;
};

struct MasterParameter {
  std::string_view name;
  bool required = false;
};

/// One runner or wheel, as its table lists it.
struct MasterFunction {
  std::string_view name;  ///< with its module: `manage.up`
  std::string_view usage;
  std::array<MasterParameter, 8> parameters;  ///< up to the first without a name
  bool any_arguments = false;                 ///< takes whatever comes
  bool quick = true;                          ///< ends at once
  /// Errors: of any kind; the sentence is what the caller gets to see.
  Result<Json> (*run)(const MasterContext& context, const BoundArguments& arguments) = nullptr;

  /// Errors: invocation, in the words in which Python complains about arguments that do not fit.
  [[nodiscard]] Result<BoundArguments> bind(const MasterArguments& arguments) const;
};

[[nodiscard]] std::span<const MasterFunction> manage_runners();
[[nodiscard]] std::span<const MasterFunction> jobs_runners();
[[nodiscard]] std::span<const MasterFunction> test_runners();
[[nodiscard]] std::span<const MasterFunction> key_wheels();

/// Null where there is no such runner.
[[nodiscard]] const MasterFunction* find_runner(std::string_view name);

/// Null where there is no such wheel.
[[nodiscard]] const MasterFunction* find_wheel(std::string_view name);

/// What Python takes for true: not null, false, 0 or anything empty.
[[nodiscard]] bool is_true(JsonValue value);

}  // namespace rest_fcgi::embedded
