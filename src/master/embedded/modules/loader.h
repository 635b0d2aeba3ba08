// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
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
using process::shipped;

class Jobs;
class Modules;

/// What the functions of one configuration may use of the engine that runs them. Borrows.
struct Engine {
  const Modules& modules;
  Jobs& jobs;
};

/// What a function call needs to know about the job that it is part of; Salt hands it to functions that take
/// `**kwargs` as `__pub_fun`, `__pub_arg` and so on. Borrows.
struct JobContext {
  std::string_view jid;
  std::string_view fun;  ///< the function called (each one's own name in a compound job)
  std::string_view user;
  std::string_view tgt_type;
  std::string_view ret;
  std::string_view tgt_json;            ///< the job's `tgt` as JSON text; of a batch or subset a list of ids
  const lowstate::Function& published;  ///< with the arguments that the job has for it
};

struct Returned {
  Json value = {};
  int retcode = 0;
  std::string out = {};  ///< outputter; empty: none
};

/// What a function gave.
using Reply = std::variant<Returned, Raised>;

/// Where a function runs. Borrows.
struct Context {
  const Engine& engine;
  const Minion& minion;
  const JobContext& job;
  const std::stop_token& stop;
  /// When what the function starts has to be ended: it was called from Python. Absent: never.
  std::optional<SteadyTime> deadline = {};
};

/// An execution function, whoever brought it. Immutable; shared by all threads.
class LoadedFunction {
 public:
  virtual ~LoadedFunction() = default;
  LoadedFunction(const LoadedFunction&) = delete;
  LoadedFunction& operator=(const LoadedFunction&) = delete;

  /// With its module: `test.ping`.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The part before the dot.
  [[nodiscard]] std::string_view module() const noexcept {
    return std::string_view(name_).substr(0, name_.find('.'));
  }
  /// Its documentation in the layout of Salt's own.
  [[nodiscard]] const std::string& doc() const noexcept { return doc_; }
  /// Which arguments it takes, as `sys.argspec` shows it.
  [[nodiscard]] const Json& argspec() const noexcept { return argspec_; }
  /// Is it there for everybody? Not so a function of a module whose `__virtual__` said no on this host; it
  /// can be called all the same, since a minion's own grains may have `__virtual__` say yes.
  [[nodiscard]] bool is_listed() const noexcept { return is_listed_; }
  /// See Modules::is_quick.
  [[nodiscard]] virtual bool is_quick() const noexcept { return false; }

  /// Runs it as a job does: texts `name=value` are keyword arguments, and functions with `**kwargs` are told
  /// about the job.
  [[nodiscard]] virtual Reply run(const Context& context, std::span<const JsonValue> args,
                                  std::span<const JsonMember> kwargs) const {
    const lowstate::Arguments sorted = lowstate::sort_arguments(args, kwargs);
    return call(context, sorted.positional, sorted.keywords);
  }
  /// Calls it as other functions do, with arguments as they are.
  [[nodiscard]] virtual Reply call(const Context& context, std::span<const JsonValue> args,
                                   std::span<const JsonMember> kwargs) const = 0;

 protected:
  LoadedFunction(std::string name, std::string doc, Json argspec, bool is_listed = true)
      : name_(std::move(name)), doc_(std::move(doc)), argspec_(std::move(argspec)), is_listed_(is_listed) {}

 private:
  const std::string name_;
  const std::string doc_;
  const Json argspec_;
  const bool is_listed_;
};

using LoadedFunctions = std::vector<std::unique_ptr<const LoadedFunction>>;

/// By their names, which they have themselves.
using FunctionTable = std::unordered_map<std::string_view, std::unique_ptr<const LoadedFunction>>;

using StringMap = std::map<std::string, std::string, std::less<>>;

class Python;

/// The execution functions of one configuration: what lies in the module folders, in their order; then what
/// is native; then the modules that are installed with the program. The first that has a function of a name
/// wins. Thread-safe; shared by the master and by the jobs that it started, which may outlive it.
class Modules {
 public:
  /// Asks Python for the functions of the Python modules in `module_dirs`, where there are such. What cannot
  /// be used of them is left out, and the log says so. Errors: configuration, for a folder that cannot be
  /// read and a user who does not exist.
  [[nodiscard]] static Result<std::shared_ptr<const Modules>> make(const ModuleOptions& options);

  ~Modules();

  /// Those that are listed, by name. At the first call Python is asked for those of the installed modules.
  [[nodiscard]] std::vector<const LoadedFunction*> all() const;

  /// Null where there is no function of that name. Asks Python as `all` does, but only for a name in an
  /// installed module.
  [[nodiscard]] const LoadedFunction* find(std::string_view name) const;

  /// Returns the names of all functions, with those that are not listed; absent where the installed modules
  /// cannot be looked into. Asks Python as `all` does.
  [[nodiscard]] std::optional<std::vector<std::string>> names() const;

  /// Returns whether there is such a module, and its functions are not known, as it could not be loaded.
  /// REQUIRES: `names` was called.
  [[nodiscard]] bool is_unknown(std::string_view module) const;

  /// A minion's words for a function that `find` has not found.
  [[nodiscard]] std::string missing(std::string_view name) const;

  /// Those of `all` whose names the shell-style `pattern` matches.
  [[nodiscard]] std::vector<const LoadedFunction*> matching(std::string_view pattern) const;

  /// Does the function end at once (no sleep, no program, no long computation), so that a request's own
  /// thread may run it? A name that does not exist counts as such once all functions are known.
  [[nodiscard]] bool is_quick(std::string_view name) const;

  [[nodiscard]] const ModuleOptions& options() const noexcept { return options_; }
  [[nodiscard]] const ProgramRunner& programs() const noexcept { return programs_; }

 private:
  explicit Modules(const ModuleOptions& options);
  Result<void> load();
  /// False: another one comes first.
  bool add(std::unique_ptr<const LoadedFunction> function, std::string_view from);
  const FunctionTable& installed() const;

  const ModuleOptions options_;
  const ProgramRunner programs_;
  std::unique_ptr<Python> python_;
  FunctionTable functions_;  // without the installed modules'
  StringMap broken_;         // module: why it cannot be had
  StringMap installed_;      // module: path of its file

  mutable std::mutex mutex_;  // of what follows
  mutable bool is_asked_ = false;
  mutable std::string why_not_;         // no function of the installed modules could be had
  mutable FunctionTable of_installed_;  // does not change once it is there
};

/// Runs one execution function on one minion, with a minion's own texts for what goes wrong: no such
/// function, arguments that do not fit, an exception. Never fails itself. Thread-safe. A function that takes
/// its time ends early when `stop` is requested, and then says so in its return.
[[nodiscard]] master::Return execute(const Engine& engine, const Minion& minion, std::string_view fun,
                                     std::span<const JsonValue> args, std::span<const JsonMember> kwargs,
                                     const JobContext& job, const std::stop_token& stop);

}  // namespace rest_fcgi::embedded
