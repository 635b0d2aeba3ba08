// SPDX-License-Identifier: MIT
#include "child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace rest_fcgi::test {
namespace {

int exit_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

class FileActions {
 public:
  explicit FileActions(const std::string& log_file) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, log_file.c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
  }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  [[nodiscard]] const posix_spawn_file_actions_t* get() const noexcept { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

}  // namespace

Child::Child(const std::vector<std::string>& argv, const std::string& log_file) {
  // `setpriv` (util-linux) makes the kernel kill the program when the thread that started it ends.
  std::vector<std::string> texts{"setpriv", "--pdeathsig", "KILL", "--"};
  texts.insert(texts.end(), argv.begin(), argv.end());
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  const FileActions actions(log_file);
  const int error =
      ::posix_spawnp(&pid_, pointers.front(), actions.get(), nullptr, pointers.data(), ::environ);
  if (error != 0) throw std::runtime_error(argv.front() + ": " + std::strerror(error));
}

Child::~Child() {
  signal(SIGKILL);
  wait();
}

bool Child::running() {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) status_ = exit_status(status);
  return !status_;
}

void Child::signal(int number) {
  if (running()) ::kill(pid_, number);
}

int Child::wait() {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, 0) == pid_) status_ = exit_status(status);
  return status_.value_or(-1);
}

void run_program(const std::vector<std::string>& argv, const std::string& log_file) {
  if (const int status = Child(argv, log_file).wait(); status != 0) {
    std::ifstream file(log_file);
    const std::string log{std::istreambuf_iterator<char>(file), {}};
    throw std::runtime_error(argv.front() + " ended with " + std::to_string(status) + ": " + log);
  }
}

}  // namespace rest_fcgi::test
