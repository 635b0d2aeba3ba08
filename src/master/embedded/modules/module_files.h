// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "master/embedded/modules/loader.h"

/// A module folder has executable files `MODULE.FUNCTION`, and Python files `MODULE.py` in Salt's form. Each
/// call starts a new program.
namespace rest_fcgi::embedded {

struct ScriptSettings {
  std::chrono::milliseconds timeout{};
  /// The settings of the program that runs a script. The arguments and the time limit are added for each
  /// call.
  Program program;
};

/// Returns the settings for scripts. Fails with `configuration` for an unknown user.
Result<ScriptSettings> script_settings(const ModuleOptions& options);

/// Makes the return of a failed program. The return's text begins with `what`. The retcode is the exit
/// status, the negative signal number, or 1. Returns std::nullopt for the exit status 0.
[[nodiscard]] std::optional<Reply> failure_of(const std::string& what, const Ended& ended,
                                              const ScriptSettings& settings);

/// Makes the return of a failed call with the text `what_happened: errors`. If `errors` is long, the text has
/// only its last 2048 bytes.
[[nodiscard]] Reply failed(const std::string& what_happened, std::string_view errors, int retcode = 1);

/// Returns the last 2048 bytes of what a program wrote, without white space at both ends.
[[nodiscard]] std::string_view end_of(std::string_view text);

/// Logs the last 2048 bytes that a program wrote to standard error. Logs nothing if there are none.
void log_errors(std::string_view function, const Ended& ended);

struct PythonFile {
  std::string module;
  std::string path;
  std::string refused;  ///< The reason why the file must not be used, or empty.
};

/// Returns the sorted paths of the entries in a folder. If the folder cannot be read to its end, returns the
/// entries that were read.
[[nodiscard]] std::vector<std::filesystem::path> entries_of(const std::string& folder,
                                                            std::error_code& error);

struct ModuleFolder {
  std::vector<std::pair<std::string, LoadedFunction>> scripts;
  std::vector<PythonFile> python;
};

/// Reads the folders in `options.module_dirs`. Ignores three kinds of files with a warning: files with a
/// wrong name or mode, files that other users may write, and files with the module of an earlier file. Fails
/// with `configuration` if a folder cannot be read.
Result<std::vector<ModuleFolder>> read_module_folders(const ModuleOptions& options,
                                                      const ScriptSettings& settings);

struct PythonIndex {
  std::map<std::string, LoadedFunctions> functions;  ///< `functions` maps a file's path to its functions.
  StringMap broken;     ///< `broken` maps module names to the reasons of their load failures.
  std::string why_not;  ///< `why_not` is the reason why Python did not start, or empty.
};

/// Runs Python modules with deploy/module_loader.py. Borrows `programs`. Thread-safe after `set_functions`.
class PythonRunner {
 public:
  PythonRunner(const ProgramRunner& programs, const ScriptSettings& settings, const ModuleOptions& options,
               const StringMap& installed);

  /// Starts the configured Python to test whether it can run modules. Fails with `configuration` if Python
  /// does not start or cannot run modules. If rest_fcgi_run does not answer, only logs a warning.
  Result<void> check() const;

  /// Lists the functions in all files with one Python program. If a file ends the program, starts another one
  /// for the remaining files. The functions in the result borrow this PythonRunner. For a module that cannot
  /// be loaded, logs a warning and adds the module's name to `PythonIndex::broken`.
  [[nodiscard]] PythonIndex index(const std::vector<PythonFile>& files) const;

  /// Sets the functions that Python modules find in `__salt__`.
  void set_functions(const StringMap& python, const FunctionTable& all);

  [[nodiscard]] Reply call(const Context& context, const std::string& path, const std::string& fun,
                           std::span<const JsonValue> args, std::span<const JsonMember> kwargs) const;

 private:
  class LoaderOutput;

  [[nodiscard]] std::string cannot_start(const Error& error) const;
  Result<Ended> run_loader(std::string request, std::chrono::milliseconds limit, const std::stop_token& stop,
                           std::function<std::string(std::string_view line)> on_line) const;
  void begin_request(JsonWriter& writer, std::string_view id, const JsonValue& grains,
                     const JsonValue& pillar) const;
  /// Starts one program for the files in `left`. Removes each file that the program lists from `left`, and
  /// adds the file's functions or failure to `index`. Returns how the program ended. If Python does not work,
  /// sets `index.why_not`.
  [[nodiscard]] std::string run_index(std::vector<PythonFile>& left, SteadyTime end,
                                      PythonIndex& index) const;
  static void leave_out_first(std::vector<PythonFile>& left, const std::string& reason, PythonIndex& index);
  void add_module(const JsonValue& module, const PythonFile& file, PythonIndex& index) const;

  const ProgramRunner& programs_;
  const ScriptSettings settings_;
  const ModuleOptions options_;
  const std::string loader_;
  const Json installed_;
  Json python_ = Json::empty_object();
  Json native_ = Json::trusted("[]");
};

}  // namespace rest_fcgi::embedded
