// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/modules/loader.h"
#include "master/embedded/modules/scripts.h"

/// Execution modules in Salt's own form. Python runs in a program of its own, deploy/module_loader.py, once
/// for each call.
namespace rest_fcgi::embedded {

/// Which functions some Python files have. Movable.
struct PythonIndex {
  std::map<std::string, LoadedFunctions> functions;        ///< by the path of the file
  std::map<std::string, std::string, std::less<>> broken;  ///< by module: why it cannot be had
  std::string why_not;  ///< what kept Python itself from starting; empty: nothing did
};

/// Runs Python modules. Immutable once its two setters were called; then thread-safe. Borrows `programs`.
class Python {
 public:
  Python(const ProgramRunner& programs, const ScriptSettings& settings, const ModuleOptions& options);

  /// Asks for the functions of these files, in one program; they borrow this. What cannot be loaded is
  /// broken, and the log says so.
  [[nodiscard]] PythonIndex index(const std::vector<PythonFile>& files) const;

  /// Sets what a module finds in `__salt__` besides its own functions.
  void set_installed(const std::map<std::string, std::string, std::less<>>& files);
  void set_functions(const std::map<std::string, std::string>& python, const LoadedFunctions& all);

  /// Calls a function of the module in the file `path`.
  [[nodiscard]] Reply call(const Context& context, const std::string& path, const std::string& fun,
                           std::span<const JsonValue> args, std::span<const JsonMember> kwargs) const;

 private:
  class Answers;

  [[nodiscard]] Program program() const;
  /// What the loader is told in any case, and what `write_rest` adds.
  [[nodiscard]] std::string request(std::string_view id, const JsonValue& grains, const JsonValue& pillar,
                                    const std::function<void(JsonWriter&)>& write_rest) const;
  [[nodiscard]] std::string index_request(const std::vector<PythonFile>& files) const;
  [[nodiscard]] std::string call_request(const Context& context, const std::string& path,
                                         const std::string& fun, std::span<const JsonValue> args,
                                         std::span<const JsonMember> kwargs) const;
  void take_module(const JsonValue& module, const std::map<std::string, std::string, std::less<>>& modules,
                   PythonIndex& index) const;

  const ProgramRunner& programs_;
  const ScriptSettings settings_;
  const ModuleOptions options_;
  const std::string loader_;  // path of the program
  Json installed_ = Json::empty_object();
  Json python_ = Json::empty_object();
  Json native_ = Json::trusted("[]");
};

}  // namespace rest_fcgi::embedded
