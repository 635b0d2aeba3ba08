// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::embedded {

/// An execution function's arguments as they will be bound, for the rules of `external_auth` to look at: a
/// text `name=value` among the positional arguments is a keyword argument here as it is for the function.
/// Otherwise it would move the arguments behind it to places where no rule looks for them. Borrows the
/// function.
class RuleCall {
 public:
  explicit RuleCall(const lowstate::Function& function);

  /// Valid as long as this is.
  [[nodiscard]] auth::FunctionCall call() const noexcept { return {name_, args_, kwargs_}; }

 private:
  void take_values(const std::string& values);

  std::string_view name_;
  std::vector<JsonValue> args_;
  std::vector<JsonMember> kwargs_;
  std::unique_ptr<JsonDocument> values_;  ///< of texts `name=value`; null where there are none
};

}  // namespace rest_fcgi::embedded
