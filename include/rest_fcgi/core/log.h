// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/result.h"

/// The process's log: standard error, or a file. One line an entry; line feeds, other control characters
/// and those that turn text around are escaped as in JSON, so that no input can forge a line. Thread-safe
/// once `open` has returned.
namespace rest_fcgi::log {

enum class Level { debug, info, warning, error, off };

struct Options {
  Level level = Level::warning;
  std::string file;         ///< path; empty: standard error
  std::string audit_file;   ///< path of the audit lines; empty: where the log goes, whatever its level
  std::string access_file;  ///< path of the access lines; empty: there are none
  std::string error_file;   ///< path of a second log, of warnings and errors alone; empty: there is none
};

/// Salt's names: all, garbage, trace, debug, profile, info, warning or warn, error, critical, quiet. Absent:
/// no such level.
[[nodiscard]] std::optional<Level> level_named(std::string_view name);

/// Starts logging, or goes on with other options: files are opened anew, which is also what a rotation needs.
/// Errors: configuration, where a file cannot be opened; what was open before then stays in use.
Result<void> open(const Options& options);

[[nodiscard]] bool enabled(Level level) noexcept;

// Cold: the compiler puts what leads there out of the way of what answers requests.
[[gnu::cold]] void debug(std::string_view message);
[[gnu::cold]] void info(std::string_view message);
[[gnu::cold]] void warning(std::string_view message);
[[gnu::cold]] void error(std::string_view message);

/// For what no exception may leave, such as the top of a thread. `write` writes lines; without memory for
/// that there are none.
template <class Write>
void safely(const Write& write) noexcept {
  try {
    write();
  } catch (const std::exception&) {
    return;
  }
}

/// One audit line, written whatever the level is, without a prefix of ours: it carries its own time.
void audit(std::string line);

/// One access line, where there is a file for them; again without a prefix.
void access(std::string line);

}  // namespace rest_fcgi::log
