// SPDX-License-Identifier: MIT
#include "helper/failure_rate.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>

namespace rest_fcgi::helper {
namespace {

constexpr int kBurst = 5;  // seconds' worth of failures

/// One clock for all processes, which nobody sets.
std::chrono::nanoseconds now() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

FailureRate::FailureRate(int each_second, const std::string& folder)
    : interval_(Time(std::chrono::seconds(1)) / each_second) {
  if (folder.empty()) return;
  const std::string path = folder + "/failures";
  file_.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file_)
    std::fprintf(stderr, "rest_fcgi_pam: %s: %s; this process counts alone\n", path.c_str(),
                 ::strerror(errno));
}

bool FailureRate::enter() {
  bool has_room = false;
  change([&] {
    const Time time = now();
    const Time most = time + kBurst * std::chrono::seconds(1);
    // No count of ours is later; a file that says so was damaged.
    paid_ = std::clamp(paid_, time, most);
    has_room = paid_ + interval_ <= most;
    if (has_room) paid_ += interval_;
  });
  return has_room;
}

void FailureRate::forgive() {
  change([this] { paid_ -= interval_; });
}

/// The count stands in the file while others may look at it. A process that ends lets go of the lock.
template <class Change>
void FailureRate::change(const Change& change) {
  if (!file_) return change();
  ::flock(file_.get(), LOCK_EX);
  std::int64_t stored = 0;
  if (::pread(file_.get(), &stored, sizeof stored, 0) == sizeof stored) paid_ = Time(stored);
  change();
  stored = paid_.count();
  if (::pwrite(file_.get(), &stored, sizeof stored, 0) < 0) file_.reset();
  if (file_) ::flock(file_.get(), LOCK_UN);
}

}  // namespace rest_fcgi::helper
