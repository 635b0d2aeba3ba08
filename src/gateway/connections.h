// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>

#include "rest_fcgi/core/clock.h"

namespace rest_fcgi::gateway {

/// The open connections and their deadlines. `sweep` ends a connection after its deadline. Thread-safe.
class Connections {
 public:
  /// What a connection waits for. `make_room` closes connections in this order, but no connection in `work`.
  enum class Stage {
    request,  ///< the connection waits for the peer's next request
    body,     ///< the connection waits for the rest of a request's body
    reader,   ///< the connection waits until the peer reads the reply
    work,     ///< this process works on the request
  };

  /// One open connection. Used by one thread at a time.
  class Entry {
   public:
    /// REQUIRES: `socket` stays open as long as the entry exists.
    Entry(Connections& connections, int socket);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    /// Notes that the connection waits for its peer until `deadline`.
    void wait(Stage stage, SteadyTime deadline) noexcept;

    /// Removes the deadline while this process works on the connection's request.
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
    bool is_evicted_ = false;  ///< `make_room` closed the connection; `mutex_` guards this member
    std::list<Entry*>::iterator position_;
  };

  /// Shuts down the connections whose deadline has passed.
  void sweep(SteadyTime now);

  /// Closes the connection with the earliest stage and the longest wait, if `most` connections are open.
  /// Returns false if all connections are in `work`.
  [[nodiscard]] bool make_room(std::size_t most);

  /// Begins the shutdown. From now on `sweep` closes connections that wait longer than `kFarewell`.
  void stop(SteadyTime now);

  [[nodiscard]] bool is_stopping() const noexcept { return is_stopping_; }

  /// Waits at most for `patience` until all connections are closed. Returns whether all are closed.
  bool wait_until_empty(SteadyTime::duration patience);

  [[nodiscard]] std::size_t count() const {
    const std::lock_guard lock(mutex_);
    return open_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable one_closed_;
  std::list<Entry*> open_;  // `mutex_` guards this member.
  // The number of connections in `open_` that `make_room` closed. `mutex_` guards this member.
  std::size_t evicted_ = 0;
  std::atomic<bool> is_stopping_ = false;
};

}  // namespace rest_fcgi::gateway
