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

/// Checks that `open` can open the log files. Creates no file. Errors: the errors of `open`.
Result<void> check(const Options& options);

[[nodiscard]] bool enabled(Level level) noexcept;

/// Writes a line at every log level except `off`.
[[gnu::cold]] void notice(std::string_view message);
[[gnu::cold]] void debug(std::string_view message);
[[gnu::cold]] void info(std::string_view message);
[[gnu::cold]] void warning(std::string_view message);
[[gnu::cold]] void error(std::string_view message);

/// Returns a text for standard error. If standard error is systemd's journal (JOURNAL_STREAM,
/// systemd.exec(5)), each line of the text begins with the priority of `level` (sd-daemon(3)).
[[nodiscard]] std::string for_standard_error(Level level, std::string_view text);

/// While the object exists, this thread works on the request with the id `id`. Log lines of the thread end
/// with the id. Borrows `id`.
class RequestScope {
 public:
  explicit RequestScope(std::string_view id) noexcept;
  ~RequestScope();
  RequestScope(const RequestScope&) = delete;
  RequestScope& operator=(const RequestScope&) = delete;
};

/// Returns the id of the request on which this thread works, or an empty text.
[[nodiscard]] std::string_view request_id() noexcept;

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
