// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <mutex>
#include <string_view>
#include <utility>

#include "master/salt/events/event.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::salt {

/// Fires events: writes them to the socket where a master takes those of its own processes, as Salt's
/// `fire_event` does. The master hands them to all who listen, and answers nothing. One kept connection,
/// which is made with the first event, and anew when it is lost. Thread-safe: one event is written at a time.
///
/// On the stream each event is `{"head": {}, "body": tag LF LF data}` after its length, 4 bytes, big-endian,
/// in all three lines; older releases of 3006 and 3007 read no length there, and take no event from here.
class EventPusher {
 public:
  /// `where`: of `master_event_pull.ipc`, or Salt's `tcp_master_pull_port`.
  explicit EventPusher(BusOptions where) : where_(std::move(where)) {}

  /// `data`: a map in msgpack. Takes 5 seconds at most, whatever the deadline. Errors: unavailable, where
  /// nobody is there, or this process may not connect, with what it needs; timeout, where the master does not
  /// read: it may hear the event later.
  Result<void> fire(std::string_view tag, std::string_view data, SteadyTime deadline);

 private:
  class Turn;
  [[nodiscard]] bool is_alive() const;
  Result<void> connect();
  /// All of it, or the connection goes. Errors: unavailable, where the connection is lost; timeout.
  Result<void> write(std::string_view frame, SteadyTime deadline);

  const BusOptions where_;
  // No std::timed_mutex, of which the thread sanitizer of g++ 12 sees the end alone.
  std::mutex mutex_;
  std::condition_variable freed_;
  bool taken_ = false;   // guarded by mutex_
  UniqueFd connection_;  // of whose turn it is
};

/// An event as it stands on the stream. Wiped: it may hold what nobody should see.
[[nodiscard]] WipedBytes pushed_frame(std::string_view tag, std::string_view data);

}  // namespace rest_fcgi::salt
