// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <spdlog/formatter.h>
#include <spdlog/sinks/sink.h>

namespace rest_fcgi::log {

/// Appends lines to a file, or to standard error, each with one write(2): lines of several threads and
/// processes do not mix, and threads do not wait for each other. Thread-safe. Throws spdlog_ex where a line
/// cannot be written, which spdlog reports on standard error.
class AppendSink : public spdlog::sinks::sink {
 public:
  enum class Form {
    bare,     ///< the message alone
    stamped,  ///< with time and level in front
  };

  /// `path` empty: standard error. Throws spdlog_ex where the file cannot be opened.
  AppendSink(const std::string& path, Form form);
  ~AppendSink() override;

  void log(const spdlog::details::log_msg& message) override;
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

 private:
  void write_line(const spdlog::memory_buf_t& line) const;

  const std::string path_;
  const Form form_;
  const int fd_;
  std::mutex mutex_;
  const std::unique_ptr<spdlog::formatter> formatter_;  // has state; guarded by mutex_
};

}  // namespace rest_fcgi::log
