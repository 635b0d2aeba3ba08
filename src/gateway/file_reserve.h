// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::gateway {

/// Open descriptors without a use. If the process has no other free descriptor, the port for monitoring gets
/// the descriptors of the reserve. Thread-safe.
class FileReserve {
 public:
  /// Makes a full reserve, or with `is_used` false a reserve of no descriptors, which is always full.
  explicit FileReserve(bool is_used) : size_(is_used ? kSize : 0) { static_cast<void>(fill()); }

  /// Opens the descriptors that are missing, unless a `Use` exists. Returns whether the reserve is full.
  [[nodiscard]] bool fill() {
    const MutexLock lock(mutex_);
    if (kept_.size() < size_ && users_ == 0) add_files(kept_);
    return kept_.size() == size_;
  }

  /// Closes all descriptors of the reserve, so that the caller can open others.
  void release() {
    const MutexLock lock(mutex_);
    kept_.clear();
  }

  /// While a `Use` exists, its thread can open descriptors: the constructor releases the reserve if the
  /// process lacks free descriptors. The destructor of the last `Use` fills the reserve again.
  class Use {
   public:
    explicit Use(FileReserve& reserve) : reserve_(reserve) {
      const MutexLock lock(reserve_.mutex_);
      ++reserve_.users_;
      std::vector<UniqueFd> free;
      reserve_.add_files(free);
      if (free.size() < reserve_.size_) reserve_.kept_.clear();
    }
    ~Use() {
      {
        const MutexLock lock(reserve_.mutex_);
        --reserve_.users_;
      }
      static_cast<void>(reserve_.fill());
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    FileReserve& reserve_;
  };

 private:
  /// The monitoring port needs a descriptor for each connection, and some for files in /proc and
  /// certificates.
  static constexpr std::size_t kSize = 16;

  /// Opens descriptors until `files` has `size_` of them, or the process has no free descriptor.
  void add_files(std::vector<UniqueFd>& files) const {
    while (files.size() < size_) {
      UniqueFd one(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (!one) return;
      files.push_back(std::move(one));
    }
  }

  const std::size_t size_;
  Mutex mutex_;
  std::vector<UniqueFd> kept_ GUARDED_BY(mutex_);
  std::size_t users_ GUARDED_BY(mutex_) = 0;
};

}  // namespace rest_fcgi::gateway
