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

/// Sockets on which a master publishes and accepts events.
namespace rest_fcgi::salt {

/// Connects to an event socket of the master, without blocking mode. Waits at most a second, and stops if the
/// descriptor `stop` becomes readable (-1: none). Errors, with messages for administrators: unavailable, if
/// no process listens; authorization, with the missing permission; configuration, for a malformed address.
[[nodiscard]] Result<UniqueFd> connect_event_socket(const BusOptions& where, int stop);

/// Identifies the file of an open socket.
struct SocketFile {
  dev_t device;
  ino_t inode;
  bool operator==(const SocketFile&) const = default;
};

/// Returns the file at a path; absent if there is none, and for an empty path (TCP).
[[nodiscard]] std::optional<SocketFile> socket_file_at(const std::string& path);

/// Returns whether another file is at the path than when the connection was made. The connection then goes to
/// a process of an earlier master, and the current master listens elsewhere. If there is no file, the
/// connection may still be good.
[[nodiscard]] bool is_replaced(const std::string& path, const std::optional<SocketFile>& connected);

/// A connection to the socket on which a master publishes events. It is only read. Waits stop if the
/// descriptor `stop` becomes readable, which must outlive this object (-1: none). Moves only; used by one
/// thread.
class EventSocket {
 public:
  /// Errors: those of `connect_event_socket`.
  [[nodiscard]] static Result<EventSocket> connect(const BusOptions& where, int stop);

  /// Returns the received bytes, valid until the next call; empty after `timeout`. Errors: unavailable, if
  /// the connection is lost.
  [[nodiscard]] Result<std::string_view> read(std::chrono::milliseconds patience);

 private:
  using Buffer = std::array<char, 64 << 10>;
  EventSocket(UniqueFd fd, int stop) : fd_(std::move(fd)), stop_(stop), buffer_(std::make_unique<Buffer>()) {}

  UniqueFd fd_;
  int stop_;
  std::unique_ptr<Buffer> buffer_;
};

/// Fires events by writing to the socket on which a master accepts them from its own processes, as Salt's
/// `fire_event` does. The master sends no reply. The connection is made with the first event and again after
/// a loss. Thread-safe; writes one event at a time.
///
/// Each event follows its length in 4 bytes, as Salt 3006 to 3008 expect. Older releases of 3006 and 3007
/// expect no length and take no events.
class EventPusher {
 public:
  /// `where`: the path of `master_event_pull.ipc`, or Salt's `tcp_master_pull_port`.
  explicit EventPusher(BusOptions where) : where_(std::move(where)) {}

  /// Fires an event within at most 5 seconds. `data`: a map in msgpack. Errors, with messages for
  /// administrators: unavailable, if no master listens; authorization, with the missing permission; timeout,
  /// if the master does not read. It may read the event later.
  Result<void> fire(std::string_view tag, std::string_view data, SteadyTime deadline);

 private:
  class Turn;
  [[nodiscard]] bool is_alive() const;
  Result<void> connect();
  /// Writes the whole frame or closes the connection. Errors: unavailable; timeout.
  Result<void> write(std::string_view frame, SteadyTime deadline);

  const BusOptions where_;
  // Not std::timed_mutex, which the thread sanitizer of g++ 12 does not support fully.
  std::mutex mutex_;
  std::condition_variable freed_;
  bool taken_ = false;              // guarded by mutex_
  UniqueFd connection_;             // used by the owner of the turn
  std::optional<SocketFile> file_;  // the file that connection_ goes to
};

/// Returns an event in the format of the stream. Wiped, since it may contain secrets.
[[nodiscard]] WipedBytes pushed_frame(std::string_view tag, std::string_view data);

/// Returns why this process may not connect to the unix socket at `path` after EACCES: the folder or socket
/// without permission, and what the process's user needs. May query the sources in nsswitch.conf.
/// Thread-safe.
[[nodiscard]] std::string refused_path(const std::string& path);

/// Returns the same text for a socket whose owner, group and mode are known.
[[nodiscard]] std::string refused_socket(const std::string& path, const struct stat& status);

}  // namespace rest_fcgi::salt
