// SPDX-License-Identifier: MIT
#pragma once

#include <pthread.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

namespace rest_fcgi::test {

/// While this object exists, threads with the default stack size cannot be started. Only one object may exist
/// at a time.
class NoThreads {
 public:
  NoThreads() {
    ::pthread_getattr_default_np(&usual_);
    pthread_attr_t huge = usual_;
    ::pthread_attr_setstacksize(&huge, std::size_t{1} << 60);
    ::pthread_setattr_default_np(&huge);
  }
  ~NoThreads() {
    ::pthread_setattr_default_np(&usual_);
    ::pthread_attr_destroy(&usual_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t usual_{};
};

/// Returns the number of threads of this process with the name `wanted`. A new thread gets its name shortly
/// after its start.
inline int threads_named(const std::string& wanted) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(entry.path() / "comm"), name);
    if (name == wanted) ++count;
  }
  return count;
}

}  // namespace rest_fcgi::test
