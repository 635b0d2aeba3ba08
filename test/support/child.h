// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace rest_fcgi::test {

/// A program that a test starts. The program is killed by the destructor, or when the thread that started it
/// ends. Not synchronized.
class Child {
 public:
  /// Finds the program in PATH, starts it, and appends its output to the file `log_file`. Throws on failure.
  Child(const std::vector<std::string>& argv, const std::string& log_file);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] bool running();

  void signal(int number);

  /// Waits for the end of the program. Returns its exit status, or 128 plus the number of the signal that
  /// ended the program.
  int wait();

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
};

/// Runs a program and waits for its end. Throws if its exit status is not 0.
void run_program(const std::vector<std::string>& argv, const std::string& log_file);

}  // namespace rest_fcgi::test
