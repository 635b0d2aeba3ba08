// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/result.h"

/// The log of the process, to standard error or a file. Each entry is one line: line feeds, other control
/// characters and characters that change the text direction are escaped as in JSON, so that no input can
/// forge a line. Thread-safe after the first `open`.
namespace rest_fcgi::log {

enum class Level { debug, info, warning, error, off };

struct Options {
  Level level = Level::warning;
  std::string file;         ///< path; empty: standard error
  std::string audit_file;   ///< path for audit lines; empty: they go to the log, whatever its level
  std::string access_file;  ///< path for access lines; empty: none are written
  std::string error_file;   ///< path of a second log for warnings and errors; empty: none
};

/// Returns the level with one of Salt's names: all, garbage, trace, debug, profile, info, warning, warn,
/// error, err, critical, fatal, quiet, none. Absent: unknown name.
[[nodiscard]] std::optional<Level> level_named(std::string_view name);

/// Opens the log files, also again after a change of options or a log rotation. Errors: configuration, if a
/// file cannot be opened; the open files then stay in use.
Result<void> open(const Options& options);

[[nodiscard]] bool enabled(Level level) noexcept;

// Marked cold, so that the compiler moves these calls out of the way of code for requests.
[[gnu::cold]] void debug(std::string_view message);
[[gnu::cold]] void info(std::string_view message);
[[gnu::cold]] void warning(std::string_view message);
[[gnu::cold]] void error(std::string_view message);

/// Calls `write`, which writes log lines, and ignores exceptions. For places that must not throw.
template <class Write>
void safely(const Write& write) noexcept {
  try {
    write();
  } catch (const std::exception&) {
    return;
  }
}

/// Writes an audit line, whatever the level, without a prefix.
void audit(std::string line);

/// Writes an access line without a prefix, if there is a file for them.
void access(std::string line);

}  // namespace rest_fcgi::log
