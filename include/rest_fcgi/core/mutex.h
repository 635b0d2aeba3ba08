// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>

// clang checks these attributes with -Wthread-safety, as in `make lint`. g++ does not know them.
#ifdef __clang__
#define THREAD_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define THREAD_ATTRIBUTE(attribute)
#endif
/// A member may only be used by a thread that holds this Mutex.
#define GUARDED_BY(mutex) THREAD_ATTRIBUTE(guarded_by(mutex))
/// The caller of a function must hold this Mutex. Follows the parameters, also those of a lambda.
#define REQUIRES(mutex) THREAD_ATTRIBUTE(requires_capability(mutex))
/// For a function that unlocks a parameter `MutexLock&`, because the analysis does not follow references.
#define NOT_ANALYZED THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace rest_fcgi {

/// A std::mutex that clang's analysis knows.
class THREAD_ATTRIBUTE(capability("mutex")) Mutex : public std::mutex {};

/// Holds a Mutex until its destruction. A std::condition_variable accepts a MutexLock.
class THREAD_ATTRIBUTE(scoped_lockable) MutexLock : public std::unique_lock<std::mutex> {
 public:
  explicit MutexLock(Mutex& mutex) THREAD_ATTRIBUTE(acquire_capability(mutex)) : unique_lock(mutex) {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() THREAD_ATTRIBUTE(release_capability()) {}
  void lock() THREAD_ATTRIBUTE(acquire_capability()) { unique_lock::lock(); }
  void unlock() THREAD_ATTRIBUTE(release_capability()) { unique_lock::unlock(); }
};

}  // namespace rest_fcgi
