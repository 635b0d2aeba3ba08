// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace rest_fcgi::test {

/// A program that a test starts. The destructor kills it, or the kernel does when the starting thread ends.
/// Not synchronized.
class Child {
 public:
  /// Starts the program from PATH and appends its output to a file. Throws on failure.
  Child(const std::vector<std::string>& argv, const std::string& log_file);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] bool running();

  /// Does nothing if the program has ended.
  void signal(int number);

  /// The exit status after the end; 128 plus the number for a signal.
  int wait();

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
};

/// Runs a program to its end. Throws if it fails.
void run_program(const std::vector<std::string>& argv, const std::string& log_file);

}  // namespace rest_fcgi::test
