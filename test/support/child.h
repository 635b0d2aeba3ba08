// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace rest_fcgi::test {

/// A program that a test started. It ends with the test: killed by the destructor, or by the kernel when the
/// thread that started it has ended. Not synchronized.
class Child {
 public:
  /// Starts it, found in PATH, with its output appended to a file. Throws where that cannot be.
  Child(const std::vector<std::string>& argv, const std::string& log_file);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] bool running();

  /// To one that has ended: nothing.
  void signal(int number);

  /// Its exit status, once it has ended; 128 and more: of a signal.
  int wait();

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
};

/// Runs a program to its end, and throws where it fails.
void run_program(const std::vector<std::string>& argv, const std::string& log_file);

}  // namespace rest_fcgi::test
