// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>

#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::gateway {

/// The open connections and their deadlines. `sweep` shuts down the sockets of connections that are past
/// their deadline, so that their coroutines end. Thread-safe.
class Connections {
 public:
  /// What a connection waits for. `make_room` closes connections in this order, and never in `work`.
  enum class Stage {
    request,  ///< the peer's next request
    body,     ///< the rest of a body
    reader,   ///< the peer, which reads the reply
    work,     ///< this process
  };

  /// One open connection, from its construction to its destruction. Used by one thread at a time.
  class Entry {
   public:
    /// REQUIRES: `socket` stays open as long as the entry is there.
    Entry(Connections& connections, int socket);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    /// Says that the connection waits for its peer until `deadline`.
    void wait(Stage stage, SteadyTime deadline) noexcept;

    /// Says that the connection does not wait for its peer, and has no deadline.
    void work() noexcept { wait(Stage::work, SteadyTime::max()); }

    /// Returns whether `sweep` shut down the socket.
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

  /// Shuts down connections past their deadline. To be called every few hundred milliseconds.
  void sweep(SteadyTime now);

  /// If `most` connections are open, closes one of them: of those in the earliest stage, the connection that
  /// has waited longest. Returns false if all are in `work`.
  [[nodiscard]] bool make_room(std::size_t most);

  /// From now on a connection that waits for a request is closed kFarewell after it began to wait.
  void stop(SteadyTime now);

  [[nodiscard]] bool is_stopping() const noexcept { return is_stopping_; }

  /// Waits at most `patience` until all connections are closed. Returns whether they are.
  bool wait_until_empty(SteadyTime::duration patience);

  /// Returns the number of open connections.
  [[nodiscard]] std::size_t count() const {
    const std::lock_guard lock(mutex_);
    return open_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable one_closed_;
  std::list<Entry*> open_;   // guarded by mutex_
  std::size_t evicted_ = 0;  // guarded by mutex_; number of evicted connections in open_
  std::atomic<bool> is_stopping_ = false;
};

}  // namespace rest_fcgi::gateway
