// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/log.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include <spdlog/spdlog.h>

#include "core/append_sink.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::log {
namespace {

using Logger = std::unique_ptr<spdlog::logger>;

/// What `open` replaces as a whole. Who writes shares the lock, so that files are closed when nobody uses
/// them.
struct Loggers {
  Logger log;
  Logger audit;
};

// Before `open`, errors go to standard error, as afterwards by default.
std::atomic<Level> current_level{Level::warning};
std::shared_mutex loggers_mutex;
Loggers loggers;  // guarded by loggers_mutex

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warning:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
    case Level::off:
      break;
  }
  return spdlog::level::off;
}

Logger make_logger(const std::string& file, AppendSink::Form form) {
  auto logger = std::make_unique<spdlog::logger>("rest_fcgi", std::make_shared<AppendSink>(file, form));
  logger->set_level(spdlog::level::trace);
  return logger;
}

Loggers make_loggers(const Options& options) {
  return {make_logger(options.file, AppendSink::Form::stamped),
          make_logger(options.audit_file, AppendSink::Form::bare)};
}

/// Hands `write` one of the loggers, which stays there meanwhile.
template <class Write>
void with_logger(Logger Loggers::*which, const Write& write) {
  {
    const std::shared_lock lock(loggers_mutex);
    if (const Logger& logger = loggers.*which) return write(*logger);
  }
  const std::lock_guard lock(loggers_mutex);
  if (!loggers.log) loggers = make_loggers({});
  write(*(loggers.*which));
}

std::string without_control_characters(std::string_view message) {
  std::string out;
  out.reserve(message.size());
  for (const char c : message) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7F) {
      out += format("\\x{:02x}", code);
    } else {
      out += c;
    }
  }
  return out;
}

void write(Level level, std::string_view message) {
  if (!enabled(level)) return;
  with_logger(&Loggers::log, [&](spdlog::logger& logger) {
    logger.log(to_spdlog(level), without_control_characters(message));
  });
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
    loggers = std::move(made);
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
  with_logger(&Loggers::audit, [&](spdlog::logger& logger) {
    logger.log(spdlog::level::info, without_control_characters(line));
  });
}

}  // namespace rest_fcgi::log
