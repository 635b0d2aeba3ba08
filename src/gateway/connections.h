// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>

#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::gateway {

/// The open connections of the gateway, and until when each may wait. `sweep` shuts down the sockets of those
/// that waited too long, which ends what their coroutines wait for. Thread-safe.
class Connections {
 public:
  /// What a connection waits for, in the order in which connections are closed to make room for others.
  enum class Stage { request, body, reader, work };

  /// One open connection, from its construction to its destruction. Used by one thread at a time.
  class Entry {
   public:
    /// REQUIRES: `socket` stays open as long as the entry is there.
    Entry(Connections& connections, int socket);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    /// The connection waits for its peer, until `deadline`. The stage counts from the first call for it.
    void wait(Stage stage, SteadyTime deadline) noexcept;

    /// The connection waits for no peer, and has no deadline.
    void work() noexcept { wait(Stage::work, SteadyTime::max()); }

    /// Returns whether `sweep` ended what the connection waited for.
    [[nodiscard]] bool is_late() const noexcept { return is_late_; }

   private:
    friend class Connections;
    void shut(int how) noexcept;

    Connections& connections_;
    const int socket_;
    std::atomic<Stage> stage_ = Stage::work;
    std::atomic<SteadyTime> since_;
    std::atomic<SteadyTime> deadline_ = SteadyTime::max();
    std::atomic<bool> is_late_ = false;
    bool is_evicted_ = false;  ///< closed to make room; guarded by mutex_
    std::list<Entry*>::iterator position_;
  };

  /// Ends what waited too long. To be called every few hundred milliseconds.
  void sweep(SteadyTime now);

  /// Makes room where `most` connections are open: closes the one that loses least and waited longest.
  /// Returns false where all have work.
  [[nodiscard]] bool make_room(std::size_t most);

  /// From now on a connection without a request has kFarewell for one, counted from when it began to wait.
  void stop(SteadyTime now);

  [[nodiscard]] bool is_stopping() const noexcept { return is_stopping_; }

  /// Waits until no connection is open, for `patience` at most. Returns whether none is.
  bool wait_until_empty(SteadyTime::duration patience);

 private:
  std::mutex mutex_;
  std::condition_variable one_closed_;
  std::list<Entry*> open_;   // guarded by mutex_
  std::size_t evicted_ = 0;  // guarded by mutex_; of open_
  std::atomic<bool> is_stopping_ = false;
};

}  // namespace rest_fcgi::gateway
