// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/result.h"

/// The log of the process, to standard error or a file. Each entry is one line. Control characters, and
/// characters that change the text direction, are escaped as in JSON. So no input can forge a line.
/// Thread-safe after the first `open`.
namespace rest_fcgi::log {

enum class Level { debug, info, warning, error, off };

struct Options {
  Level level = Level::warning;
  std::string file;         ///< path of the log; empty means standard error
  std::string audit_file;   ///< path for audit lines; if empty, audit lines go to the log at every level
  std::string access_file;  ///< path for access lines; if empty, access lines are not written
  std::string error_file;   ///< path of a second log for warnings and errors; empty if there is no second log
};

/// Returns the level with one of Salt's names: all, garbage, trace, debug, profile, info, warning, warn,
/// error, err, critical, fatal, quiet, none. Returns absent for an unknown name.
[[nodiscard]] std::optional<Level> level_named(std::string_view name);

/// Opens the log files. Call this function again after a change of options or a log rotation. Errors:
/// configuration, if a file cannot be opened; the files that were open before stay in use then.
Result<void> open(const Options& options);

[[nodiscard]] bool enabled(Level level) noexcept;

// The attribute `cold` makes the compiler move these calls away from the code that serves requests.
[[gnu::cold]] void debug(std::string_view message);
[[gnu::cold]] void info(std::string_view message);
[[gnu::cold]] void warning(std::string_view message);
[[gnu::cold]] void error(std::string_view message);

/// Calls `write`, which writes log lines, and ignores its exceptions. Use this function in code that must not
/// throw.
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
