// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../support/temp_dir.h"
#include "gateway/sys.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::gateway::test {

/// Captures the log. Reading the log opens no other file, because the tests leave no free descriptors.
class ReadableLog {
 public:
  ReadableLog() {
    REQUIRE(log::open({.level = log::Level::info, .file = dir_ / "log", .audit_file = {}}));
    file_.open(dir_ / "log");
  }
  ~ReadableLog() { static_cast<void>(log::open({})); }
  ReadableLog(const ReadableLog&) = delete;
  ReadableLog& operator=(const ReadableLog&) = delete;

  std::size_t count(std::string_view part) {
    file_.clear();
    file_.seekg(0);
    std::size_t found = 0;
    for (std::string line; std::getline(file_, line);) found += line.find(part) != std::string::npos;
    return found;
  }

 private:
  rest_fcgi::test::TempDir dir_;
  std::ifstream file_;
};

/// Leaves this process `free` more file descriptors for the lifetime of this object.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(std::size_t free) {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &old_limit_) == 0);
    int highest = 2;
    for (int fd = 0; fd < 65536; ++fd) {
      if (::fcntl(fd, F_GETFD) >= 0) highest = fd;
    }
    rlimit limit = old_limit_;
    // Allows 64 more descriptors, because other threads can open files before the loop takes all the rest.
    limit.rlim_cur = static_cast<rlim_t>(highest) + 1 + free + 64;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (UniqueFd file(::dup(0)); file; file.reset(::dup(0))) files_.push_back(std::move(file));
    files_.resize(files_.size() - free);
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &old_limit_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit old_limit_ = {};
  std::vector<UniqueFd> files_;
};

}  // namespace rest_fcgi::gateway::test
