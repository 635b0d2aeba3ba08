// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fork_alone.h"

namespace rest_fcgi::test {

inline constexpr int kHighDescriptor = 200;  // No descriptor of the child process has this number.

/// Runs `body` in a child process, like a service to which systemd passes sockets. Returns the result of
/// `body`. The child's descriptors from 3 on are copies of `given`; -1 stands for a closed descriptor.
/// `count` is the value of LISTEN_FDS, and `pid` is the value of LISTEN_PID. If `pid` is null, LISTEN_PID is
/// the child's pid.
inline std::string run_with_sockets(const std::vector<int>& given, const std::string& count, const char* pid,
                                    const std::function<std::string()>& body) {
  std::array<int, 2> ends = {};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  // The child would write the buffered output of the parent again.
  std::cout << std::flush;
  std::fflush(nullptr);
  const pid_t child = fork_alone();
  REQUIRE(child >= 0);
  if (child == 0) {
    const int result = ::fcntl(ends[1], F_DUPFD, kHighDescriptor);
    std::vector<int> high;
    for (const int fd : given) high.push_back(::fcntl(fd, F_DUPFD, kHighDescriptor));
    ::close_range(3, kHighDescriptor - 1, 0);
    for (std::size_t at = 0; at < high.size(); ++at) ::dup2(high[at], 3 + static_cast<int>(at));
    ::setenv("LISTEN_FDS", count.c_str(), 1);
    ::setenv("LISTEN_PID", pid != nullptr ? pid : std::to_string(::getpid()).c_str(), 1);
    const std::string text = body();
    ::_exit(::write(result, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t size = ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return text;
}

}  // namespace rest_fcgi::test
