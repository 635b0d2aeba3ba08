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

/// Module folders: executable files `MODULE.FUNCTION`, and Python files `MODULE.py`, execution modules in
/// Salt's own form. Each call of either runs in a program of its own.
namespace rest_fcgi::embedded {

/// How the programs of modules run, the same for all.
struct ScriptSettings {
  std::chrono::milliseconds timeout{};
  Program program;  ///< without arguments and time limit
};

/// Errors: configuration, for an unknown user.
[[nodiscard]] Result<ScriptSettings> script_settings(const ModuleOptions& options);

/// Returns what a call returns if its program failed: a sentence that begins with `what`, and as the retcode
/// the exit status, a signal's number negated, or 1. Absent: the program ended with status 0.
[[nodiscard]] std::optional<Reply> failure_of(const std::string& what, const Ended& ended,
                                              const ScriptSettings& settings);

/// Returns the sentence `what_happened: errors` with the end of standard error.
[[nodiscard]] Reply failed(const std::string& what_happened, std::string_view errors, int retcode = 1);

/// Logs the end of what a program wrote to standard error.
void log_errors(std::string_view function, const Ended& ended);

struct PythonFile {
  std::string module;
  std::string path;
  std::string refused;  ///< why it must not be used; empty: it may be used
};

/// Returns the paths in a folder, sorted. After an error, only those that could be read.
[[nodiscard]] std::vector<std::filesystem::path> entries_of(const std::string& folder,
                                                            std::error_code& error);

struct ModuleFolder {
  std::vector<std::pair<std::string, LoadedFunction>> scripts;  ///< with their paths
  std::vector<PythonFile> python;
};

/// Reads the folders of `options.module_dirs`. Left out with a warning are files whose name or mode is wrong,
/// files that other users may write, and Python files whose name an earlier folder has. Errors:
/// configuration, for a folder that cannot be read.
[[nodiscard]] Result<std::vector<ModuleFolder>> read_module_folders(const ModuleOptions& options,
                                                                    const ScriptSettings& settings);

/// The functions of Python files.
struct PythonIndex {
  std::map<std::string, LoadedFunctions> functions;  ///< by the path of the file
  StringMap broken;                                  ///< by module: why it could not be loaded
  std::string why_not;                               ///< why Python did not start; empty: it did
};

/// Runs Python modules with deploy/module_loader.py. Thread-safe after `set_functions`. Borrows `programs`.
class PythonRunner {
 public:
  /// `installed`: paths of the modules that are installed with the program, by module.
  PythonRunner(const ProgramRunner& programs, const ScriptSettings& settings, const ModuleOptions& options,
               const StringMap& installed);

  /// Starts the Python that the configuration names, if any. Errors: configuration, if that program is no
  /// Python that can run modules. If it cannot be started there is only a warning.
  [[nodiscard]] Result<void> check() const;

  /// Lists the functions of these files with one program; the functions borrow this object. A module that
  /// cannot be loaded is broken, and there is a warning.
  [[nodiscard]] PythonIndex index(const std::vector<PythonFile>& files) const;

  /// Sets what a module finds in `__salt__` besides its own functions and those of installed modules.
  void set_functions(const StringMap& python, const FunctionTable& all);

  [[nodiscard]] Reply call(const Context& context, const std::string& path, const std::string& fun,
                           std::span<const JsonValue> args, std::span<const JsonMember> kwargs) const;

 private:
  class LoaderOutput;

  [[nodiscard]] std::string cannot_start(const Error& error) const;
  [[nodiscard]] Result<Ended> run_loader(std::string request, std::chrono::milliseconds limit,
                                         const std::stop_token& stop, LoaderOutput& output) const;
  /// Writes the members that each request to the loader has.
  void begin_request(JsonWriter& writer, std::string_view id, const JsonValue& grains,
                     const JsonValue& pillar) const;
  void add_module(const JsonValue& module, const StringMap& modules, PythonIndex& index) const;

  const ProgramRunner& programs_;
  const ScriptSettings settings_;
  const ModuleOptions options_;
  const std::string loader_;
  const Json installed_;
  Json python_ = Json::empty_object();
  Json native_ = Json::trusted("[]");
};

}  // namespace rest_fcgi::embedded
