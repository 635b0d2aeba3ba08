// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "master/embedded/modules/loader.h"

/// What users put into module folders: executable files `MODULE.FUNCTION`, and Python files `MODULE.py`,
/// execution modules in Salt's own form. Each call of either runs in a program of its own.
namespace rest_fcgi::embedded {

/// How the programs of modules are run, the same for all. Plain value.
struct ScriptSettings {
  std::chrono::milliseconds timeout{};
  Program program;  ///< to be given its arguments and a time limit
};

/// Errors: configuration, for a user who does not exist.
[[nodiscard]] Result<ScriptSettings> script_settings(const ModuleOptions& options);

/// What a call gives whose program came to no good end: a sentence that begins with `what`, and a retcode:
/// the exit status, a signal's number negated, else 1. Absent: the program ended with status 0.
[[nodiscard]] std::optional<Reply> bad_end(const std::string& what, const Ended& ended,
                                           const ScriptSettings& settings);

/// The sentence `what happened: errors`, where `errors` is the end of standard error.
[[nodiscard]] Reply failed(const std::string& what_happened, std::string_view errors, int retcode = 1);

/// Writes what a program wrote to standard error into the log, the end of it.
void log_errors(std::string_view function, const Ended& ended);

/// An execution function that is an executable file: it gets the call as a JSON object on standard input, and
/// prints what it returns as JSON.
class ScriptFunction final : public LoadedFunction {
 public:
  /// `name`: with its module; `doc`: what sys.doc shows.
  ScriptFunction(std::string name, std::string path, std::string doc, const ScriptSettings& settings);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Runs the file, and waits for it. Whatever goes wrong is a sentence, see bad_end. What it writes to
  /// standard error when all went well goes to the log.
  [[nodiscard]] Reply call(const Context& context, std::span<const JsonValue> args,
                           std::span<const JsonMember> kwargs) const override;

 private:
  const std::string path_;
  const ScriptSettings settings_;
};

/// A Python file of a module folder. Plain value.
struct PythonFile {
  std::string module;  ///< the name of the file
  std::string path;
  std::string refused;  ///< why it must not be used; empty: it may be
};

/// What is in a folder, sorted. Where `error` is set, what could be read of it.
[[nodiscard]] std::vector<std::filesystem::path> entries_of(const std::string& folder,
                                                            std::error_code& error);

/// What one module folder has. Movable.
struct ModuleFolder {
  std::vector<std::unique_ptr<ScriptFunction>> scripts;
  std::vector<PythonFile> python;
};

/// The folders of `options.module_dirs`. What looks like a module and is none, what others could have
/// written, and a Python file whose name an earlier folder has, is left out, and the log says so. Errors:
/// configuration, for a folder that cannot be read.
[[nodiscard]] Result<std::vector<ModuleFolder>> read_module_folders(const ModuleOptions& options,
                                                                    const ScriptSettings& settings);

/// What the lines of comment at the start of a script say, behind its `#!` line; empty where there are none.
[[nodiscard]] std::string script_doc(std::string_view text);

/// Which functions some Python files have. Movable.
struct PythonIndex {
  std::map<std::string, LoadedFunctions> functions;  ///< by the path of the file
  StringMap broken;                                  ///< by module: why it cannot be had
  std::string why_not;  ///< what kept Python itself from starting; empty: nothing did
};

/// Runs Python modules by way of deploy/module_loader.py. Immutable once `set_functions` was called; then
/// thread-safe. Borrows `programs`.
class Python {
 public:
  /// `installed`: the files of the modules that are installed with the program, by module.
  Python(const ProgramRunner& programs, const ScriptSettings& settings, const ModuleOptions& options,
         const StringMap& installed);

  /// Starts the Python that the configuration names, if it names one. Errors: configuration, where the
  /// program started and is no Python that can run modules. Where it cannot be started, the log says so.
  [[nodiscard]] Result<void> check() const;

  /// Asks for the functions of these files, in one program; they borrow this. What cannot be loaded is
  /// broken, and the log says so.
  [[nodiscard]] PythonIndex index(const std::vector<PythonFile>& files) const;

  /// Sets what a module finds in `__salt__` besides its own functions and the installed modules'.
  void set_functions(const StringMap& python, const FunctionTable& all);

  /// Calls a function of the module in the file `path`.
  [[nodiscard]] Reply call(const Context& context, const std::string& path, const std::string& fun,
                           std::span<const JsonValue> args, std::span<const JsonMember> kwargs) const;

 private:
  class Answers;

  /// Says that Python cannot be started, by which path and why.
  [[nodiscard]] std::string cannot_start(const Error& error) const;
  /// Runs the loader, which is asked `request`, and gives `answers` its lines.
  [[nodiscard]] Result<Ended> run_loader(std::string request, std::chrono::milliseconds limit,
                                         const std::stop_token& stop, Answers& answers) const;
  /// Begins a request with what the loader is told in any case.
  void begin_request(JsonWriter& writer, std::string_view id, const JsonValue& grains,
                     const JsonValue& pillar) const;
  void take_module(const JsonValue& module, const StringMap& modules, PythonIndex& index) const;

  const ProgramRunner& programs_;
  const ScriptSettings settings_;
  const ModuleOptions options_;
  const std::string loader_;  // path of the program
  const Json installed_;
  Json python_ = Json::empty_object();
  Json native_ = Json::trusted("[]");
};

}  // namespace rest_fcgi::embedded
