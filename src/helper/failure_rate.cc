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
#include <thread>

namespace rest_fcgi::helper {
namespace {

constexpr int kBurst = 5;  // seconds' worth of failures
constexpr std::chrono::seconds kPatience{2};

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
  for (const Time give_up = now() + kPatience;;) {
    const Time wait = take();
    if (wait <= Time::zero()) return true;
    if (now() + wait > give_up) return false;
    std::this_thread::sleep_for(wait);
  }
}

void FailureRate::forgive() {
  change([this] { paid_ -= interval_; });
}

/// How long until there is room for one more; where there is, it is taken.
FailureRate::Time FailureRate::take() {
  Time wait{};
  change([&] {
    const Time time = now();
    const Time most = time + kBurst * std::chrono::seconds(1);
    // No count of ours is later; a file that says so was damaged.
    paid_ = std::clamp(paid_, time, most);
    wait = paid_ + interval_ - most;
    if (wait <= Time::zero()) paid_ += interval_;
  });
  return wait;
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
