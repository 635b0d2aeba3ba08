// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>

#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::gateway {

/// The open connections and their deadlines. `sweep` shuts down the socket of each connection whose deadline
/// has passed, which ends the connection's coroutine. Thread-safe.
class Connections {
 public:
  /// What a connection waits for. `make_room` closes connections in the order of these stages, but never a
  /// connection in `work`.
  enum class Stage {
    request,  ///< the connection waits for the peer's next request
    body,     ///< the connection waits for the rest of a request's body
    reader,   ///< the connection waits until the peer reads the reply
    work,     ///< this process works on the request
  };

  /// One open connection. The entry exists as long as the connection is open. Used by one thread at a time.
  class Entry {
   public:
    /// REQUIRES: `socket` stays open as long as the entry exists.
    Entry(Connections& connections, int socket);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    /// Notes that the connection waits for its peer until `deadline`.
    void wait(Stage stage, SteadyTime deadline) noexcept;

    /// Notes that the connection does not wait for its peer, and has no deadline.
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
    bool is_evicted_ = false;  ///< the connection was closed to make room; guarded by mutex_
    std::list<Entry*>::iterator position_;
  };

  /// Shuts down the connections whose deadline has passed. To be called every few hundred milliseconds.
  void sweep(SteadyTime now);

  /// If `most` connections are open, closes the connection that is in the earliest stage and, within this
  /// stage, has waited longest. Returns false if all connections are in `work`.
  [[nodiscard]] bool make_room(std::size_t most);

  /// Begins the shutdown. From now on `sweep` closes a connection that has waited for a request for
  /// `kFarewell`.
  void stop(SteadyTime now);

  [[nodiscard]] bool is_stopping() const noexcept { return is_stopping_; }

  /// Waits until all connections are closed, but at most for `patience`. Returns whether all are closed.
  bool wait_until_empty(SteadyTime::duration patience);

  /// Returns the number of open connections.
  [[nodiscard]] std::size_t count() const {
    const std::lock_guard lock(mutex_);
    return open_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable one_closed_;
  std::list<Entry*> open_;  // guarded by mutex_
  // How many connections in open_ were closed to make room; guarded by mutex_.
  std::size_t evicted_ = 0;
  std::atomic<bool> is_stopping_ = false;
};

}  // namespace rest_fcgi::gateway
