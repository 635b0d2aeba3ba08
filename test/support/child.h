// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace rest_fcgi::test {

/// A program that a test starts. The destructor kills the program. If the starting thread ends first, the
/// kernel kills the program. Not synchronized.
class Child {
 public:
  /// Searches the program in PATH, starts it, and appends its output to a file. Throws on failure.
  Child(const std::vector<std::string>& argv, const std::string& log_file);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] bool running();

  /// Sends a signal to the program. Has no effect after the end of the program.
  void signal(int number);

  /// Waits for the end of the program. Returns its exit status, or 128 plus the number of the signal that
  /// ended it.
  int wait();

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
};

/// Runs a program and waits for its end. Throws if the program fails.
void run_program(const std::vector<std::string>& argv, const std::string& log_file);

}  // namespace rest_fcgi::test
