// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/result.h"

/// The log of the process. Each entry is one line. Control characters are escaped as in JSON, so that no
/// input can forge a line. The functions are thread-safe after the first `open`.
namespace rest_fcgi::log {

enum class Level { debug, info, warning, error, off };

struct Options {
  Level level = Level::warning;
  std::string file;         ///< `file` is the path of the log. If empty, the log is standard error.
  std::string audit_file;   ///< `audit_file` is the path for audit lines. If empty, the log gets these lines.
  std::string access_file;  ///< `access_file` is the path for access lines, or empty for no such lines.
  /// `error_file` is the path of a second log, only for warnings and errors, or empty for no such log.
  std::string error_file;
};

/// Returns the log level for Salt's name of a level, such as `profile` or `quiet`. Returns std::nullopt for
/// an unknown name.
[[nodiscard]] std::optional<Level> level_named(std::string_view name);

/// Opens the log files. Call `open` again after a log rotation. Errors: configuration, if a file cannot be
/// opened. After a failure the old files stay in use.
Result<void> open(const Options& options);

[[nodiscard]] bool enabled(Level level) noexcept;

[[gnu::cold]] void debug(std::string_view message);
[[gnu::cold]] void info(std::string_view message);
[[gnu::cold]] void warning(std::string_view message);
[[gnu::cold]] void error(std::string_view message);

/// Calls `write`, a function that writes log lines. Ignores exceptions of `write`.
template <class Write>
void safely(const Write& write) noexcept {
  try {
    write();
  } catch (const std::exception&) {
    return;
  }
}

/// Writes an audit line at every log level, without a prefix.
void audit(std::string line);

/// Writes an access line without a prefix, if `Options::access_file` is set.
void access(std::string line);

}  // namespace rest_fcgi::log
