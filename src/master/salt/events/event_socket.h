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

/// The sockets on which a master publishes and accepts events.
namespace rest_fcgi::salt {

/// Connects to an event socket of the master. The returned socket is in non-blocking mode. Waits at most a
/// second, and stops if the descriptor `stop` becomes readable (-1 means no descriptor). Errors, with
/// messages for administrators: unavailable, if no process listens; authorization, with the missing
/// permission; configuration, for a malformed address.
[[nodiscard]] Result<UniqueFd> connect_event_socket(const BusOptions& where, int stop);

/// Identifies the file of a unix socket.
struct SocketFile {
  dev_t device;
  ino_t inode;
  bool operator==(const SocketFile&) const = default;
};

/// Returns the file at a path. Absent if there is no file, and for an empty path, which means TCP.
[[nodiscard]] std::optional<SocketFile> socket_file_at(const std::string& path);

/// Returns whether the file at the path differs from the file at the time of the connection. In this case the
/// connection goes to a process of an earlier master, and the current master listens at the new file. If
/// there is no file at the path, returns false, since the connection may still work.
[[nodiscard]] bool is_replaced(const std::string& path, const std::optional<SocketFile>& connected);

/// A connection to the socket on which a master publishes events. Only reads. A wait stops if the descriptor
/// `stop` becomes readable (-1 means no descriptor). The descriptor must outlive this object. Moves only;
/// used by one thread.
class EventSocket {
 public:
  /// Connects to the socket. Errors: those of `connect_event_socket`.
  [[nodiscard]] static Result<EventSocket> connect(const BusOptions& where, int stop);

  /// Returns the received bytes, which are valid until the next call. Returns no bytes after the time
  /// `patience`. Errors: unavailable, if the connection is lost.
  [[nodiscard]] Result<std::string_view> read(std::chrono::milliseconds patience);

 private:
  using Buffer = std::array<char, 64 << 10>;
  EventSocket(UniqueFd fd, int stop) : fd_(std::move(fd)), stop_(stop), buffer_(std::make_unique<Buffer>()) {}

  UniqueFd fd_;
  int stop_;
  std::unique_ptr<Buffer> buffer_;
};

/// Fires events by writing to the socket on which a master accepts events from its own processes, as Salt's
/// `fire_event` does. The master sends no reply. The first event makes the connection. After a loss, the next
/// event makes a new connection. Thread-safe; writes one event at a time.
///
/// Before each event, 4 bytes with its length are sent, as Salt 3006 to 3008 expect. Older releases of 3006
/// and 3007 expect no length and do not accept these events.
class EventPusher {
 public:
  /// `where` has the path of `master_event_pull.ipc`, or Salt's `tcp_master_pull_port`.
  explicit EventPusher(BusOptions where) : where_(std::move(where)) {}

  /// Fires an event, in at most 5 seconds. `data` is a map in msgpack. Errors, with messages for
  /// administrators: unavailable, if no master listens; authorization, with the missing permission; timeout,
  /// if the master does not read. After a timeout, the master may still read the event later.
  Result<void> fire(std::string_view tag, std::string_view data, SteadyTime deadline);

 private:
  class Turn;
  [[nodiscard]] bool is_alive() const;
  Result<void> connect();
  /// Writes the whole frame or closes the connection. Errors: unavailable; timeout.
  Result<void> write(std::string_view frame, SteadyTime deadline);

  const BusOptions where_;
  // A mutex and a condition variable are used in place of std::timed_mutex, which the thread sanitizer of g++
  // 12 does not support fully.
  std::mutex mutex_;
  std::condition_variable freed_;
  bool taken_ = false;              // guarded by mutex_
  UniqueFd connection_;             // Only the owner of the `Turn` uses it.
  std::optional<SocketFile> file_;  // The file of the socket that `connection_` is connected to.
};

/// Returns an event in the format of the socket. The bytes are wiped, since they may contain secrets.
[[nodiscard]] WipedBytes pushed_frame(std::string_view tag, std::string_view data);

/// Explains after EACCES why this process cannot connect to the unix socket at `path`. The text names the
/// folder or socket without permission, and the permission that the user needs. May query the sources in
/// nsswitch.conf. Thread-safe.
[[nodiscard]] std::string refused_path(const std::string& path);

/// Returns the text of `refused_path` for a socket whose owner, group and mode are known.
[[nodiscard]] std::string refused_socket(const std::string& path, const struct stat& status);

}  // namespace rest_fcgi::salt
