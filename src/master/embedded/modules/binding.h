// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "master/embedded/modules/loader.h"

namespace rest_fcgi::embedded {

/// Arguments as a minion hands them to Python: what is positional, and what goes by name.
struct Arguments {
  std::vector<JsonValue> positional;
  std::vector<JsonMember> keywords;       ///< each key once
  std::unique_ptr<JsonDocument> derived;  ///< values that no request held: those out of `name=value`
};

/// Sorts the arguments of a job as a minion does before it calls (salt.minion.load_args_and_kwargs): texts
/// `name=value` are keyword arguments, too; objects with `__kwarg__` were taken apart with the request.
/// Borrows `args` and `kwargs`.
[[nodiscard]] Arguments sort_arguments(std::span<const JsonValue> args, std::span<const JsonMember> kwargs);

/// What Salt tells functions with `**kwargs` about the job that they are part of: `__pub_fun` and so on, as
/// the members of an object that is begun.
void write_publication(JsonWriter& writer, const JobContext& job);

/// An execution function of this program's own.
class NativeFunction final : public LoadedFunction {
 public:
  /// `function` must outlive this.
  explicit NativeFunction(const Function& function);

  [[nodiscard]] bool is_quick() const noexcept override { return function_.quick; }

  /// Errors: invocation, for keyword arguments that the function does not take; as `call`.
  [[nodiscard]] Reply run(const Context& context, std::span<const JsonValue> args,
                          std::span<const JsonMember> kwargs) const override;
  /// Errors: type_error with Python's own sentence where the arguments do not fit; what the function raises.
  [[nodiscard]] Reply call(const Context& context, std::span<const JsonValue> args,
                           std::span<const JsonMember> kwargs) const override;

 private:
  const Function& function_;
  std::span<const Parameter> parameters_;
  JsonDocument default_values_;
  std::vector<JsonValue> defaults_;  // of the last parameters; look into default_values_
};

}  // namespace rest_fcgi::embedded
