// SPDX-License-Identifier: MIT
#include "core/append_sink.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include <spdlog/pattern_formatter.h>

namespace rest_fcgi::log {
namespace {

int open_file(const std::string& path) {
  if (path.empty()) return STDERR_FILENO;
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
  if (fd < 0) throw spdlog::spdlog_ex(path, errno);
  return fd;
}

}  // namespace

AppendSink::AppendSink(const std::string& path, Form form)
    : path_(path),
      form_(form),
      fd_(open_file(path)),
      formatter_(std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ %l %v",
                                                             spdlog::pattern_time_type::utc)) {}

AppendSink::~AppendSink() {
  if (fd_ != STDERR_FILENO) ::close(fd_);
}

void AppendSink::log(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t line;
  if (form_ == Form::bare) {
    line.append(message.payload.data(), message.payload.data() + message.payload.size());
    line.push_back('\n');
  } else {
    const std::lock_guard lock(mutex_);
    formatter_->format(message, line);
  }
  write_line(line);
}

void AppendSink::write_line(const spdlog::memory_buf_t& line) const {
  std::string_view rest(line.data(), line.size());
  while (!rest.empty()) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw spdlog::spdlog_ex(path_.empty() ? "standard error" : path_, errno);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace rest_fcgi::log
