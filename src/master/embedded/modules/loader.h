// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/modules/module.h"
#include "master/embedded/modules/script_function.h"
#include "master/embedded/process/program.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/embedded/options.h"

namespace rest_fcgi::embedded {

/// A function as Salt's loader offers it. Immutable; shared by all threads.
class LoadedFunction {
 public:
  /// `function` must outlive this.
  explicit LoadedFunction(const Function& function);
  explicit LoadedFunction(std::unique_ptr<const ScriptFunction> script);

  [[nodiscard]] const Function& function() const noexcept { return *function_; }
  [[nodiscard]] std::string_view name() const noexcept { return function_->name; }
  /// Calls it with arguments that are bound.
  [[nodiscard]] Reply run(const Call& call) const {
    return script_ ? script_->run(call) : function_->run(call);
  }

  /// The part before the dot.
  [[nodiscard]] std::string_view module() const noexcept;
  /// Its documentation in the layout of Salt's own.
  [[nodiscard]] const std::string& doc() const noexcept { return doc_; }

  [[nodiscard]] std::span<const Parameter> parameters() const noexcept {
    return parameters_of(*function_).first(parameter_count_);
  }
  /// Parameters that have no default; they come first.
  [[nodiscard]] std::size_t required() const noexcept { return parameter_count_ - defaults_.size(); }
  /// The defaults of the parameters behind `required()`.
  [[nodiscard]] std::span<const JsonValue> defaults() const noexcept { return defaults_; }

 private:
  static std::span<const Parameter> parameters_of(const Function& function) noexcept {
    return function.long_parameters.empty() ? std::span(function.parameters) : function.long_parameters;
  }

  std::unique_ptr<const ScriptFunction> script_;  // null: a built-in function
  const Function* function_;
  std::string doc_;
  std::size_t parameter_count_ = 0;
  std::unique_ptr<JsonDocument> default_values_;  // on the heap, so that a move leaves it where it is
  std::vector<JsonValue> defaults_;               // look into default_values_
};

/// The execution functions of one configuration. Immutable; shared by the master and by the jobs that it
/// started, which may outlive it.
class Modules {
 public:
  /// The built-in functions, and the scripts of `module_dirs` whose names they have not taken.
  /// Errors: configuration, see load_scripts.
  [[nodiscard]] static Result<std::shared_ptr<const Modules>> make(const ModuleOptions& options);

  /// Sorted by name.
  [[nodiscard]] std::span<const LoadedFunction> all() const noexcept { return functions_; }

  /// Null where there is no function of that name. Allocates nothing.
  [[nodiscard]] const LoadedFunction* find(std::string_view name) const noexcept;

  /// The functions whose names the shell-style `pattern` matches.
  [[nodiscard]] std::vector<const LoadedFunction*> matching(std::string_view pattern) const;

  /// Does the function end at once (no sleep, no fork, no long computation), so that a request's own thread
  /// may run it? True for a name that does not exist: saying so is quick.
  [[nodiscard]] bool is_quick(std::string_view name) const noexcept;

  [[nodiscard]] const ModuleOptions& options() const noexcept { return options_; }
  [[nodiscard]] const ProgramRunner& programs() const noexcept { return programs_; }

 private:
  Modules(const ModuleOptions& options, std::vector<std::unique_ptr<const ScriptFunction>> scripts);

  const ModuleOptions options_;
  const ProgramRunner programs_;
  std::vector<LoadedFunction> functions_;
};

}  // namespace rest_fcgi::embedded
