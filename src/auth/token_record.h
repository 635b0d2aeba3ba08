// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::auth {

/// What is stored for a token: whose it is and how long it is good. Value type.
struct TokenRecord {
  std::string name;
  std::string eauth;
  std::vector<std::string> groups;
  WallTime start;
  WallTime expire;
};

/// One JSON object with Salt's names for a token's data.
[[nodiscard]] std::string to_json(const TokenRecord& record);

/// Errors: malformed, for anything that `to_json` would not have written; a life that ends before it starts
/// included.
Result<TokenRecord> read_token_record(std::string_view json);

}  // namespace rest_fcgi::auth
