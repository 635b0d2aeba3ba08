// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::lowstate {

/// Arguments of a runner or wheel as the function gets them, with a document of their own, so that they
/// outlive the request. Immutable.
struct MasterArguments {
  JsonDocument document;
  std::vector<JsonValue> args;     ///< look into `document`
  std::vector<JsonMember> kwargs;  ///< each key once; look into `document`

  /// Takes what a chunk brought. `as_command_line`: texts among the positional arguments are read as Salt's
  /// runner client reads them, `1` as a number and `name=value` as a keyword argument; those of `kwarg` win
  /// over these. Integers of 20 digits are jids, and become text. Errors: internal, where they cannot be
  /// copied.
  [[nodiscard]] static Result<std::shared_ptr<const MasterArguments>> take(const Function& function,
                                                                           bool as_command_line);

  /// As Salt's `fun_args`: the positional arguments, then the keyword arguments as one object, where there
  /// are any.
  [[nodiscard]] Json json() const;
};

}  // namespace rest_fcgi::lowstate
