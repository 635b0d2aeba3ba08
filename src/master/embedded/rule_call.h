// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::embedded {

/// A function's arguments as they will be bound, for the rules of `external_auth` to look at: a text
/// `name=value` among the positional arguments is a keyword argument here as it is for the function.
/// Otherwise it would move the arguments behind it to places where no rule looks for them. Borrows the
/// function.
class RuleCall {
 public:
  explicit RuleCall(const lowstate::Function& function);

  /// Valid as long as this is.
  [[nodiscard]] auth::FunctionCall call() const noexcept { return {name_, args_, kwargs_}; }

 private:
  void add_keyword(std::string_view name, std::string_view value);

  std::string_view name_;
  std::vector<JsonValue> args_;
  std::vector<JsonMember> kwargs_;
  std::vector<std::unique_ptr<JsonDocument>> values_;  ///< of texts `name=value`
};

}  // namespace rest_fcgi::embedded
