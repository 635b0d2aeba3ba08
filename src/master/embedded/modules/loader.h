// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "master/embedded/minion.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/lowstate/master_arguments.h"
#include "rest_fcgi/master/embedded/options.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/process/program.h"

namespace rest_fcgi::embedded {

using process::Ended;
using process::Identity;
using process::identity_of;
using process::Program;
using process::ProgramRunner;

class Jobs;
class Modules;
class PythonRunner;

/// The components of the engine that execution functions use. Borrows the components.
struct Engine {
  const Modules& modules;
  Jobs& jobs;
};

/// The values of a job that Salt passes to functions with `**kwargs`. For example, `fun` is passed as
/// `__pub_fun`. The object borrows its texts.
struct JobContext {
  std::string_view jid;
  std::string_view fun;  ///< The called function. A job may have several functions.
  std::string_view user;
  std::string_view tgt_type;
  std::string_view ret;
  std::string_view tgt_json;  ///< `tgt_json` is the job's `tgt`, or a list of ids for a batch or subset.
  const lowstate::Function& published;  ///< `published` is the published function with its arguments.
};

struct Returned {
  Json value = {};
  int retcode = 0;
  std::string out = {};  ///< The name of the outputter, or empty.
};
using Reply = std::variant<Returned, Raised>;

/// The minion, the job and the limits of a function call. Borrows all of them.
struct Context {
  const Engine& engine;
  const Minion& minion;
  const JobContext& job;
  const std::stop_token& stop;
  /// The deadline of the Python program that calls the function. Absent if no Python program calls it.
  std::optional<SteadyTime> deadline = {};
};

/// An execution function: a native function, a script or a Python function. Immutable; thread-safe.
struct LoadedFunction {
  using Call = std::function<Reply(const Context& context, std::span<const JsonValue> args,
                                   std::span<const JsonMember> kwargs)>;

  std::string name;
  std::string doc;  ///< `doc` is the documentation that `sys.doc` shows.
  Json argspec;     ///< `argspec` has the arguments that `sys.argspec` shows.
  Call call;        ///< Other functions call this function through `call`, with unchanged arguments.
  /// Jobs call this function through `run`. If `run` is empty, jobs use `call`, with arguments sorted by
  /// `lowstate::sort_arguments`.
  Call run = {};
  bool is_quick = false;
  /// Whether lists of functions show this function. `is_listed` is false if the module's `__virtual__`
  /// returned false for the host's grains. Minions with other grains may still run the function.
  bool is_listed = true;

  [[nodiscard]] std::string_view module() const { return std::string_view(name).substr(0, name.find('.')); }
};

using LoadedFunctions = std::vector<LoadedFunction>;
using FunctionTable = std::map<std::string, LoadedFunction, std::less<>>;
using StringMap = std::map<std::string, std::string, std::less<>>;

/// All execution functions of one configuration. A function in a module folder replaces a native function
/// with the same name. A native function takes precedence over a function of an installed Python module. The
/// object may outlive the master that made it. Thread-safe.
class Modules {
 public:
  /// Loads the module folders. Leaves out modules that cannot be used, with a warning. Fails with
  /// `configuration` for an unreadable folder or an unknown user.
  static Result<std::shared_ptr<const Modules>> make(const ModuleOptions& options);

  ~Modules();

  /// Returns the functions whose `is_listed` is true, sorted by name. The first call starts Python.
  [[nodiscard]] std::vector<const LoadedFunction*> all() const;

  /// Returns the function, or null for an unknown name. The first call for an installed module starts Python.
  [[nodiscard]] const LoadedFunction* find(std::string_view name) const;

  /// Returns the names of all functions. Returns std::nullopt if Python could not list the installed modules.
  [[nodiscard]] std::optional<std::vector<std::string>> names() const;

  /// Returns whether the module exists but cannot be loaded. REQUIRES: `names` was called.
  [[nodiscard]] bool is_broken(std::string_view module) const;

  [[nodiscard]] std::string not_available(std::string_view name) const;

  [[nodiscard]] std::vector<const LoadedFunction*> matching(std::string_view glob) const;

  /// Returns whether a thread of a request may run the function. A quick function does not sleep, start a
  /// program or compute for long. After Python has listed all functions, an unknown name counts as quick,
  /// because its call only returns an error.
  [[nodiscard]] bool is_quick(std::string_view name) const;

  [[nodiscard]] const ModuleOptions& options() const noexcept { return options_; }
  [[nodiscard]] const ProgramRunner& programs() const noexcept { return programs_; }

 private:
  explicit Modules(const ModuleOptions& options);
  Result<void> load();
  bool add_from_folder(LoadedFunction function, std::string_view path);
  const FunctionTable& installed() const;

  const ModuleOptions options_;
  const ProgramRunner programs_;
  std::unique_ptr<PythonRunner> python_;
  FunctionTable functions_;      // `functions_` has all functions except those of installed modules.
  StringMap broken_;             // `broken_` maps module names to the reasons of their load failures.
  StringMap installed_modules_;  // `installed_modules_` maps names of installed modules to their paths.

  mutable Mutex mutex_;
  // `are_listed_` says whether Python has listed the installed modules.
  mutable bool are_listed_ GUARDED_BY(mutex_) = false;
  mutable std::string why_not_listed_ GUARDED_BY(mutex_);
  // This map does not change once `are_listed_` is true.
  mutable FunctionTable installed_functions_ GUARDED_BY(mutex_);
};

/// Runs a function on a minion. If the function fails, the return has the same text as from a Salt minion. A
/// slow function ends early after a stop request. Thread-safe.
[[nodiscard]] master::Return execute(const Engine& engine, const Minion& minion, std::string_view fun,
                                     std::span<const JsonValue> args, std::span<const JsonMember> kwargs,
                                     const JobContext& job, const std::stop_token& stop);

}  // namespace rest_fcgi::embedded
