// SPDX-License-Identifier: MIT
#pragma once

#include <pthread.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

namespace rest_fcgi::test {

/// While one of these lives, no thread can be started that takes the usual stack: it would be larger than the
/// memory that there is. One at a time.
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

/// How many threads of this process have that name. One that was just started names itself a moment later.
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
