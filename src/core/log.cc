// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "rest_fcgi/core/access.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/jid.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::log {
namespace {

Mutex opening;

/// The priorities of syslog(3).
enum Priority : int { kError = 3, kWarning = 4, kNotice = 5, kInfo = 6, kDebug = 7 };

/// Returns whether systemd's journal reads standard error.
bool is_journal() {
  const char* const journal = std::getenv("JOURNAL_STREAM");
  struct stat status {};
  return journal != nullptr && ::fstat(STDERR_FILENO, &status) == 0 &&
         format("{}:{}", status.st_dev, status.st_ino) == journal;
}

std::atomic<bool> has_journal{is_journal()};

thread_local std::string_view current_request;

/// Writes lines to a file descriptor, each with one write(2), so that lines of several threads do not mix. A
/// new file replaces the old file at the same descriptor. A Sink is thread-safe.
class Sink {
 public:
  constexpr explicit Sink(int fd) : fd_(fd) {}

  void write(Priority priority, std::string line) {
    const int fd = fd_.load(std::memory_order_relaxed);
    if (fd < 0) return;
    if (fd == STDERR_FILENO && has_journal) line.insert(0, format("<{}>", static_cast<int>(priority)));
    line += '\n';
    if (!write_all(fd, line)) report_failure(errno);
  }

  [[nodiscard]] bool is_on() const noexcept { return fd_.load(std::memory_order_relaxed) >= 0; }

  void write_to(UniqueFd file, const std::string& path) REQUIRES(opening) {
    if (files_ < 0) {
      files_ = file.release();
    } else {
      ::dup3(file.get(), files_, O_CLOEXEC);
    }
    fd_ = files_;
    path_ = path;
  }

  void write_to_fd(int fd) REQUIRES(opening) {
    fd_ = fd;
    path_ = "standard error";
    if (files_ >= 0) ::dup3(STDERR_FILENO, files_, O_CLOEXEC);
  }

 private:
  void report_failure(int error) {
    const MutexLock lock(opening);
    const SteadyTime now = std::chrono::steady_clock::now();
    if (now - reported_ < std::chrono::seconds(1)) return;
    reported_ = now;
    const std::string line =
        format("rest_fcgi: cannot write lines to the log {}: {}\n", path_, errno_text(error));
    static_cast<void>(write_all(STDERR_FILENO, for_standard_error(Level::error, line)));
  }

  std::atomic<int> fd_;
  int files_ GUARDED_BY(opening) = -1;
  std::string path_ GUARDED_BY(opening);
  SteadyTime reported_ GUARDED_BY(opening){};
};

/// The names and the priorities have the same order as the enumerators of `Level`.
constexpr std::string_view kLevels[] = {"debug", "info", "warning", "error"};
constexpr Priority kPriorities[] = {kDebug, kInfo, kWarning, kError};

std::atomic<Level> current_level{Level::warning};

// Before the first `open`, log lines go to standard error.
Sink log_lines(STDERR_FILENO);
Sink audit_lines(STDERR_FILENO);
Sink access_lines(-1);
Sink error_lines(-1);

/// REQUIRES: the UTF-8 sequence is well-formed.
char32_t code_point(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return first;
  char32_t code = first & (0xFFU >> (sequence.size() + 1));
  for (const char c : sequence.substr(1)) code = (code << 6U) | (static_cast<unsigned char>(c) & 0x3FU);
  return code;
}

/// Returns whether the character ends a line, controls a terminal, or changes the text direction.
bool is_deceptive(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x200B && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

/// Escapes characters that could make a log line look like another line, as JSON does.
std::string escaped(std::string_view message) {
  std::string out;
  out.reserve(message.size() + 32);
  while (!message.empty()) {
    const std::size_t length = utf8_length(message);
    const std::string_view sequence = message.substr(0, std::max<std::size_t>(length, 1));
    message.remove_prefix(sequence.size());
    if (length == 0) {
      out += format("\\x{:02x}", static_cast<unsigned char>(sequence[0]));
    } else if (const char32_t code = code_point(sequence); is_deceptive(code)) {
      out += format("\\u{:04x}", static_cast<std::uint32_t>(code));
    } else {
      out += sequence;
    }
  }
  return out;
}

std::string in_one_line(std::string message) {
  const bool is_plain =
      std::all_of(message.begin(), message.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
  return is_plain ? std::move(message) : escaped(message);
}

void write(Level level, std::string_view message) {
  if (!enabled(level)) return;
  const auto index = static_cast<std::size_t>(level);
  std::string line =
      format("{} {} {}", log_stamp(system_clock().wall()), kLevels[index], in_one_line(std::string(message)));
  if (!current_request.empty()) line.append(" request_id=").append(current_request);
  if (level >= Level::warning && error_lines.is_on()) error_lines.write(kPriorities[index], line);
  log_lines.write(kPriorities[index], std::move(line));
}

}  // namespace

std::optional<Level> level_named(std::string_view name) {
  if (name == "all" || name == "garbage" || name == "trace" || name == "debug") return Level::debug;
  if (name == "profile" || name == "info") return Level::info;
  if (name == "warning" || name == "warn") return Level::warning;
  if (name == "error" || name == "err" || name == "critical" || name == "fatal") return Level::error;
  if (name == "quiet" || name == "none") return Level::off;
  return std::nullopt;
}

Result<void> open(const Options& options) {
  struct Change {
    Sink& sink;
    const std::string& path;
    int fd_without_path;  // The descriptor that is used if `path` is empty.
    UniqueFd file{};
  };
  const std::string& audit_file = options.audit_file.empty() ? options.file : options.audit_file;
  Change changes[] = {{log_lines, options.file, STDERR_FILENO},
                      {audit_lines, audit_file, STDERR_FILENO},
                      {access_lines, options.access_file, -1},
                      {error_lines, options.error_file, -1}};
  for (Change& change : changes) {
    if (change.path.empty()) continue;
    change.file = UniqueFd(::open(change.path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640));
    if (change.file) continue;
    return Error{ErrorKind::configuration, format("cannot open the log: {}: {}", change.path, errno_text())};
  }
  has_journal = is_journal();
  const MutexLock lock(opening);
  for (Change& change : changes) {
    if (change.file) {
      change.sink.write_to(std::move(change.file), change.path);
    } else {
      change.sink.write_to_fd(change.fd_without_path);
    }
  }
  current_level = options.level;
  return {};
}

Result<void> check(const Options& options) {
  const std::pair<std::string_view, const std::string&> files[] = {
      {"rest_fcgi: log_file", options.file},
      {"rest_fcgi: audit_log", options.audit_file},
      {"rest_cherrypy: log_access_file", options.access_file},
      {"rest_cherrypy: log_error_file", options.error_file}};
  for (const auto& [key, path] : files) {
    if (path.empty()) continue;
    // With O_NONBLOCK, open(2) does not wait for the reader of a FIFO. Without a reader it fails with ENXIO.
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC));
    if (file || errno == ENXIO) continue;
    std::optional<std::string> why = errno_text();
    if (errno == ENOENT) why = why_not_creatable(path);
    if (why) return wrong_setting(std::string(key), format("cannot open the log: {}: {}", path, *why));
  }
  return {};
}

bool enabled(Level level) noexcept {
  const Level limit = current_level.load(std::memory_order_relaxed);
  return limit != Level::off && level >= limit;
}

void debug(std::string_view message) {
  write(Level::debug, message);
}
void info(std::string_view message) {
  write(Level::info, message);
}
void warning(std::string_view message) {
  write(Level::warning, message);
}
void error(std::string_view message) {
  write(Level::error, message);
}

void notice(std::string_view message) {
  if (current_level.load(std::memory_order_relaxed) == Level::off) return;
  log_lines.write(
      kNotice, format("{} notice {}", log_stamp(system_clock().wall()), in_one_line(std::string(message))));
}

std::string for_standard_error(Level level, std::string_view text) {
  if (!has_journal) return std::string(text);
  std::string lines;
  while (!text.empty()) {
    const int priority = kPriorities[static_cast<std::size_t>(level)];
    lines += format("<{}>{}\n", priority, next_token(text, '\n'));
  }
  return lines;
}

RequestScope::RequestScope(std::string_view id) noexcept {
  current_request = id;
}

RequestScope::~RequestScope() {
  current_request = {};
}

std::string_view request_id() noexcept {
  return current_request;
}

void audit(std::string line) {
  audit_lines.write(kInfo, in_one_line(std::move(line)));
}

void access(std::string line) {
  access_lines.write(kInfo, in_one_line(std::move(line)));
}

}  // namespace rest_fcgi::log
