// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "master/salt/events/event.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/core/unique_fd.h"

/// The sockets where a master publishes events, and takes them.
namespace rest_fcgi::salt {

/// A connection to one of the master's event sockets, for reading and writing without waiting. What waits
/// here, a second at most, ends early once the descriptor `stop` is readable; -1: none. Errors, whose
/// messages are for administrators: unavailable, where nobody is there; authorization, where a permission is
/// missing, and which; configuration, where the address is none.
[[nodiscard]] Result<UniqueFd> connect_event_socket(const BusOptions& where, int stop);

/// A socket's file, as long as the socket is open: no other file gets its number.
struct SocketFile {
  dev_t device;
  ino_t inode;
  bool operator==(const SocketFile&) const = default;
};

/// The file at a path; absent where there is none, and for an empty path, which stands for TCP.
[[nodiscard]] std::optional<SocketFile> socket_file_at(const std::string& path);

/// Does another file lie at the path than when a connection was made? Then the connection goes to a process
/// that an earlier master left behind, and the master of now listens elsewhere. Where no file is there at
/// all, the connection may still be good.
[[nodiscard]] bool is_replaced(const std::string& path, const std::optional<SocketFile>& connected);

/// A connection to the socket where a master publishes its events: there is no greeting, it is only read.
/// Waits end early once the descriptor `stop` is readable, which outlives this; -1: none. Moves; used by one
/// thread.
class EventSocket {
 public:
  /// Errors: those of `connect_event_socket`.
  [[nodiscard]] static Result<EventSocket> connect(const BusOptions& where, int stop);

  /// What came, valid until the next call; empty where nothing did for `patience`. Errors: unavailable, where
  /// the connection is lost.
  [[nodiscard]] Result<std::string_view> read(std::chrono::milliseconds patience);

 private:
  using Room = std::array<char, 64 << 10>;
  EventSocket(UniqueFd fd, int stop) : fd_(std::move(fd)), stop_(stop), room_(std::make_unique<Room>()) {}

  UniqueFd fd_;
  int stop_;
  std::unique_ptr<Room> room_;
};

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

  /// `data`: a map in msgpack. Takes 5 seconds at most, whatever the deadline. Errors, whose
  /// messages are for administrators: unavailable, where no master is there; authorization, where this
  /// process may not connect, with what it needs; timeout, where the master does not read: it may hear the
  /// event later.
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
  bool taken_ = false;              // guarded by mutex_
  UniqueFd connection_;             // of whose turn it is
  std::optional<SocketFile> file_;  // the same: where the connection goes
};

/// An event as it stands on the stream. Wiped: it may hold what nobody should see.
[[nodiscard]] WipedBytes pushed_frame(std::string_view tag, std::string_view data);

/// What keeps this process from connecting to the unix socket at `path`, where the system said EACCES: a
/// folder that it may not search, or the socket itself; whose that is, and what the responder's user needs.
/// May ask whatever nsswitch.conf names. Thread-safe.
[[nodiscard]] std::string refused_path(const std::string& path);

/// The same sentence about a socket of which the owner, group and mode are known.
[[nodiscard]] std::string refused_socket(const std::string& path, const struct stat& status);

}  // namespace rest_fcgi::salt
