// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/modules/module.h"
#include "master/embedded/process/program.h"

namespace rest_fcgi::embedded {

/// How script modules are run, the same for all. Plain value.
struct ScriptSettings {
  std::chrono::milliseconds timeout{};
  std::optional<Identity> identity;      ///< absent: that of this process
  std::vector<std::string> environment;  ///< `NAME=value`; nothing else is passed on
};

/// An execution function that is an executable file: it gets the call as a JSON object on standard input, and
/// prints what it returns as JSON. Immutable; shared by all threads.
class ScriptFunction {
 public:
  /// `name`: with its module; `doc`: what sys.doc shows.
  ScriptFunction(std::string name, std::string path, std::string doc, const ScriptSettings& settings);
  ScriptFunction(const ScriptFunction&) = delete;
  ScriptFunction& operator=(const ScriptFunction&) = delete;

  /// Its entry in the table of functions, but for `run`. Valid as long as this is.
  [[nodiscard]] const Function& function() const noexcept { return function_; }
  [[nodiscard]] const std::string& doc() const noexcept { return doc_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Runs the file, and waits for it. Whatever goes wrong is a sentence with a retcode: the exit status, a
  /// signal's number negated, else 1. What it writes to standard error when all went well goes to the log.
  [[nodiscard]] Reply run(const Call& call) const;

 private:
  [[nodiscard]] Reply reply_to(const Ended& ended) const;
  [[nodiscard]] Reply failed(const std::string& what, std::string_view errors, int retcode) const;

  const std::string name_;
  const std::string path_;
  const std::string doc_;
  const ScriptSettings settings_;
  const Function function_;  // looks into name_
};

}  // namespace rest_fcgi::embedded
