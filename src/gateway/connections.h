// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <list>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"

namespace rest_fcgi::gateway {

/// The open connections with their deadlines. `sweep` shuts down each connection whose deadline has passed.
/// Thread-safe.
class Connections {
 public:
  /// The state of a connection. To make space for a new connection, `make_room` closes a connection in the
  /// earliest possible stage of this list. `make_room` closes no connection in the stage `work`.
  enum class Stage {
    request,  ///< `request` means that the connection waits for the peer's next request.
    body,     ///< `body` means that the connection waits for the rest of a request's body.
    reader,   ///< `reader` means that the connection waits until the peer reads the reply.
    work,     ///< `work` means that this process works on the request.
  };

  /// One open connection. Used by one thread at a time.
  class Entry {
   public:
    /// Registers the connection. With `is_monitoring`, `close_one` does not choose it. REQUIRES: `socket`
    /// stays open as long as the entry exists.
    Entry(Connections& connections, int socket, bool is_monitoring = false);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    /// Sets the stage and the deadline of a connection that waits for its peer.
    void wait(Stage stage, SteadyTime deadline) noexcept;

    void work() noexcept { wait(Stage::work, SteadyTime::max()); }

    /// Returns whether `sweep` or `make_room` has shut down the socket.
    [[nodiscard]] bool is_late() const noexcept { return is_late_; }

   private:
    friend class Connections;
    void shut(int how) noexcept;

    Connections& connections_;
    const int socket_;
    const bool is_monitoring_;
    std::atomic<Stage> stage_ = Stage::work;
    std::atomic<SteadyTime> since_;
    std::atomic<SteadyTime> deadline_ = SteadyTime::max();
    std::atomic<bool> is_late_ = false;
    bool is_awaited_ = true;   ///< Whether `wait_until_empty` waits for this connection.
    bool is_evicted_ = false;  ///< The mutex of `Connections` guards this member.
    std::list<Entry*>::iterator position_;
  };

  /// Shuts down the connections whose deadline has passed.
  void sweep(SteadyTime now);

  /// Returns how many further connections there may be until `most` are open. If there are as many, closes
  /// one of them to make space for a new connection. Chooses a connection in the earliest stage, and among
  /// several the one that has waited longest. Returns 0 if all connections are in the stage `work`.
  [[nodiscard]] std::size_t make_room(std::size_t most);

  /// Closes a connection that waits for its peer. Chooses it as `make_room` does, but not among connections
  /// to the port for monitoring. Does nothing while a connection that was chosen earlier is still open.
  /// Returns false if there is none to choose.
  [[nodiscard]] bool close_one();

  /// Begins the shutdown: `sweep` closes connections that have waited for a request longer than `kFarewell`,
  /// and `wait_until_empty` does not wait for connections that come later, such as health checks.
  void stop(SteadyTime now);

  [[nodiscard]] bool is_stopping() const noexcept { return is_stopping_; }

  /// Waits until all connections from before `stop` are closed, at most for `patience`. Returns whether all
  /// are closed.
  bool wait_until_empty(SteadyTime::duration patience);

  [[nodiscard]] std::size_t count() const {
    const MutexLock lock(mutex_);
    return open_.size();
  }

 private:
  bool evict_locked(bool spares_monitoring) REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::condition_variable one_closed_;
  std::list<Entry*> open_ GUARDED_BY(mutex_);
  std::size_t awaited_ GUARDED_BY(mutex_) = 0;
  std::size_t evicted_ GUARDED_BY(mutex_) = 0;
  std::atomic<bool> is_stopping_ = false;
};

}  // namespace rest_fcgi::gateway
