// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "master/embedded/minion.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/clock.h"
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

/// What execution functions may use of the engine. Borrows.
struct Engine {
  const Modules& modules;
  Jobs& jobs;
};

/// The job of a function call. Salt passes it to functions that take `**kwargs` as `__pub_fun`, `__pub_arg`
/// and so on. Borrows.
struct JobContext {
  std::string_view jid;
  std::string_view fun;  ///< the called function, also in a job of several functions
  std::string_view user;
  std::string_view tgt_type;
  std::string_view ret;
  std::string_view tgt_json;            ///< the job's `tgt` as JSON text; for a batch or subset a list of ids
  const lowstate::Function& published;  ///< the function with its arguments in the job
};

struct Returned {
  Json value = {};
  int retcode = 0;
  std::string out = {};  ///< outputter; empty: none
};
using Reply = std::variant<Returned, Raised>;

/// Where a function runs. Borrows.
struct Context {
  const Engine& engine;
  const Minion& minion;
  const JobContext& job;
  const std::stop_token& stop;
  /// End of the calling Python program's time, for a function called from Python.
  std::optional<SteadyTime> deadline = {};
};

/// An execution function: native, a script, or in Python. Immutable; shared by all threads.
struct LoadedFunction {
  using Call = std::function<Reply(const Context& context, std::span<const JsonValue> args,
                                   std::span<const JsonMember> kwargs)>;

  std::string name;  ///< with its module: `test.ping`
  std::string doc;   ///< as `sys.doc` shows it
  Json argspec;      ///< as `sys.argspec` shows it
  Call call;         ///< for calls of other functions: arguments stay as they are
  Call run = {};     ///< for jobs; empty: `call` with sorted arguments, see lowstate::sort_arguments
  bool is_quick = false;
  /// False if the module's `__virtual__` refused this host. The function can be called all the same, since
  /// `__virtual__` may accept a minion with grains of its own.
  bool is_listed = true;

  [[nodiscard]] std::string_view module() const { return std::string_view(name).substr(0, name.find('.')); }
};

using LoadedFunctions = std::vector<LoadedFunction>;
using FunctionTable = std::map<std::string, LoadedFunction, std::less<>>;  ///< by name
using StringMap = std::map<std::string, std::string, std::less<>>;

/// All execution functions of one configuration. The first function of a name wins: those in module folders,
/// in the order of the folders, then native ones, then those of the Python modules installed with the
/// program. Shared by the master and the jobs that it started, which may outlive it. Thread-safe.
class Modules {
 public:
  /// Loads the module folders; Python lists the functions of Python modules. A module that cannot be used is
  /// left out with a warning. Errors: configuration, for a folder that cannot be read and an unknown user.
  [[nodiscard]] static Result<std::shared_ptr<const Modules>> make(const ModuleOptions& options);

  ~Modules();

  /// Returns the listed functions by name. The first call asks Python for those of the installed modules.
  [[nodiscard]] std::vector<const LoadedFunction*> all() const;

  /// Returns null for an unknown function. Asks Python as `all` does, but only for a name in an installed
  /// module.
  [[nodiscard]] const LoadedFunction* find(std::string_view name) const;

  /// Returns the names of all functions, listed or not; absent if Python could not list the installed
  /// modules.
  [[nodiscard]] std::optional<std::vector<std::string>> names() const;

  /// Returns whether the module exists but could not be loaded. REQUIRES: `names` was called.
  [[nodiscard]] bool is_broken(std::string_view module) const;

  /// Returns a minion's text for a function that `find` did not find.
  [[nodiscard]] std::string not_available(std::string_view name) const;

  /// Returns those of `all` whose names the glob matches.
  [[nodiscard]] std::vector<const LoadedFunction*> matching(std::string_view glob) const;

  /// Returns whether a request's own thread may run the function: it does not sleep, start a program or
  /// compute for long. An unknown name counts as quick once all functions are known.
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
  FunctionTable functions_;      // all but those of installed modules
  StringMap broken_;             // why a module could not be loaded
  StringMap installed_modules_;  // paths by module

  mutable std::mutex mutex_;         // guards the members below
  mutable bool are_listed_ = false;  // Python listed the installed modules
  mutable std::string why_not_listed_;
  mutable FunctionTable installed_functions_;  // constant once are_listed_
};

/// Runs a function on a minion. An unknown function, wrong arguments and exceptions become a return with the
/// minion's own text. A function that takes long ends early when `stop` is requested. Thread-safe.
[[nodiscard]] master::Return execute(const Engine& engine, const Minion& minion, std::string_view fun,
                                     std::span<const JsonValue> args, std::span<const JsonMember> kwargs,
                                     const JobContext& job, const std::stop_token& stop);

}  // namespace rest_fcgi::embedded
