// SPDX-License-Identifier: MIT
#pragma once

namespace rest_fcgi {

/// The owner of a thread that serves an event loop. While such a thread waits, the owner lets another thread
/// serve the loop. Thread-safe.
class WaitObserver {
 public:
  virtual void begin_wait() noexcept = 0;
  virtual void end_wait() noexcept = 0;

 protected:
  ~WaitObserver() = default;
};

/// Makes `observer` learn of all waits of the calling thread. REQUIRES: `observer` outlives the thread.
void observe_waits(WaitObserver& observer) noexcept;

/// A scope in which the calling thread waits or computes for longer than a millisecond. Code that requests
/// call declares such a scope, because other requests need the thread. Scopes may be nested.
class Waiting {
 public:
  Waiting() noexcept;
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
};

}  // namespace rest_fcgi
