// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/modules/module.h"

namespace rest_fcgi::embedded {

/// A function as Salt's loader offers it. Made once, at the first use of the loader; immutable; shared by all
/// threads.
class LoadedFunction {
 public:
  /// `function` must outlive this.
  explicit LoadedFunction(const Function& function);

  [[nodiscard]] const Function& function() const noexcept { return *function_; }
  [[nodiscard]] std::string_view name() const noexcept { return function_->name; }
  /// The part before the dot.
  [[nodiscard]] std::string_view module() const noexcept;
  /// Its documentation in the layout of Salt's own.
  [[nodiscard]] const std::string& doc() const noexcept { return doc_; }

  [[nodiscard]] std::span<const Parameter> parameters() const noexcept {
    return std::span(function_->parameters).first(parameter_count_);
  }
  /// Parameters that have no default; they come first.
  [[nodiscard]] std::size_t required() const noexcept { return parameter_count_ - defaults_.size(); }
  /// The defaults of the parameters behind `required()`.
  [[nodiscard]] std::span<const JsonValue> defaults() const noexcept { return defaults_; }

 private:
  const Function* function_;
  std::string doc_;
  std::size_t parameter_count_ = 0;
  std::unique_ptr<JsonDocument> default_values_;  // on the heap, so that a move leaves it where it is
  std::vector<JsonValue> defaults_;               // look into default_values_
};

/// All functions, sorted by name.
[[nodiscard]] std::span<const LoadedFunction> loaded_functions();

/// Null where there is no function of that name. Allocates nothing once the loader was used.
[[nodiscard]] const LoadedFunction* find_function(std::string_view name);

/// The functions whose names the shell-style `pattern` matches.
[[nodiscard]] std::vector<const LoadedFunction*> matching_functions(std::string_view pattern);

}  // namespace rest_fcgi::embedded
