// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/sink.h>
#include <spdlog/spdlog.h>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::log {
namespace {

int open_file(const std::string& path) {
  if (path.empty()) return STDERR_FILENO;
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
  if (fd < 0) throw spdlog::spdlog_ex(path, errno);
  return fd;
}

/// Appends lines to a file, or to standard error, each with one write(2): lines of several threads and
/// processes do not mix, and threads do not wait for each other's writing. Thread-safe. Throws spdlog_ex
/// where a line cannot be written, which spdlog reports on standard error.
class AppendSink : public spdlog::sinks::sink {
 public:
  /// `path` empty: standard error. `pattern`: what a line is made of, in spdlog's words. Throws spdlog_ex
  /// where the file cannot be opened.
  AppendSink(const std::string& path, const char* pattern)
      : path_(path), fd_(open_file(path)), formatter_(pattern, spdlog::pattern_time_type::utc) {}
  ~AppendSink() override {
    if (fd_ != STDERR_FILENO) ::close(fd_);
  }

  void log(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    {
      const std::lock_guard lock(mutex_);
      formatter_.format(message, line);
    }
    if (!write_all(fd_, {line.data(), line.size()})) {
      throw spdlog::spdlog_ex(path_.empty() ? "standard error" : path_, errno);
    }
  }
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

 private:
  const std::string path_;
  const int fd_;
  std::mutex mutex_;
  spdlog::pattern_formatter formatter_;  // has state; guarded by mutex_
};

using Logger = std::unique_ptr<spdlog::logger>;

/// What `open` replaces as a whole. Who writes shares the lock, so that files are closed when nobody uses
/// them.
struct Loggers {
  Logger log;
  Logger audit;
  Logger access;  // null where there is no such file; so is the next
  Logger errors;
};

std::atomic<Level> current_level{Level::warning};
std::shared_mutex loggers_mutex;

/// In the order of `Level`.
constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                 spdlog::level::warn, spdlog::level::err, spdlog::level::off};

Logger make_logger(const std::string& file, const char* pattern) {
  auto logger = std::make_unique<spdlog::logger>("rest_fcgi", std::make_shared<AppendSink>(file, pattern));
  logger->set_level(spdlog::level::trace);
  return logger;
}

Loggers make_loggers(const Options& options) {
  static constexpr const char* kDated = "%Y-%m-%dT%H:%M:%S.%eZ %l %v";
  static constexpr const char* kAsItIs = "%v";
  Loggers made{make_logger(options.file, kDated), make_logger(options.audit_file, kAsItIs), {}, {}};
  if (!options.access_file.empty()) made.access = make_logger(options.access_file, kAsItIs);
  if (!options.error_file.empty()) made.errors = make_logger(options.error_file, kDated);
  return made;
}

/// Before `open`, errors go to standard error, as afterwards by default. Guarded by loggers_mutex.
Loggers& loggers() {
  static Loggers current = make_loggers({});
  return current;
}

/// The code point of a well-formed sequence of UTF-8.
char32_t code_point(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return first;
  char32_t code = first & (0xFFU >> (sequence.size() + 1));
  for (const char c : sequence.substr(1)) code = (code << 6U) | (static_cast<unsigned char>(c) & 0x3FU);
  return code;
}

/// Does it end a line, steer a terminal, or change what a reader takes the text around it for?
bool is_deceptive(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x200B && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

/// The message with such characters as JSON escapes them, which keeps a line that is JSON what it is.
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

bool is_plain(std::string_view message) {
  return std::all_of(message.begin(), message.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

/// Nothing where there is no such logger.
void write_to(Logger Loggers::*which, Level level, std::string_view message) {
  const std::shared_lock lock(loggers_mutex);
  const Logger& logger = loggers().*which;
  if (!logger) return;
  const auto level_there = kLevels[static_cast<std::size_t>(level)];
  if (is_plain(message)) {
    logger->log(level_there, message);
  } else {
    logger->log(level_there, escaped(message));
  }
}

void write(Level level, std::string_view message) {
  if (!enabled(level)) return;
  write_to(&Loggers::log, level, message);
  if (level >= Level::warning) write_to(&Loggers::errors, level, message);
}

}  // namespace

std::optional<Level> level_named(std::string_view name) {
  if (name == "all" || name == "garbage" || name == "trace" || name == "debug") return Level::debug;
  if (name == "profile" || name == "info") return Level::info;
  if (name == "warning") return Level::warning;
  if (name == "error" || name == "critical") return Level::error;
  if (name == "quiet") return Level::off;
  return std::nullopt;
}

Result<void> open(const Options& options) {
  try {
    Options effective = options;
    if (effective.audit_file.empty()) effective.audit_file = effective.file;
    Loggers made = make_loggers(effective);
    const std::lock_guard lock(loggers_mutex);
    loggers() = std::move(made);
  } catch (const spdlog::spdlog_ex& error) {
    return Error{ErrorKind::configuration, format("cannot open the log: {}", error.what())};
  }
  current_level = options.level;
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

void audit(std::string_view line) {
  write_to(&Loggers::audit, Level::info, line);
}

void access(std::string_view line) {
  write_to(&Loggers::access, Level::info, line);
}

}  // namespace rest_fcgi::log
