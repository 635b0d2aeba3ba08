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

/// Module folders. A module folder has executable files `MODULE.FUNCTION`, and Python files `MODULE.py`,
/// which are execution modules in Salt's form. Each call starts a program of its own.
namespace rest_fcgi::embedded {

/// The settings of the programs that run modules. They are the same for all modules.
struct ScriptSettings {
  std::chrono::milliseconds timeout{};
  Program program;  ///< the program without arguments and time limit
};

/// Returns the settings. Errors: configuration, for an unknown user.
[[nodiscard]] Result<ScriptSettings> script_settings(const ModuleOptions& options);

/// Makes the return of a call whose program failed. Its text is a sentence that begins with `what`. Its
/// retcode is the exit status, the negative number of a signal, or 1. Returns nothing if the program ended
/// with status 0.
[[nodiscard]] std::optional<Reply> failure_of(const std::string& what, const Ended& ended,
                                              const ScriptSettings& settings);

/// Makes the return of a failed call, with the text `what_happened: errors`. The text shows only the end of
/// `errors`, the output to standard error.
[[nodiscard]] Reply failed(const std::string& what_happened, std::string_view errors, int retcode = 1);

/// Logs the end of the output that a program wrote to standard error.
void log_errors(std::string_view function, const Ended& ended);

struct PythonFile {
  std::string module;
  std::string path;
  std::string refused;  ///< why the file must not be used; empty if it may be used
};

/// Returns the sorted paths of the entries in a folder. After an error, returns the entries that could be
/// read.
[[nodiscard]] std::vector<std::filesystem::path> entries_of(const std::string& folder,
                                                            std::error_code& error);

struct ModuleFolder {
  std::vector<std::pair<std::string, LoadedFunction>> scripts;  ///< scripts with their paths
  std::vector<PythonFile> python;
};

/// Reads the folders of `options.module_dirs`. Leaves out these files with a warning: files with a wrong name
/// or mode, files that other users may write, and Python files whose name exists in an earlier folder.
/// Errors: configuration, for a folder that cannot be read.
[[nodiscard]] Result<std::vector<ModuleFolder>> read_module_folders(const ModuleOptions& options,
                                                                    const ScriptSettings& settings);

/// The functions in Python files.
struct PythonIndex {
  std::map<std::string, LoadedFunctions> functions;  ///< functions by the path of their file
  StringMap broken;                                  ///< why a module could not be loaded, by module
  std::string why_not;                               ///< why Python did not start; empty if it started
};

/// Runs Python modules with deploy/module_loader.py. Thread-safe after the call of `set_functions`. Borrows
/// `programs`.
class PythonRunner {
 public:
  /// `installed` has the paths of the modules that are installed with the program, by module.
  PythonRunner(const ProgramRunner& programs, const ScriptSettings& settings, const ModuleOptions& options,
               const StringMap& installed);

  /// Tests the Python that the configuration names, if it names any. Errors: configuration, if the named
  /// program is no Python that can run modules. If the program cannot be started, only logs a warning.
  [[nodiscard]] Result<void> check() const;

  /// Lists the functions in these files. One Python program does this for all files. The functions borrow
  /// this object. If a module cannot be loaded, logs a warning and puts the module into `broken`.
  [[nodiscard]] PythonIndex index(const std::vector<PythonFile>& files) const;

  /// Sets the functions that a module finds in `__salt__`, in addition to its own functions and those of
  /// installed modules.
  void set_functions(const StringMap& python, const FunctionTable& all);

  [[nodiscard]] Reply call(const Context& context, const std::string& path, const std::string& fun,
                           std::span<const JsonValue> args, std::span<const JsonMember> kwargs) const;

 private:
  class LoaderOutput;

  [[nodiscard]] std::string cannot_start(const Error& error) const;
  [[nodiscard]] Result<Ended> run_loader(std::string request, std::chrono::milliseconds limit,
                                         const std::stop_token& stop, LoaderOutput& output) const;
  /// Writes the members that every request to the loader has.
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
