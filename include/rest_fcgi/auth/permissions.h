// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi::auth {

/// What somebody wants to run, as far as rules look at it.
struct FunctionCall {
  std::string_view name;
  std::span<const JsonValue> args;
  std::span<const JsonMember> kwargs;
};

/// Does this compound target hold every minion that the call would reach? False where the call reaches none.
using TargetsWithin = std::function<bool(std::string_view compound)>;

enum class Form { runner, wheel };

/// The rules of `external_auth`, Salt's grammar (its page "Access Control System"), with three differences
/// that all refuse more: a pattern has to match a function's whole name, where Salt is content with its
/// start; a list of functions is allowed only where each of them is; and a user is named exactly, where Salt
/// takes the name that logs in as a pattern. A function's pattern is an exact name, a glob, or a regular
/// expression. Immutable; thread-safe.
class Permissions {
 public:
  /// Errors: configuration, for a pattern that is neither a glob nor a regular expression that compiles.
  static Result<std::unique_ptr<Permissions>> make(const std::vector<EauthOptions>& external_auth);
  ~Permissions();
  Permissions(const Permissions&) = delete;
  Permissions& operator=(const Permissions&) = delete;

  /// May they run all of these functions on the targeted minions? An empty list is not allowed.
  /// `saltutil.find_job` always is, as in Salt, where it is the only function.
  [[nodiscard]] bool allow_local(const Identity& identity, std::span<const FunctionCall> calls,
                                 const TargetsWithin& within) const;

  /// May they run this runner or wheel? A name without exactly one dot is not allowed.
  [[nodiscard]] bool allow_master(const Identity& identity, Form form, const FunctionCall& call) const;

 private:
  struct Compiled;
  explicit Permissions(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace rest_fcgi::auth
